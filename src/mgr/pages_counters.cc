// counters, 5min, 60min, utilization, service_times, histograms: renderings of
// Totals and of the difference of two. The order of the lines is part of the
// interface: scrapers read "key = value".
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

constexpr TotalsField kNothing = nullptr;

enum class Unit : unsigned char { count, kilobytes };   // bytes are shown as KB

// A line's value is the sum of two counters, either of which may be missing. FTP is not spoken: its lines are there
// because exporters expect them, and have no counter.
struct Line {
  std::string_view name;
  Unit unit;
  TotalsField a, b;
};

constexpr Line kClientLines[] = {
    {"client_http.requests", Unit::count, &Totals::client_requests},
    {"client_http.hits", Unit::count, &Totals::client_hits},
    {"client_http.errors", Unit::count, &Totals::client_errors},
    {"client_http.kbytes_in", Unit::kilobytes, &Totals::client_bytes_in},
    {"client_http.kbytes_out", Unit::kilobytes, &Totals::client_bytes_out},
};
constexpr Line kHitBytesLine[] = {{"client_http.hit_kbytes_out", Unit::kilobytes, &Totals::client_hit_bytes_out}};
constexpr Line kServerLines[] = {
    {"server.all.requests", Unit::count, &Totals::server_requests, &Totals::server_other_requests},
    {"server.all.errors", Unit::count, &Totals::server_errors, &Totals::server_other_errors},
    {"server.all.kbytes_in", Unit::kilobytes, &Totals::server_bytes_in, &Totals::server_other_bytes_in},
    {"server.all.kbytes_out", Unit::kilobytes, &Totals::server_bytes_out, &Totals::server_other_bytes_out},
    {"server.http.requests", Unit::count, &Totals::server_requests},
    {"server.http.errors", Unit::count, &Totals::server_errors},
    {"server.http.kbytes_in", Unit::kilobytes, &Totals::server_bytes_in},
    {"server.http.kbytes_out", Unit::kilobytes, &Totals::server_bytes_out},
    {"server.ftp.requests", Unit::count, kNothing},
    {"server.ftp.errors", Unit::count, kNothing},
    {"server.ftp.kbytes_in", Unit::kilobytes, kNothing},
    {"server.ftp.kbytes_out", Unit::kilobytes, kNothing},
    {"server.other.requests", Unit::count, &Totals::server_other_requests},
    {"server.other.errors", Unit::count, &Totals::server_other_errors},
    {"server.other.kbytes_in", Unit::kilobytes, &Totals::server_other_bytes_in},
    {"server.other.kbytes_out", Unit::kilobytes, &Totals::server_other_bytes_out},
    {"icp.pkts_sent", Unit::count, &Totals::icp_packets_sent},
    {"icp.pkts_recv", Unit::count, &Totals::icp_packets_received},
    {"icp.queries_sent", Unit::count, &Totals::icp_queries_sent},
    {"icp.replies_sent", Unit::count, &Totals::icp_replies_sent},
    {"icp.queries_recv", Unit::count, &Totals::icp_queries_received},
    {"icp.replies_recv", Unit::count, &Totals::icp_replies_received},
};
// The two pages order this pair differently.
constexpr Line kTimeoutLines[] = {
    {"icp.query_timeouts", Unit::count, &Totals::icp_query_timeouts},
    {"icp.replies_queued", Unit::count, &Totals::icp_replies_queued},
};
constexpr Line kIcpByteLines[] = {
    {"icp.kbytes_sent", Unit::kilobytes, &Totals::icp_query_bytes_sent, &Totals::icp_reply_bytes_sent},
    {"icp.kbytes_recv", Unit::kilobytes, &Totals::icp_query_bytes_received, &Totals::icp_reply_bytes_received},
    {"icp.q_kbytes_sent", Unit::kilobytes, &Totals::icp_query_bytes_sent},
    {"icp.r_kbytes_sent", Unit::kilobytes, &Totals::icp_reply_bytes_sent},
    {"icp.q_kbytes_recv", Unit::kilobytes, &Totals::icp_query_bytes_received},
    {"icp.r_kbytes_recv", Unit::kilobytes, &Totals::icp_reply_bytes_received},
};
constexpr Line kDigestLines[] = {
    {"icp.times_used", Unit::count, &Totals::icp_times_used},
    {"cd.times_used", Unit::count, &Totals::digest_times_used},
    {"cd.msgs_sent", Unit::count, &Totals::digest_messages_sent},
    {"cd.msgs_recv", Unit::count, &Totals::digest_messages_received},
    {"cd.memory", Unit::kilobytes, &Totals::digest_memory_bytes},
    {"cd.local_memory", Unit::kilobytes, &Totals::digest_local_memory_bytes},
    {"cd.kbytes_sent", Unit::kilobytes, &Totals::digest_bytes_sent},
    {"cd.kbytes_recv", Unit::kilobytes, &Totals::digest_bytes_received},
};
constexpr Line kSystemLines[] = {
    {"unlink.requests", Unit::count, &Totals::unlink_requests},
    {"page_faults", Unit::count, &Totals::page_faults},
    {"select_loops", Unit::count, &Totals::select_loops},
};
constexpr Line kSelectLine[] = {{"select_fds", Unit::count, &Totals::select_events}};
constexpr Line kSwapLines[] = {
    {"swap.outs", Unit::count, &Totals::swap_outs},
    {"swap.ins", Unit::count, &Totals::swap_ins},
    {"swap.files_cleaned", Unit::count, &Totals::swap_files_cleaned},
    {"aborted_requests", Unit::count, &Totals::aborted_requests},
};
// Behind Squid's own lines, where readers look for keys and pass over what they do not know.
constexpr Line kOwnLines[] = {
    {"log.store_lines", Unit::count, &Totals::log_store_lines},
    {"log.store_lines_dropped", Unit::count, &Totals::log_store_lines_dropped},
    {"log.lines", Unit::count, &Totals::log_lines},
    {"log.lines_dropped", Unit::count, &Totals::log_lines_dropped},
};
constexpr Line kCallLines[] = {
    {"syscalls.disk.opens", Unit::count, &Totals::disk_opens},
    {"syscalls.disk.closes", Unit::count, &Totals::disk_closes},
    {"syscalls.disk.reads", Unit::count, &Totals::disk_reads},
    {"syscalls.disk.writes", Unit::count, &Totals::disk_writes},
    {"syscalls.disk.seeks", Unit::count, &Totals::disk_seeks},
    {"syscalls.disk.unlinks", Unit::count, &Totals::disk_unlinks},
    {"syscalls.sock.accepts", Unit::count, &Totals::sock_accepts},
    {"syscalls.sock.sockets", Unit::count, &Totals::sock_sockets},
    {"syscalls.sock.connects", Unit::count, &Totals::sock_connects},
    {"syscalls.sock.binds", Unit::count, &Totals::sock_binds},
    {"syscalls.sock.closes", Unit::count, &Totals::sock_closes},
    {"syscalls.sock.reads", Unit::count, &Totals::sock_reads},
    {"syscalls.sock.writes", Unit::count, &Totals::sock_writes},
    {"syscalls.sock.recvfroms", Unit::count, &Totals::sock_recvfroms},
    {"syscalls.sock.sendtos", Unit::count, &Totals::sock_sendtos},
};

