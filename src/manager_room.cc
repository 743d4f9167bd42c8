#include "manager_room.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/event_log.h"
#include "http/date.h"
#include "object_rows.h"

namespace loligo {

ManagerRoom::ManagerRoom(Service& service) : service_(service) {
  manager_ = std::make_unique<mgr::Manager>(sources(), service.settings_.mgr);
}

void ManagerRoom::tick() {
  manager_->tick();
  std::erase_if(pages_, [](auto& page) { return page->ended(); });
  int64_t now_us = service_.workers_[0]->loop.now_us();
  for (unsigned i = 0; i < kHoldings; ++i) {
    uint64_t in_use = 0, idle = 0;
    for (auto& w : service_.workers_) {
      in_use += w->gauges.in_use[i].load(std::memory_order_relaxed);
      idle += w->gauges.idle[i].load(std::memory_order_relaxed);
    }
    marks_[i].see(in_use, idle, now_us);
  }
  auto totals = service_.cache_->memory().totals();
  stored_.see(totals.bytes, 0, now_us);
}

void ManagerRoom::Marks::see(uint64_t now_in_use, uint64_t now_idle, int64_t now_us) {
  if (now_in_use >= in_use) in_use = now_in_use, in_use_us = now_us;
  if (now_in_use + now_idle >= allocated) allocated = now_in_use + now_idle, allocated_us = now_us;
  idle = std::max(idle, now_idle);
}
void ManagerRoom::settings_changed() { manager_->set_settings(service_.settings_.mgr); }

// ---- asking --------------------------------------------------------------------

std::function<void(client::ManagerReply)> ManagerQuestions::add(std::function<void(client::ManagerReply)> done) {
  auto question = std::make_shared<Question>(Question{std::move(done), loop_.now_ms() + kDeadlineMs});
  open_.push_back(question);
  return [question, loop = &loop_](client::ManagerReply reply) {
    auto shared = std::make_shared<client::ManagerReply>(std::move(reply));
    loop->post([question, shared] {
      if (auto done = std::exchange(question->done, nullptr)) done(std::move(*shared));
    });
  };
}

void ManagerQuestions::tick() {
  for (auto& question : open_) {
    if (!question->done || loop_.now_ms() < question->deadline_ms) continue;
    base::log_event(base::Section::manager, 1, "WARNING: a page of the manager was not answered within {} seconds: a worker hangs", kDeadlineMs / 1000);
    client::ManagerReply late;
    late.status = 503;
    late.fields = "Content-Type: text/plain\r\nCache-Control: no-store\r\n";
    late.body = "A worker did not answer in time.\n";
    std::exchange(question->done, nullptr)(std::move(late));
  }
  std::erase_if(open_, [](auto& question) { return !question->done; });
}

void ManagerRoom::ask(client::ManagerRequest request, std::function<void(client::ManagerReply)> done) {
  struct Round {
    client::ManagerRequest request;
    std::function<void(client::ManagerReply)> done;
    Reports reports;
    std::atomic<size_t> missing;
  };
  auto round = std::make_shared<Round>();
  round->request = std::move(request);
  round->done = std::move(done);
  round->reports.resize(service_.workers_.size());
  round->missing = service_.workers_.size();
  for (size_t i = 0; i < service_.workers_.size(); ++i) {
    WorkerThread* w = service_.workers_[i].get();
    w->loop.post([this, round, i, w] {
      round->reports[i] = collect_report(*w);
      if (round->missing.fetch_sub(1) != 1) return;
      service_.workers_[0]->loop.post([this, round] { answer(round->request, round->reports, round->done); });
    });
  }
}

void ManagerRoom::answer(const client::ManagerRequest& request, const Reports& reports, const std::function<void(client::ManagerReply)>& done) {
  current_ = &reports;
  mgr::Reply reply = manager_->answer({request.scheme, request.path, request.authorization, request.client});
  current_ = nullptr;
  client::ManagerReply out;
  out.status = reply.status;
  out.error = reply.error;
  out.body = std::move(reply.body);
  std::erase_if(pages_, [](auto& page) { return page->ended(); });
  if (reply.stream && pages_.size() >= kMostPages) {
    reply.stream.reset();
    out.status = 503;
    out.body = fmt::format("{} long pages are being sent already.\n", kMostPages);
  }
  if (reply.stream) {
    pages_.push_back(std::make_shared<PageSender>(service_.workers_[0]->loop, std::move(reply.stream)));
    out.growing = pages_.back()->body();
    pages_.back()->start();
  }
  if (!reply.realm.empty()) {
    out.fields += fmt::format("WWW-Authenticate: Basic realm=\"{}\"\r\n", reply.realm);
    base::log_event(base::Section::manager, 1, "CacheManager: {}: {} for '{}'", request.client,
                    request.authorization.empty() && request.path.find('@') == std::string::npos ? "password needed" : "incorrect password", reply.realm);
  }
  if (reply.error == client::ErrorId::none) {
    char date[http::kDateLength];
    http::format_date(service_.workers_[0]->loop.wall_seconds(), date);
    std::string_view now(date, sizeof date);
    out.fields += fmt::format("Content-Type: {}\r\nExpires: {}\r\nLast-Modified: {}\r\nCache-Control: no-cache, no-store\r\n", reply.content_type, now, now);
  }
  if (!reply.later) return done(std::move(out));
  auto kept = std::make_shared<client::ManagerReply>(std::move(out));
  reply.later([kept, done](int status, std::string body) {
    kept->status = status;
    kept->body = std::move(body);
    done(std::move(*kept));
  });
}

// ---- what the pages see --------------------------------------------------------

std::vector<mgr::ClientRow> ManagerRoom::clients() const {
  std::map<std::string, mgr::ClientRow> merged;
  for (auto& report : *current_)
    for (auto& row : report.clients) {
      auto [it, fresh] = merged.try_emplace(row.address, row);
      if (fresh) continue;
      it->second.connections += row.connections;
      it->second.http_requests += row.http_requests;
      for (auto& tag : row.http_tags) {
        auto known = std::find_if(it->second.http_tags.begin(), it->second.http_tags.end(), [&](auto& t) { return t.tag == tag.tag; });
        if (known == it->second.http_tags.end()) it->second.http_tags.push_back(tag);
        else known->count += tag.count;
      }
    }
  // Names as far as rules have asked for them; nobody is looked up for this page.
  std::vector<mgr::ClientRow> out;
  for (auto& [address, row] : merged) {
    for (auto& report : *current_)
      for (auto& known : report.reverse_names.rows)
        if (row.name.empty() && known.address == address && !known.names.empty()) row.name = known.names.front();
    out.push_back(std::move(row));
  }
  return out;
}

namespace {
// What follows "host type http-port icp-port".
std::string options_of(const icp::Peer& peer) {
  std::string words = icp::shown_words(peer);
  size_t at = 0;
  for (int skipped = 0; skipped < 4; ++skipped) at = std::min(words.find_first_not_of(" \t", words.find_first_of(" \t", at)), words.size());
  return words.substr(at);
}
}  // namespace

std::vector<mgr::PeerRow> ManagerRoom::peers() const {
  std::vector<mgr::PeerRow> out;
  base::WallSeconds now = base::wall_now_microseconds() / 1'000'000;
  for (const icp::PeerEntry& e : service_.snapshot_->routing->peers.entries) {
    mgr::PeerRow row;
    static constexpr std::string_view kTypes[] = {"Parent", "Sibling", "Multicast Group"};
    row.type = kTypes[unsigned(e.config.type)];
    row.name = e.config.name;
    row.host = e.config.host;
    row.http_port = e.config.http_port;
    row.icp_port = e.config.icp_port;
    row.options = options_of(e.config);
    if (auto address = net::Address::parse(e.config.host)) row.addresses.push_back(address->host());
    else
      for (auto& report : *current_)
        for (auto& name : report.names.rows)
          if (name.host == e.config.host && row.addresses.empty())
            for (auto& target : name.addresses) row.addresses.push_back(target.address);
    row.up = e.state->alive.load();
    row.fetches = e.state->fetches.load();
    row.keepalives_asked = e.state->keepalives_asked.load();
    row.keepalives_granted = e.state->keepalives_granted.load();
    row.rtt_ms = int((e.state->rtt_us.load() + 500) / 1000);
    row.open_connections = uint64_t(std::max(e.state->open_connections.load(), 0));
    if (int64_t failed = e.state->last_failure_wall.load()) row.last_failure_seconds = now - failed;
    out.push_back(std::move(row));
  }
  return out;
}

namespace {

void tell_counts(const store::Disk::Counters& c, mgr::StoreFacts& f) {
  f.create_refusals = c.not_stored_limits + c.not_stored_busy;
  f.create_failures = c.given_up;
  f.creates = c.stored + f.create_refusals + f.create_failures;
  f.write_amplification = c.stored_bytes ? double(c.written_bytes) / double(c.stored_bytes) : 0;
  f.disk_counts = {{"stored", c.stored}, {"stored_bytes", c.stored_bytes}, {"carried_bytes", c.carried_bytes}, {"written_bytes", c.written_bytes},
                   {"not_stored_busy", c.not_stored_busy}, {"not_stored_limits", c.not_stored_limits}, {"given_up", c.given_up},
                   {"finds", c.finds}, {"found", c.found}, {"found_now", c.found_now}, {"reads", c.reads}, {"read_bytes", c.read_bytes},
                   {"pool_reads", c.pool_reads}, {"damaged", c.damaged}, {"read_errors", c.read_errors}, {"write_errors", c.write_errors},
                   {"erased", c.erased}, {"evicted", c.evicted}, {"carried", c.carried}, {"segments_reclaimed", c.segments_reclaimed},
                   {"reheads", c.reheads}, {"syncs", c.syncs}, {"index_reopened", c.index_reopened}, {"rebuilt_objects", c.rebuilt_objects}};
}

}  // namespace

mgr::StoreFacts ManagerRoom::store() const {
  mgr::StoreFacts f;
  auto totals = service_.cache_->memory().totals();
  f.entries = f.entries_in_memory = f.hot_entries = totals.objects;
  f.memory_bytes = totals.bytes;
  f.memory_capacity_bytes = totals.capacity;
  const store::Disk* disk = service_.cache_->disk();
  if (!disk) return f;
  const store::Settings& settings = service_.settings_.store;
  tell_counts(disk->counters(), f);
  f.disk_entries = disk->objects();
  // One that is in both counts once. Of those in memory whose copy on disk is yet to be written, or was evicted there, nothing is known here.
  f.entries = std::max(f.entries, f.entries - totals.disk_copies + f.disk_entries);
  for (auto& d : disk->directories()) {
    f.disk_bytes += d.used;
    f.disk_capacity_bytes += d.capacity;
    mgr::StoreDirectoryRow row;
    row.path = d.path;
    row.policy = d.policy;
    row.max_bytes = d.capacity;
    row.current_bytes = d.used;
    row.read_only = d.read_only || d.failed;
    row.selected = !row.read_only;
    for (const store::CacheDir& line : settings.cache_dirs)
      if (line.path == d.path) row.type = line.type;
    struct ::statvfs fs{};
    if (::statvfs(d.path.c_str(), &fs) == 0) {
      row.block_bytes = unsigned(fs.f_frsize);
      row.filesystem_total_kb = fs.f_blocks * fs.f_frsize >> 10;
      row.filesystem_used_kb = (fs.f_blocks - fs.f_bfree) * fs.f_frsize >> 10;
      row.inodes_total = fs.f_files;
      row.inodes_used = fs.f_files - fs.f_ffree;
    }
    f.directories.push_back(std::move(row));
  }
  return f;
}

// What /proc tells, with what the workers know of their sockets.
std::vector<mgr::DescriptorRow> ManagerRoom::descriptors() const {
  auto rows = mgr::read_descriptors();
  std::map<int, const mgr::DescriptorRow*> known;
  for (auto& report : *current_)
    for (auto& row : report.sockets) known[row.fd] = &row;
  for (auto& row : rows) {
    auto it = known.find(row.fd);
    if (it == known.end()) continue;
    // Where the worker does not count bytes, the kernel does.
    mgr::DescriptorRow told = *it->second;
    if (told.read_bytes == 0) told.read_bytes = row.read_bytes;
    if (told.written_bytes == 0) told.written_bytes = row.written_bytes;
    row = std::move(told);
  }
  return rows;
}

std::vector<mgr::PoolRow> ManagerRoom::pools() const {
  static constexpr std::string_view kNames[] = {
#define X(id, name) name,
      LOLIGO_HOLDINGS(X)
#undef X
  };
  int64_t now_us = service_.workers_[0]->loop.now_us();
  auto row = [now_us](std::string_view name, uint64_t bytes, const HoldingCount& n, Marks marks) {
    marks.see(n.in_use, n.idle, now_us);
    return mgr::PoolRow{.name = std::string(name), .object_bytes = bytes, .in_use = n.in_use, .idle = n.idle, .in_use_high = marks.in_use,
                        .allocated_high = marks.allocated, .idle_high = marks.idle, .in_use_high_hours = double(now_us - marks.in_use_us) / 3.6e9,
                        .allocated_high_hours = double(now_us - marks.allocated_us) / 3.6e9, .allocations = n.allocations, .reused = n.reused, .freed = n.freed};
  };
  std::vector<mgr::PoolRow> out;
  for (unsigned i = 0; i < kHoldings; ++i) {
    HoldingCount sum;
    for (auto& report : *current_) {
      const HoldingCount& n = report.holdings[i];
      sum = {sum.in_use + n.in_use, sum.idle + n.idle, sum.allocations + n.allocations, sum.reused + n.reused, sum.freed + n.freed};
    }
    out.push_back(row(kNames[i], holding_bytes(Holding(i)), sum, marks_[i]));
  }
  // Objects differ in size: their bytes are counted, as bytes.
  auto totals = service_.cache_->memory().totals();
  uint64_t stored = 0;
  for (auto& w : service_.workers_) stored += w->loop.counters().stored_objects.get();
  out.push_back(row("Stored bytes", 1, {totals.bytes, 0, stored, 0, stored > totals.objects ? stored - totals.objects : 0}, stored_));
  return out;
}

mgr::TimerFacts ManagerRoom::timers() const {
  mgr::TimerFacts f;
  for (auto& report : *current_) f.rows.push_back(report.second);
  f.last = service_.workers_.size() > 1 ? "logs" : f.rows[0].name;
  f.rows.push_back({"statistics: minute", manager_->seconds_to_next_sample(), 1, true});
  int64_t now_ms = service_.workers_[0]->loop.now_ms();
  const icp::PeerTable& peers = service_.snapshot_->routing->peers;
  for (const icp::PeerEntry& e : peers.entries)
    if (!e.state->alive.load())
      f.rows.push_back({"probe of peer " + e.config.name, double(std::max<int64_t>(e.state->last_probe_ms.load() + peers.probe_interval_ms() - now_ms, 0)) / 1000, 1, true});
  if (service_.stopping_) f.rows.push_back({"shutdown", double(std::max<int64_t>(service_.stop_deadline_ms_ - now_ms, 0)) / 1000, 1, false});
  std::sort(f.rows.begin(), f.rows.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; });
  return f;
}

