// info: the page that everybody reads. Labels, TABs and widths are parsed by
// exporters and shell scripts; "Mean Object Size" must end its line after "KB".
#include "mgr/pages.h"

namespace loligo::mgr {
namespace {

double kb(uint64_t bytes) { return double(bytes) / 1024; }

void print_traffic(const PageContext& c, const ProcessFacts& process, std::string& out) {
  const Totals& now = c.now;
  double minutes = double(now.at.steady_us - process.start_steady_us) / 60e6;
  double since_start = minutes > 0 ? 1 / minutes : 0;
  Window five = c.history.recent(5, now);
  uint64_t requests = five.change(&Totals::client_requests);
  uint64_t failures = five.change(&Totals::server_errors) + five.change(&Totals::server_other_errors);
  uint64_t icp = now.icp_packets_sent + now.icp_packets_received;
  print(out, "Connection information for squid:\n");
  print(out, "\tNumber of clients accessing cache:\t{}\n", ask(c.sources.clients).size());
  print(out, "\tNumber of HTTP requests received:\t{}\n", now.client_requests);
  print(out, "\tNumber of ICP messages received:\t{}\n", now.icp_packets_received);
  print(out, "\tNumber of ICP messages sent:\t{}\n", now.icp_packets_sent);
  print(out, "\tNumber of queued ICP replies:\t{}\n", now.icp_replies_queued);
  print(out, "\tNumber of HTCP messages received:\t{}\n", now.htcp_packets_received);
  print(out, "\tNumber of HTCP messages sent:\t{}\n", now.htcp_packets_sent);
  print(out, "\tRequest failure ratio:\t{:5.2f}\n", requests ? double(failures) / double(requests) : 0);
  print(out, "\tAverage HTTP requests per minute since start:\t{:.1f}\n", double(now.client_requests) * since_start);
  print(out, "\tAverage ICP messages per minute since start:\t{:.1f}\n", double(icp) * since_start);
  print(out, "\tSelect loop called: {} times, {:.3f} ms avg\n", now.select_loops,
        now.select_loops ? minutes * 60'000 / double(now.select_loops) : 0);
}

void print_ratio(const PageContext& c, std::string& out, std::string_view label, TotalsField part, TotalsField whole) {
  Window five = c.history.recent(5, c.now), sixty = c.history.recent(60, c.now);
  print(out, "\t{}:\t5min: {:.1f}%, 60min: {:.1f}%\n", label, percent(double(five.change(part)), double(five.change(whole))),
        percent(double(sixty.change(part)), double(sixty.change(whole))));
}

void print_capacity(std::string& out, std::string_view what, uint64_t used, uint64_t capacity) {
  double share = percent(double(used), double(capacity));
  print(out, "\tStorage {} size:\t{:.0f} KB\n", what, kb(used));
  print(out, "\tStorage {} capacity:\t{:4.1f}% used, {:4.1f}% free\n", what, share, capacity ? 100 - share : 0);
}

void print_cache(const PageContext& c, const StoreFacts& store, std::string& out) {
  print(out, "Cache information for squid:\n");
  print_ratio(c, out, "Hits as % of all requests", &Totals::client_hits, &Totals::client_requests);
  print_ratio(c, out, "Hits as % of bytes sent", &Totals::client_hit_bytes_out, &Totals::client_bytes_out);
  print_ratio(c, out, "Memory hits as % of hit requests", &Totals::client_memory_hits, &Totals::client_hits);
  print_ratio(c, out, "Disk hits as % of hit requests", &Totals::client_disk_hits, &Totals::client_hits);
  print_capacity(out, "Swap", store.disk_bytes, store.disk_capacity_bytes);
  print_capacity(out, "Mem", store.memory_bytes, store.memory_capacity_bytes);
  // Squid divides what is on disk; a cache of memory alone would show nothing.
  uint64_t objects = store.disk_entries ? store.disk_entries : store.entries_in_memory;
  uint64_t bytes = store.disk_entries ? store.disk_bytes : store.memory_bytes;
  print(out, "\tMean Object Size:\t{:.2f} KB\n", objects ? kb(bytes) / double(objects) : 0);
  print(out, "\tRequests given to unlinkd:\t{}\n", c.now.unlink_requests);
}

void print_medians(const PageContext& c, std::string& out) {
  Window five = c.history.recent(5, c.now), sixty = c.history.recent(60, c.now);
  print(out, "Median Service Times (seconds)  5 min    60 min:\n");
  for (unsigned kind = 0; kind < unsigned(ServiceTime::count_); ++kind)
    print(out, "\t{:<22}{:8.5f} {:8.5f}\n", fmt::format("{}:", kServiceTimeNames[kind]),
          five.percentile(ServiceTime(kind), 50), sixty.percentile(ServiceTime(kind), 50));
}

void print_resources(const PageContext& c, const ProcessFacts& process, std::string& out) {
  double up = double(c.now.at.steady_us - process.start_steady_us) / 1e6, cpu = double(c.now.at.cpu_us) / 1e6;
  Window five = c.history.recent(5, c.now), sixty = c.history.recent(60, c.now);
  print(out, "Resource usage for squid:\n\tUP Time:\t{:.3f} seconds\n\tCPU Time:\t{:.3f} seconds\n", up, cpu);
  print(out, "\tCPU Usage:\t{:.2f}%\n", percent(cpu, up));
  print(out, "\tCPU Usage, 5 minute avg:\t{:.2f}%\n", percent(five.cpu_seconds(), five.seconds()));
  print(out, "\tCPU Usage, 60 minute avg:\t{:.2f}%\n", percent(sixty.cpu_seconds(), sixty.seconds()));
  print(out, "\tMaximum Resident Size: {} KB\n\tPage faults with physical i/o: {}\n", process.resident_kb, process.page_faults);

  uint64_t accounted = 0, allocations = 0, freed = 0;
  for (const PoolRow& pool : ask(c.sources.pools)) {
    accounted += (pool.in_use + pool.idle) * pool.object_bytes;
    allocations += pool.allocations;
    freed += pool.freed;
  }
  print(out, "Memory accounted for:\n\tTotal accounted:       {:6} KB\n", accounted / 1024);
  print(out, "\tmemPoolAlloc calls: {:9}\n\tmemPoolFree calls:  {:9}\n", allocations, freed);
}

void print_descriptors(const ProcessFacts& process, std::string& out) {
  print(out, "File descriptor usage for squid:\n");
  print(out, "\tMaximum number of file descriptors:   {:4}\n", process.max_descriptors);
  print(out, "\tLargest file desc currently in use:   {:4}\n", process.largest_descriptor);
  print(out, "\tNumber of file desc currently in use: {:4}\n", process.open_descriptors);
  print(out, "\tFiles queued for open:                {:4}\n", process.queued_opens);
  print(out, "\tAvailable number of file descriptors: {:4}\n",
        std::max(0, process.max_descriptors - process.open_descriptors - process.queued_opens));
  print(out, "\tReserved number of file descriptors:  {:4}\n", process.reserved_descriptors);
  print(out, "\tStore Disk files open:                {:4}\n", process.store_files);
}

}  // namespace

void page_info(const PageContext& c, std::string& out) {
  ProcessFacts process = ask(c.sources.process);
  StoreFacts store = ask(c.sources.store);
  // Exporters look for these very words and for two words of version; they take "Squid" as a name, not as a claim.
  print(out, "Squid Object Cache: Version {}\nBuild Info: {}\nService Name: {}\n", c.sources.version, c.sources.build_info,
        c.sources.service_name);
  print(out, "Start Time:\t{}\nCurrent Time:\t{}\n", date(process.start_wall_us), date(c.now.at.wall_us));
  print_traffic(c, process, out);
  print_cache(c, store, out);
  print_medians(c, out);
  print_resources(c, process, out);
  print_descriptors(process, out);
  print(out, "Internal Data Structures:\n\t{:6} StoreEntries\n\t{:6} StoreEntries with MemObjects\n"
             "\t{:6} Hot Object Cache Items\n\t{:6} on-disk objects\n",
        store.entries, store.entries_in_memory, store.hot_entries, store.disk_entries);
}

}  // namespace loligo::mgr