struct MedianLine { std::string_view name; ServiceTime kind; };
constexpr MedianLine kClientMedians[] = {
    {"client_http.all_median_svc_time", ServiceTime::all},
    {"client_http.miss_median_svc_time", ServiceTime::misses},
    {"client_http.nm_median_svc_time", ServiceTime::not_modified},
    {"client_http.nh_median_svc_time", ServiceTime::near_hits},
    {"client_http.hit_median_svc_time", ServiceTime::hits},
};
constexpr MedianLine kOtherMedians[] = {
    {"icp.query_median_svc_time", ServiceTime::icp},
    {"dns.median_svc_time", ServiceTime::dns},
};

void print_time(std::string& out, std::string_view name, base::WallMicroseconds at) {
  print(out, "{} = {}.{:06} ({})\n", name, at / 1'000'000, at % 1'000'000, date(at));
}

uint64_t value(const Totals& t, const Line& line) { return (line.a ? t.*line.a : 0) + (line.b ? t.*line.b : 0); }

void print_counts(std::string& out, const Totals& now, std::span<const Line> lines) {
  for (const Line& line : lines) print(out, "{} = {}\n", line.name, value(now, line) / (line.unit == Unit::kilobytes ? 1024 : 1));
}

void print_rates(std::string& out, const Window& window, std::span<const Line> lines) {
  for (const Line& line : lines) {
    double change = double(value(*window.to, line) - value(*window.from, line)) / (line.unit == Unit::kilobytes ? 1024 : 1);
    print(out, "{} = {:.6f}/sec\n", line.name, window.per_second(change));
  }
}

void print_medians(std::string& out, const Window& window, std::span<const MedianLine> lines) {
  for (const MedianLine& line : lines) print(out, "{} = {:.6f} seconds\n", line.name, window.percentile(line.kind, 50));
}

void print_all_counts(const PageContext& c, std::string& out) {
  const Totals& now = c.now;
  print_time(out, "sample_time", now.at.wall_us);
  for (std::span<const Line> lines : std::initializer_list<std::span<const Line>>{
           kClientLines, kHitBytesLine, kServerLines, kTimeoutLines, kIcpByteLines, kDigestLines, kSystemLines})
    print_counts(out, now, lines);
  print(out, "cpu_time = {:.6f}\n", double(now.at.cpu_us) / 1e6);
  print(out, "wall_time = {:.6f}\n", double(now.at.steady_us - ask(c.sources.process).start_steady_us) / 1e6);
  print_counts(out, now, kSwapLines);
}