// One pool for the reader, whichever worker holds what.
mgr::IdlePoolFacts ManagerRoom::idle_pool() const {
  std::map<unsigned, uint64_t> histogram;
  std::map<std::string, unsigned> idle;
  for (auto& report : *current_) {
    for (auto& [requests, connections] : report.pool.requests_per_connection) histogram[requests] += connections;
    for (auto& [key, connections] : report.pool.idle) idle[key] += connections;
  }
  return {(*current_)[0].pool.name, {histogram.begin(), histogram.end()}, {idle.begin(), idle.end()}};
}

namespace {
// Each worker has a cache of its own; a name that several know is shown once.
template <class Row>
void add_new(std::vector<Row>& all, const std::vector<Row>& more, std::string Row::*name) {
  std::set<std::string_view> known;
  for (auto& row : all) known.insert(row.*name);
  std::vector<Row> fresh;
  for (auto& row : more) if (!known.contains(row.*name)) fresh.push_back(row);
  all.insert(all.end(), fresh.begin(), fresh.end());
}
}  // namespace

mgr::Sources ManagerRoom::sources() {
  mgr::Sources s;
  Service& v = service_;
  s.service_name = v.options_.service_name;
  s.version = package_version();
  s.build_info = "epoll, OpenSSL, c-ares, RE2";
  s.hostname = v.snapshot_->hostname;
  for (auto& w : v.workers_) s.workers.push_back(&w->loop.counters()), s.reasons.push_back(&w->upstream.reasons);
  s.process = [&v] {
    mgr::ProcessFacts f = mgr::read_process_facts();
    f.start_wall_us = v.started_wall_us_;
    f.start_steady_us = v.started_steady_us_;
    f.max_descriptors = int(v.descriptor_limit);
    f.reserved_descriptors = 100;
    if (const store::Disk* disk = v.cache_->disk())
      for (auto& d : disk->directories()) f.store_files += int(d.open_files);
    return f;
  };
  s.other = [&v] {
    mgr::OtherCounters o;
    const store::Disk* disk = v.cache_->disk();
    if (!disk) return o;
    store::Disk::Counters c = disk->counters();
    o.swap_outs = c.stored;
    o.swap_ins = c.found;
    o.swap_files_cleaned = o.unlink_requests = o.disk_unlinks = c.segments_reclaimed;
    o.disk_reads = c.reads;
    o.disk_writes = c.stored + c.carried + c.reheads;
    return o;
  };
  s.clients = [this] { return clients(); };
  s.peers = [this] { return peers(); };
  s.store = [this] { return store(); };
  s.names = [this] {
    mgr::NameCacheFacts all;
    for (auto& r : *current_) {
      all.requests += r.names.requests, all.hits += r.names.hits, all.negative_hits += r.names.negative_hits;
      all.numeric_hits += r.names.numeric_hits, all.misses += r.names.misses, all.a_records += r.names.a_records;
      all.aaaa_records += r.names.aaaa_records, all.cname_records += r.names.cname_records, all.cname_only += r.names.cname_only;
      all.invalid += r.names.invalid;
      add_new(all.rows, r.names.rows, &mgr::NameRow::host);
    }
    return all;
  };
  s.reverse_names = [this] {
    mgr::ReverseCacheFacts all;
    for (auto& r : *current_) {
      all.requests += r.reverse_names.requests, all.hits += r.reverse_names.hits;
      all.negative_hits += r.reverse_names.negative_hits, all.misses += r.reverse_names.misses;
      add_new(all.rows, r.reverse_names.rows, &mgr::ReverseRow::address);
    }
    return all;
  };
  s.resolver = [this] {
    mgr::ResolverFacts all = (*current_)[0].resolver;
    for (size_t w = 1; w < current_->size(); ++w) {
      const auto& more = (*current_)[w].resolver;
      for (size_t i = 0; i < more.servers.size() && i < all.servers.size(); ++i)
        all.servers[i].queries += more.servers[i].queries, all.servers[i].replies += more.servers[i].replies;
      for (size_t i = 0; i < more.codes.size() && i < all.codes.size(); ++i) all.codes[i].attempts[0] += more.codes[i].attempts[0];
      all.queue.insert(all.queue.end(), more.queue.begin(), more.queue.end());
    }
    return all;
  };
  s.idle_pools = [this] { return std::vector<mgr::IdlePoolFacts>{idle_pool()}; };
  s.pools = [this] { return pools(); };
  s.timers = [this] { return timers(); };
  s.objects = [&v](mgr::Objects which) { return object_rows(*v.cache_, which); };
  s.bans = [&v] {
    static constexpr std::string_view kKinds[] = {"url-regex", "tag", "url"};
    std::vector<mgr::BanRow> rows;
    const uint64_t objects = v.cache_->memory().totals().objects + (v.cache_->disk() ? v.cache_->disk()->objects() : 0);
    for (const cache::BanRef& ban : v.cache_->bans().all()) {
      // Before all have been asked, any of them may be among those it concerns.
      const uint64_t held = ban->swept ? ban->held.load() : objects;
      rows.push_back({ban->id, kKinds[unsigned(ban->what.kind)], ban->what.soft, ban->swept, ban->taken, held, ban->what.text});
    }
    return rows;
  };
  s.descriptors = [this] { return descriptors(); };
  s.active_requests = [this] {
    std::vector<mgr::ActiveRequestRow> all;
    for (auto& r : *current_) all.insert(all.end(), r.active.begin(), r.active.end());
    return all;
  };
  s.toggle_offline = [&v] {
    bool now = !v.cache_->offline();
    v.cache_->set_offline(now);
    base::log_event(base::Section::main, 1, "offline_mode is now {}", now ? "on" : "off");
    return now;
  };
  s.explain = [&v](client::ExplainQuestion question, std::function<void(client::ExplainAnswer)> done) {
    client::explain(v.snapshot_, *v.cache_, std::move(question), base::wall_now_microseconds() / 1'000'000, std::move(done));
  };
  s.config = [&v] { return dump_config(v.settings_); };
  net::Loop& loop = v.workers_[0]->loop;
  s.shut_down = [&v, &loop] { loop.post([&v] { v.command(Command::stop); }); };
  s.reconfigure = [&v, &loop] { loop.post([&v] { v.command(Command::reconfigure); }); };
  s.rotate = [&v, &loop] { loop.post([&v] { v.command(Command::rotate); }); };
  return s;
}

}  // namespace loligo
