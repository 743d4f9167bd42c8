// Every page rendered from filled sources, and compared with the pages of a
// real Squid in test-suite/manager/pages: words, order and separators.
#include "mgr/manager.h"

#include "mgr/explain_query.h"
#include "mgr/pages.h"

#define BOOST_TEST_DYN_LINK
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

using namespace loligo;
using namespace loligo::mgr;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// The body of a recorded reply.
std::string sample(const std::string& page) {
  const char* source = std::getenv("srcdir");
  std::ifstream in(std::string(source ? source : ".") + "/test-suite/manager/pages/" + page + ".txt", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  size_t body = text.find("\r\n\r\n");
  BOOST_REQUIRE_MESSAGE(body != std::string::npos, "no sample of " << page);
  return text.substr(body + 4);
}

// Numbers and what depends on them become '#'; a run of blanks before a number one blank.
std::string shape(std::string line) {
  line = std::regex_replace(line, std::regex("\\([A-Z][a-z]{2}, [^)]*GMT\\)|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT"), "DATE");
  return std::regex_replace(line, std::regex(" *-?[0-9]+(\\.[0-9]+)?"), " #");
}
std::vector<std::string> shapes(const std::string& text) {
  auto out = lines(text);
  for (auto& line : out) line = shape(line);
  return out;
}

struct Fixture {
  base::Counters workers[2];
  Times now;
  bool offline = false;
  int effects = 0;
  Settings settings;
  std::unique_ptr<Manager> manager;

  Fixture() {
    now.wall_us = 1'796'031'013'345'077;
    now.steady_us = 50'000'000;
    settings.cachemgr_passwd.push_back({Password::Kind::disable, "", {"shutdown"}});
    settings.cachemgr_passwd.push_back({Password::Kind::none, "", {"offline_toggle"}});
    settings.cachemgr_passwd.push_back({Password::Kind::password, "secret", {"config", "reconfigure"}});
    Sources sources;
    sources.version = "5.7";
    sources.service_name = "sibalab";
    sources.build_info = "Debian linux";
    sources.hostname = "proxy.example";
    sources.workers = {&workers[0], &workers[1]};
    sources.times = [this] { return now; };
    sources.process = [this] {
      ProcessFacts p;
      p.start_wall_us = 1'796'030'892'000'000;
      p.start_steady_us = 50'000'000;
      p.resident_kb = 112'896;
      p.page_faults = 7;
      p.open_descriptors = 15; p.largest_descriptor = 19; p.max_descriptors = 20'000; p.reserved_descriptors = 100;
      return p;
    };
    fill(sources);
    manager = std::make_unique<Manager>(std::move(sources), settings);
  }

  void fill(Sources& s) {
    s.other = [] { OtherCounters o; o.icp_packets_sent = 4; o.icp_packets_received = 5; o.icp_query_timeouts = 6; o.icp_replies_queued = 1;
                   o.htcp_packets_sent = 8; o.htcp_packets_received = 9; o.swap_outs = 15; o.icp_query_bytes_sent = 4096; return o; };
    s.clients = [] {
      return std::vector<ClientRow>{
          {"127.0.1.77", "", 0, 2, 0, {{"UDP_HIT", 1, true}, {"UDP_MISS", 1, false}}, {}},
          {"127.0.0.1", "localhost", 1, 0, 67, {}, {{"NONE_NONE", 1}, {"TCP_MISS", 47}, {"TCP_REFRESH_UNMODIFIED", 1, true}, {"TCP_MEM_HIT", 18, true}}}};
    };
    s.peers = [] {
      PeerRow b{"Sibling", "b", "127.0.1.2", 25030, 25031, "connection-auth=auto tls-disable", {"127.0.1.2"}};
      b.rtt_ms = 2; b.last_query_seconds = b.last_reply_seconds = 159; b.pings_sent = b.pings_acked = 2; b.acked = {{"ICP_MISS", 2}};
      return std::vector<PeerRow>{b};
    };
    s.store = [] {
      StoreFacts f;
      f.entries = f.entries_in_memory = 68; f.hot_entries = f.disk_entries = 15;
      f.memory_bytes = 588 * 1024; f.memory_capacity_bytes = 16'384 * 1024; f.disk_bytes = 368 * 1024; f.disk_capacity_bytes = 51'200 * 1024;
      f.directories.push_back({"ufs", "/var/lab/sib-a.lab/cache", "lru", 51'200 * 1024, 368 * 1024, 20'238'764, 264'212'084, 512'712,
                               16'777'216, 4096, true, false, 0});
      return f;
    };
    s.pools = [] { return std::vector<PoolRow>{{"mem_node", 4136, 148, 2, 150, 150, 3, 0.1, 0.2, 174, 26, 24}}; };
    s.names = [] {
      NameCacheFacts n;
      n.requests = 36; n.hits = 22; n.numeric_hits = 11; n.misses = 3;
      n.rows = {{"nosuch.invalid", true, false, 66, -6, {}}, {"parent.lab", false, true, 104, -1, {{"127.0.1.3"}}}};
      return n;
    };
    s.reverse_names = [] {
      ReverseCacheFacts n;
      n.requests = 83; n.hits = 80; n.misses = 3;
      n.rows = {{"127.0.1.1", false, true, -1, {"sib-a.lab"}}};
      return n;
    };
    s.resolver = [] { ResolverFacts r; r.servers = {{"127.0.0.1", 6, 0}}; r.codes = {{3, {2, 1, 0}}}; return r; };
    s.idle_pools = [] { return std::vector<IdlePoolFacts>{{"server-peers", {{1, 1}, {2, 2}}, {}}}; };
    s.active_requests = [this] {
      ActiveRequestRow r{0x5632, 0x77, 11, 113, 0, "Reading next request", "127.0.0.1:55512", "127.0.1.1:25020", 0, 3982, 1};
      r.url = "http://sib-a.lab:25020/squid-internal-mgr/active_requests";
      r.tag = "TCP_MISS"; r.request_bytes = 113; r.start_wall_us = now.wall_us; r.key = "7800000000000000E71D000000000000";
      return std::vector<ActiveRequestRow>{r};
    };
    s.descriptors = [] { return std::vector<DescriptorRow>{{8, "Socket", 0, 0, 192, false, false, "127.0.1.1:53907", "DNS Socket IPv4"}}; };
    s.timers = [] { return TimerFacts{"DelayPools::Update", {{"MaintainSwapSpace", 0.25, 1, false}, {"peerDigestCheck", 142.773, 1, true}}}; };
    s.config = [] { return std::string("http_port 3128\n"); };
    s.toggle_offline = [this] { return offline = !offline; };
    s.reconfigure = [this] { ++effects; };
    s.shut_down = [this] { effects += 100; };
  }

  void traffic() {
    workers[0].client_requests.add(60);
    workers[1].client_requests.add(33);
    workers[0].client_hits.add(31);
    workers[0].client_memory_hits.add(30);
    workers[0].client_disk_hits.add(1);
    workers[0].client_bytes_out.add(100 * 1024);
    workers[1].client_hit_bytes_out.add(50 * 1024);
    workers[0].server_requests.add(20);
    workers[0].server_other_requests.add(5);
    workers[0].select_loops.add(1000);
    workers[1].select_events.add(4000);
    for (int i = 0; i < 100; ++i) workers[i % 2].service_time.all.record(40'000);
    workers[0].service_time.dns.record(33'000'000);
    pass(120);
  }
  void pass(int seconds) {
    now.wall_us += seconds * 1'000'000ll;
    now.steady_us += seconds * 1'000'000ll;
    now.cpu_us += seconds * 10'000ll;
  }
  Reply get(const std::string& path, std::string_view authorization = {}) { return manager->answer({"http", "/squid-internal-mgr/" + path, authorization}); }
  std::string page(const std::string& name) {
    Reply reply = get(name);
    BOOST_TEST(reply.status == 200, name);
    BOOST_TEST(reply.content_type == "text/plain;charset=utf-8");
    BOOST_TEST(reply.body.find('\r') == std::string::npos);
    return reply.body;
  }
};

std::string line_of(const std::string& page, std::string_view key) {
  for (auto& line : lines(page))
    if (line.find(key) != std::string::npos) return line;
  return {};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(pages_have_the_shape_of_the_samples, Fixture) {
  traffic();
  // Where every line depends on numbers alone, all lines in their order.
  for (std::string name : {"counters", "5min", "60min", "service_times", "info"}) {
    auto ours = shapes(page(name)), theirs = shapes(sample(name));
    std::erase_if(theirs, [](auto& line) { return line.starts_with("icp.reply_median_svc_time"); });   // not measured here
    if (name == "counters") {   // four lines of our own stand at the end, where readers of keys pass over them
      BOOST_REQUIRE(ours.size() > 4);
      BOOST_TEST(ours[ours.size() - 4].starts_with("log.store_lines"));
      BOOST_TEST((ours[ours.size() - 2].starts_with("log.lines") && ours.back().starts_with("log.lines_dropped")));
      ours.resize(ours.size() - 4);
    }
    BOOST_TEST(ours.size() == theirs.size(), name);
    for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) BOOST_TEST(ours[i] == theirs[i], name << ": '" << ours[i] << "' for '" << theirs[i] << "'");
  }
}

BOOST_AUTO_TEST_CASE(an_object_in_squids_words) {
  ObjectRow row{.key_high = 0xB1E0643CB4813EC6, .key_low = 0x0057D69490AC130E};
  row.in_memory = row.described = true;
  row.on_disk = ObjectRow::OnDisk::done;
  row.validated = row.last_used = 1796030893;
  row.last_modified = 1793613600;
  row.uses = 2;
  row.directory = 0;
  row.file = 0x0A;
  row.url = "http://origin.lab:25001/cacheable/m10.html?";
  row.arrived_bytes = row.queued_bytes = 5322;
  row.body_bytes = 5322;
  std::string text;
  print_object(row, text);
  BOOST_TEST(text ==
             "KEY B1E0643CB4813EC60057D69490AC130E\n"
             "\tSTORE_OK      IN_MEMORY     SWAPOUT_DONE PING_NONE   \n"
             "\tDISPATCHED,VALIDATED\n"
             "\tLV:1796030893 LU:1796030893 LM:1793613600 EX:-1       \n"
             "\t0 locks, 0 clients, 2 refs\n"
             "\tSwap Dir 0, File 0X00000A\n"
             "\tGET http://origin.lab:25001/cacheable/m10.html?\n"
             "\tinmem_lo: 0\n\tinmem_hi: 5322\n\tswapout: 5322 bytes queued\n\tobject_sz: 5322\n\n");
  // Of one that only the disk's table knows.
  text.clear();
  print_object({.key_low = 1, .on_disk = ObjectRow::OnDisk::done, .directory = 1, .file = 7, .disk_bytes = 4096}, text);
  BOOST_TEST(text == "KEY 00000000000000000000000000000001\n\tSTORE_OK      NOT_IN_MEMORY SWAPOUT_DONE PING_NONE   \n\tVALIDATED\n"
                     "\tLV:-1        LU:-1        LM:-1        EX:-1       \n\t0 locks, 0 clients, 0 refs\n\tSwap Dir 1, File 0X000007\n\tdisk_sz: 4096\n\n");
}

BOOST_FIXTURE_TEST_CASE(long_pages_come_in_pieces, Fixture) {
  struct Rows final : ObjectRows {
    int left = 3;
    bool next(std::vector<ObjectRow>& rows) override {
      rows.push_back({.key_low = uint64_t(left)});
      return --left > 0;
    }
  };
  Objects asked{};
  manager->sources().objects = [&](Objects which) { asked = which; return std::make_unique<Rows>(); };
  const std::pair<const char*, Objects> kPages[] = {{"objects", Objects::all}, {"vm_objects", Objects::in_memory}, {"openfd_objects", Objects::being_written}};
  for (auto& [name, which] : kPages) {
    Reply reply = get(name);
    BOOST_TEST(reply.status == 200);
    BOOST_REQUIRE(reply.stream);
    BOOST_TEST((asked == which));
    std::string text;
    int pieces = 1;
    while (reply.stream->more(text)) ++pieces;
    BOOST_TEST(pieces == 3);
    BOOST_TEST(std::count(text.begin(), text.end(), 'K') >= 3);
    BOOST_TEST(page("menu").find(std::string(name)) != std::string::npos);
  }
  settings.cachemgr_passwd.insert(settings.cachemgr_passwd.begin(), {Password::Kind::password, "p", {"objects"}});
  manager->set_settings(settings);
  BOOST_TEST(get("objects").status == 401);
  BOOST_TEST(!get("objects").stream);
  manager->sources().objects = nullptr;
  std::string nothing;
  BOOST_TEST(!get("vm_objects").stream->more(nothing));
  BOOST_TEST(nothing == "");
}

BOOST_FIXTURE_TEST_CASE(lines_equal_the_samples_byte_for_byte, Fixture) {
  traffic();
  // Rows whose facts the sources repeat: our lines must occur in the sample.
  for (std::string name : {"client_list", "storedir", "server_list", "ipcache", "fqdncache", "filedescriptors", "pconn", "events"}) {
    std::string theirs = "\n" + sample(name) + "\n";
    for (auto& line : lines(page(name)))
      if (line.find("IPcache Entries") == line.npos && line.find("FQDNcache Entries") == line.npos)
        BOOST_TEST(theirs.find("\n" + line + "\n") != std::string::npos, name << ": " << line);
  }
  auto idns = lines(page("idns"));
  std::string theirs = sample("idns");
  for (auto& line : idns)
    if (line.find(" : Non-Existent Domain") == line.npos) BOOST_TEST(theirs.find(line + "\n") != std::string::npos, line);
  BOOST_TEST(line_of(page("idns"), "Non-Existent") == "    3        2        1        0 : Non-Existent Domain");
  auto active = shapes(page("active_requests")), sampled = shapes(sample("active_requests"));
  for (size_t i = 6; i < active.size(); ++i)   // all but the pointers of the first lines, and delay_pool
    if (active[i].find("entry") == std::string::npos && !active[i].empty())
      BOOST_TEST((std::find(sampled.begin(), sampled.end(), active[i]) != sampled.end()), active[i]);
  auto mem = lines(page("mem")), mem_sample = lines(sample("mem"));
  for (int i = 0; i < 3; ++i) BOOST_TEST(mem[i] == mem_sample[i]);
  auto tabs = [](const std::string& line) { return std::count(line.begin(), line.end(), '\t'); };
  BOOST_TEST(tabs(mem[3]) == tabs(mem_sample[3]));
  BOOST_TEST(mem[3].starts_with("mem_node            \t 4136\t \t \t \t \t \t \t \t 150\t 606\t 606\t 0.20\t 100.000\t 148\t 598\t"), mem[3]);
}

BOOST_FIXTURE_TEST_CASE(numbers_come_from_the_sources, Fixture) {
  traffic();
  std::string counters = page("counters");
  const struct { std::string_view line; } kCounters[] = {
      {"client_http.requests = 93"}, {"client_http.hits = 31"}, {"client_http.kbytes_out = 100"}, {"client_http.hit_kbytes_out = 50"},
      {"server.all.requests = 25"}, {"server.http.requests = 20"}, {"server.other.requests = 5"}, {"icp.pkts_sent = 4"},
      {"icp.kbytes_sent = 4"}, {"select_loops = 1000"}, {"cpu_time = 1.200000"}, {"wall_time = 120.000000"}, {"swap.outs = 15"},
      {"sample_time = 1796031133.345077 (Mon, 30 Nov 2026 09:32:13 GMT)"}};
  for (auto& row : kCounters) BOOST_TEST(("\n" + counters).find("\n" + std::string(row.line) + "\n") != std::string::npos, row.line);
  std::string info = page("info");
  for (std::string_view line : {
           "\tNumber of clients accessing cache:\t2", "\tNumber of HTTP requests received:\t93", "\tNumber of ICP messages received:\t5",
           "\tNumber of queued ICP replies:\t1", "\tNumber of HTCP messages sent:\t8", "\tAverage HTTP requests per minute since start:\t46.5",
           "\tSelect loop called: 1000 times, 120.000 ms avg", "\tHits as % of all requests:\t5min: 33.3%, 60min: 33.3%",
           "\tHits as % of bytes sent:\t5min: 50.0%, 60min: 50.0%", "\tMemory hits as % of hit requests:\t5min: 96.8%, 60min: 96.8%",
           "\tStorage Swap capacity:\t 0.7% used, 99.3% free", "\tStorage Mem size:\t588 KB", "\tStorage Mem capacity:\t 3.6% used, 96.4% free",
           "\tMean Object Size:\t24.53 KB", "\tUP Time:\t120.000 seconds", "\tCPU Usage:\t1.00%", "\tMaximum Resident Size: 112896 KB",
           "\tPage faults with physical i/o: 7", "\tTotal accounted:          605 KB", "\tmemPoolAlloc calls:       174",
           "\tmemPoolFree calls:         24", "\tMaximum number of file descriptors:   20000", "\tLargest file desc currently in use:     19",
           "\tAvailable number of file descriptors: 19985", "\tReserved number of file descriptors:   100", "\t    15 on-disk objects"})
    BOOST_TEST(("\n" + info).find("\n" + std::string(line) + "\n") != std::string::npos, line);
  BOOST_TEST(line_of(page("5min"), "client_http.requests") == "client_http.requests = 0.775000/sec");
  BOOST_TEST(line_of(page("5min"), "cpu_usage") == "cpu_usage = 1.000000%");
  // Within a bucket of 12 %.
  double median = std::stod(line_of(page("service_times"), "All):  50%").substr(28));
  BOOST_TEST(median > 0.036);
  BOOST_TEST(median < 0.045);
  BOOST_TEST(line_of(page("histograms"), "\t100\t").find("/36.864000\t100\t") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(without_traffic_nothing_divides_by_zero, Fixture) {
  for (const Action& action : actions())
    if (action.name != "shutdown" && !action.needs_password) {
      std::string body = get(std::string(action.name)).body;
      BOOST_TEST(body.find("nan") == std::string::npos, action.name);
      BOOST_TEST(body.find("inf%") == std::string::npos, action.name);
    }
  Manager bare({}, {});
  for (const Action& action : actions())
    if (!action.needs_password) BOOST_TEST(bare.answer({"cache_object", "/" + std::string(action.name), ""}).status == 200);
}

// squid-exporter's rules (README part 4 of the recorded pages), written again.
BOOST_FIXTURE_TEST_CASE(an_exporter_reads_counters_info_and_service_times, Fixture) {
  traffic();
  std::map<std::string, double> values;
  for (auto& line : lines(page("counters"))) {
    size_t equals = line.find('=');
    BOOST_REQUIRE(equals != line.npos);
    values[line.substr(0, equals - 1)] = std::stod(line.substr(equals + 1));
  }
  for (std::string group : {"server.all", "server.http", "server.ftp", "server.other"})
    for (std::string key : {"requests", "errors", "kbytes_in", "kbytes_out"}) BOOST_TEST(values.count(group + "." + key) == 1u);
  for (std::string key : {"requests", "hits", "errors", "kbytes_in", "kbytes_out", "hit_kbytes_out"}) BOOST_TEST(values.count("client_http." + key) == 1u);
  for (std::string key : {"swap.ins", "swap.outs", "swap.files_cleaned"}) BOOST_TEST(values.count(key) == 1u);

  size_t rows = 0;
  const std::regex row("\t(HTTP Requests \\(All\\)|Cache Misses|Cache Hits|Near Hits|DNS Lookups): +([0-9]+)%( +)([0-9.]+)( +)([0-9.]+)");
  for (auto& line : lines(page("service_times")))
    if (!line.ends_with(':') && std::regex_match(line, row)) ++rows;
  BOOST_TEST(rows == 5u * 19);

  std::map<std::string, std::string> info;
  for (auto& line : lines(page("info"))) {
    size_t colon = line.find(':');
    if (colon == line.npos || colon + 1 == line.size()) continue;
    std::string value = line.substr(colon + 1);
    std::istringstream words(value);
    std::string first, second;
    words >> first >> second;
    if (line.starts_with("Squid Object Cache")) BOOST_TEST(!second.empty());
    if (first == "5min:") BOOST_TEST(value.find("%, 60min: ") != value.npos);
    info[line.substr(line[0] == '\t', colon - (line[0] == '\t'))] = first;
  }
  for (std::string key : {"Number of clients accessing cache", "Storage Swap capacity", "CPU Usage, 5 minute avg", "Mean Object Size",
                          "Number of file desc currently in use", "Maximum Resident Size", "Average HTTP requests per minute since start"})
    BOOST_TEST(std::isdigit((unsigned char)info[key][0]), key);
}

BOOST_FIXTURE_TEST_CASE(munin_and_dstat_read_their_lines, Fixture) {
  traffic();
  std::smatch match;
  std::string text = page("storedir");
  const std::regex size("(Maximum|Current) Size:\\s+(\\d+)");   // one pair for each directory, and not the header's lines
  BOOST_TEST(std::distance(std::sregex_iterator(text.begin(), text.end(), size), std::sregex_iterator()) == 2);
  std::string mean = line_of(page("info"), "Mean Object Size");
  BOOST_TEST(std::regex_search(mean, std::regex("^.*?:\\s+(\\d+(?:\\.\\d+)?)\\s+(M|K)?B$")));
  text = page("server_list");
  BOOST_TEST(std::regex_search(line_of(text, "Address["), std::regex("Address[^:]+:\\s*([\\d.]+)\\s*$")));
  BOOST_TEST(std::regex_search(text, std::regex("FETCHES\\s*:\\s*(\\d+)")));
  BOOST_TEST(page("utilization").find("Totals since cache startup:\nsample_time = ") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(history_keeps_minutes_and_hours, Fixture) {
  // One request a second for two hours, ticked every second.
  for (int i = 0; i < 7200; ++i) {
    workers[0].client_requests.add();
    pass(1);
    manager->tick();
  }
  for (std::string name : {"5min", "60min"})
    BOOST_TEST(line_of(page(name), "client_http.requests") == "client_http.requests = 1.000000/sec", name);
  double wall = std::stod(line_of(page("5min"), "wall_time").substr(12));
  BOOST_TEST(wall >= 299);
  BOOST_TEST(wall <= 361);
  std::string text = page("utilization");
  BOOST_TEST(text.find("Last hour:\nsample_start_time") != std::string::npos);
  BOOST_TEST(text.find("Last 8 hours:\n(no values recorded yet)\n") != std::string::npos);
  // Ten idle minutes later the last five have none.
  for (int i = 0; i < 600; ++i) { pass(1); manager->tick(); }
  BOOST_TEST(line_of(page("5min"), "client_http.requests") == "client_http.requests = 0.000000/sec");
}

BOOST_FIXTURE_TEST_CASE(who_may_call_what, Fixture) {
  const std::string secret = "Basic YWRtaW46c2VjcmV0", wrong = "Basic YWRtaW46c2VjcmV1";   // admin:secret, admin:secreu
  const struct { std::string_view scheme, path; std::string authorization; int status; client::ErrorId error; } kTable[] = {
      {"http", "/squid-internal-mgr/info", "", 200, client::ErrorId::none},
      {"http", "/squid-internal-mgr/info?x=1", "", 200, client::ErrorId::none},
      {"http", "/squid-internal-mgr/info", wrong, 200, client::ErrorId::none},
      {"cache_object", "/info", "", 200, client::ErrorId::none},
      {"CACHE_OBJECT", "/info@needless", "", 200, client::ErrorId::none},
      {"cache_object", "/", "", 200, client::ErrorId::none},
      {"cache_object", "", "", 200, client::ErrorId::none},
      {"http", "/squid-internal-mgr/", "", 200, client::ErrorId::none},
      {"http", "/squid-internal-mgr/INFO", "", 404, client::ErrorId::invalid_url},
      {"http", "/squid-internal-mgr/nosuch", "", 404, client::ErrorId::invalid_url},
      {"http", "/squid-internal-mgr/config", "", 401, client::ErrorId::cache_mgr_access_denied},
      {"http", "/squid-internal-mgr/config", wrong, 401, client::ErrorId::cache_mgr_access_denied},
      {"http", "/squid-internal-mgr/config", "Basic !", 401, client::ErrorId::cache_mgr_access_denied},
      {"http", "/squid-internal-mgr/config", secret, 200, client::ErrorId::none},
      {"http", "/squid-internal-mgr/config@secret", "", 404, client::ErrorId::invalid_url},
      {"cache_object", "/config@secret", "", 200, client::ErrorId::none},
      {"cache_object", "/config@secre", "", 401, client::ErrorId::cache_mgr_access_denied},
      {"cache_object", "/config@", "", 401, client::ErrorId::cache_mgr_access_denied},
      {"cache_object", "/config@wrong", secret, 200, client::ErrorId::none},
      {"cache_object", "/config@secret", wrong, 401, client::ErrorId::cache_mgr_access_denied},
      {"http", "/squid-internal-mgr/shutdown", secret, 404, client::ErrorId::invalid_url},
      {"http", "/squid-internal-mgr/rotate", secret, 404, client::ErrorId::invalid_url},
      {"http", "/squid-internal-foo/", "", 404, client::ErrorId::invalid_req},
      {"http", "/squid-internal-mgr", "", 404, client::ErrorId::invalid_req},
  };
  for (auto& row : kTable) {
    Reply reply = manager->answer({row.scheme, row.path, row.authorization});
    BOOST_TEST(reply.status == row.status, row.path << " " << row.authorization);
    BOOST_TEST((reply.error == row.error), row.path);
    BOOST_TEST(reply.realm == (row.status == 401 ? "config" : ""));
    BOOST_TEST(reply.body.empty() == (row.status != 200));
  }
  BOOST_TEST(effects == 0);
}

BOOST_AUTO_TEST_CASE(queries_of_explain) {
  struct Row { std::string query; std::string_view error; };
  const Row kRows[] = {
      {"url=http%3a%2f%2Fa/%3Fx%26y", ""}, {"url=/p&method=HEAD&header=A:%20b&header=C:d&client=::1&port=3128", ""}, {"&&url=/p&", ""}, {"", "url= is missing"},
      {"url=", "url= is missing"}, {"url=a&url=b", "twice"}, {"url=%g0", "hexadecimal"}, {"url=%0", "hexadecimal"}, {"url", "name=value"}, {"=x", "the names are"},
      {"url=a&port=", "port="}, {"url=a&port=65536", "port="}, {"url=a&port=-1", "port="}, {"url=a&client=", "client="}, {"url=a&client=h.test", "client="},
      {"url=a%0d%0ab", "control"}, {"header=%7f", "control"}, {"url=a&Header=b", "the names are"}, {"url=" + std::string(kMaxExplainQuery, 'x'), "longer"},
  };
  for (const Row& row : kRows) {
    client::ExplainQuestion q;
    const std::string error = read_explain_query(row.query, q);
    BOOST_TEST(error.empty() == row.error.empty(), row.query.substr(0, 80) << ": " << error);
    BOOST_TEST(error.find(row.error) != error.npos, row.query.substr(0, 80) << ": " << error);
  }
  client::ExplainQuestion q;
  BOOST_TEST(read_explain_query("url=http%3A//a/+&header=A:%20%c3%a9&port=80", q).empty());
  BOOST_TEST(q.url == "http://a/+");
  BOOST_TEST(q.method == "GET");
  BOOST_TEST(q.headers.at(0) == "A: \xc3\xa9");
  BOOST_TEST(*q.port == 80);
}

BOOST_FIXTURE_TEST_CASE(menu_and_effects, Fixture) {
  auto menu = lines(page("menu"));
  BOOST_TEST(menu.size() == actions().size());
  std::string theirs = "\n" + sample("menu");
  for (auto& line : menu)
    if (!line.starts_with(" bans ") && !line.starts_with(" reasons ") && !line.starts_with(" explain "))   // our own pages
      BOOST_TEST(theirs.find("\n" + line + "\n") != std::string::npos, line);   // the sample has the same passwords
  BOOST_TEST(get("").content_type == "text/html;charset=utf-8");
  BOOST_TEST(manager->answer({"cache_object", "/", ""}).body == page("menu"));
  BOOST_TEST(page("offline_toggle") == sample("offline_toggle"));
  BOOST_TEST(page("offline_toggle") == "offline_mode is now OFF\n");
  BOOST_TEST(get("reconfigure", "Basic OnNlY3JldA==").body == "Reconfiguring Squid Process ....\n");
  BOOST_TEST(effects == 1);
  BOOST_TEST(get("config", "Basic OnNlY3JldA==").body == "http_port 3128\n");
}

BOOST_FIXTURE_TEST_CASE(what_came_from_the_network_stays_on_its_line, Fixture) {
  manager->sources().active_requests = [] {
    ActiveRequestRow r;
    r.url = "http://x/\nuri forged\r\x01";
    return std::vector<ActiveRequestRow>{r};
  };
  BOOST_TEST(page("active_requests").find("uri http://x/?uri forged??\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(facts_of_this_process) {
  Times times = read_times();
  BOOST_TEST(times.steady_us > 0);
  ProcessFacts facts = read_process_facts();
  BOOST_TEST(facts.resident_kb > 0u);
  int pair[2];
  BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  BOOST_TEST(read_process_facts().open_descriptors == facts.open_descriptors + 2);
  bool found = false;
  for (auto& row : read_descriptors()) found = found || (row.fd == pair[0] && row.type == "Socket");
  BOOST_TEST(found);
  BOOST_TEST(read_descriptors(1).size() == 1u);
  close(pair[0]);
  close(pair[1]);
}

BOOST_AUTO_TEST_CASE(secrets_and_credentials) {
  BOOST_TEST(same_secret("abc", "abc"));
  for (auto given : {"", "ab", "abcd", "abcabc", "abx"}) BOOST_TEST(!same_secret(given, "abc"), given);
  BOOST_TEST(same_secret("", ""));
  BOOST_TEST(!same_secret("x", ""));
  BOOST_TEST(*basic_password("basic dTpwOng=") == "p:x");
  for (auto bad : {"", "Basic", "Bearer dTpwOng=", "Basic dTpw*", "Basic dQ=="}) BOOST_TEST(!basic_password(bad).has_value(), bad);
}