void print_averages(std::string& out, const Window& window) {
  print_time(out, "sample_start_time", window.from->at.wall_us);
  print_time(out, "sample_end_time", window.to->at.wall_us);
  print_rates(out, window, kClientLines);
  print_medians(out, window, kClientMedians);
  print_rates(out, window, kServerLines);
  print_rates(out, window, std::span(kTimeoutLines).subspan(1, 1));
  print_rates(out, window, std::span(kTimeoutLines).subspan(0, 1));
  print_rates(out, window, kIcpByteLines);
  print_medians(out, window, kOtherMedians);
  print_rates(out, window, kSystemLines);
  print_rates(out, window, kSelectLine);
  uint64_t events = window.change(&Totals::select_events), loops = window.change(&Totals::select_loops);
  print(out, "average_select_fd_period = {:.6f}/fd\n", events ? window.seconds() / double(events) : 0);
  // No histogram of these is kept: the mean stands under the name that readers know.
  print(out, "median_select_fds = {:.6f}\n", loops ? double(events) / double(loops) : 0);
  print_rates(out, window, kSwapLines);
  print_rates(out, window, kCallLines);
  print(out, "cpu_time = {:.6f} seconds\nwall_time = {:.6f} seconds\n", window.cpu_seconds(), window.seconds());
  print(out, "cpu_usage = {:.6f}%\n", percent(window.cpu_seconds(), window.seconds()));
}

struct HistogramName { std::string_view name; ServiceTime kind; };
constexpr HistogramName kHistogramNames[] = {
    {"client_http.allSvcTime", ServiceTime::all},          {"client_http.missSvcTime", ServiceTime::misses},
    {"client_http.nearMissSvcTime", ServiceTime::not_modified}, {"client_http.nearHitSvcTime", ServiceTime::near_hits},
    {"client_http.hitSvcTime", ServiceTime::hits},         {"icp.querySvcTime", ServiceTime::icp},
    {"dns.svc_time", ServiceTime::dns},
};

}  // namespace

void page_counters(const PageContext& c, std::string& out) {
  print_all_counts(c, out);
  print_counts(out, c.now, kOwnLines);
}
void page_five_minutes(const PageContext& c, std::string& out) { print_averages(out, c.history.recent(5, c.now)); }
void page_sixty_minutes(const PageContext& c, std::string& out) { print_averages(out, c.history.recent(60, c.now)); }

void page_utilization(const PageContext& c, std::string& out) {
  constexpr struct { std::string_view name; unsigned minutes; } kSpans[] = {
      {"5 minutes", 5}, {"15 minutes", 15}, {"hour", 60}, {"8 hours", 8 * 60}, {"day", 24 * 60}, {"3 days", 72 * 60}};
  out += "Cache Utilisation:\n\n";
  for (auto& span : kSpans) {
    print(out, "Last {}:\n", span.name);
    Window window = c.history.complete(span.minutes, c.now);
    if (window.from) print_averages(out, window);
    else out += "(no values recorded yet)\n";
    out += '\n';
  }
  out += "Totals since cache startup:\n";
  print_all_counts(c, out);
}

void page_service_times(const PageContext& c, std::string& out) {
  Window five = c.history.recent(5, c.now), sixty = c.history.recent(60, c.now);
  out += "Service Time Percentiles            5 min    60 min:\n";
  for (unsigned kind = 0; kind < unsigned(ServiceTime::count_); ++kind)
    for (unsigned p = 5; p < 100; p += 5)
      print(out, "\t{:<22}{:2}%  {:8.5f} {:8.5f}\n", fmt::format("{}:", kServiceTimeNames[kind]), p,
            five.percentile(ServiceTime(kind), p), sixty.percentile(ServiceTime(kind), p));
}

// Since the start: bucket number / least value in ms, count, and count per ms of the bucket's width.
void page_histograms(const PageContext& c, std::string& out) {
  for (const HistogramName& row : kHistogramNames) {
    print(out, "{} histogram:\n", row.name);
    for (unsigned i = 0; i < base::Histogram::kBuckets; ++i) {
      uint32_t count = c.now.service_times[unsigned(row.kind)][i];
      if (count == 0) continue;
      double low = double(base::Histogram::lower_bound(i)) / 1000, high = double(base::Histogram::lower_bound(i + 1)) / 1000;
      print(out, "\t{:3}/{:.6f}\t{}\t{:.6f}\n", i, low, count, count / (high - low));
    }
  }
}

}  // namespace loligo::mgr
