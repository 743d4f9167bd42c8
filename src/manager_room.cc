#include "manager_room.h"

#include <fmt/format.h>

#include <map>

#include "base/event_log.h"
#include "client/connection.h"
#include "client/transaction.h"
#include "http/date.h"

namespace loligo {

ManagerRoom::ManagerRoom(Service& service) : service_(service) {
  manager_ = std::make_unique<mgr::Manager>(sources(), service.settings_.mgr);
}

void ManagerRoom::tick() { manager_->tick(); }
void ManagerRoom::settings_changed() { manager_->set_settings(service_.settings_.mgr); }

// ---- what a worker tells, on its own thread ------------------------------------

void ManagerRoom::report_clients(WorkerThread& w, Report& r) {
  std::map<std::string, unsigned> open;
  for (client::Connection* c = w.worker.connections; c; c = c->next()) ++open[c->client().host()];
  w.worker.clients.for_each([&](const client::ClientRow& row) {
    mgr::ClientRow out;
    out.address = row.address.valid() ? row.address.host() : "others";
    out.connections = open[out.address];
    out.http_requests = row.requests.get();
    for (unsigned tag = 0; tag < client::kResultTags; ++tag)
      if (uint64_t n = row.by_tag[tag].get()) out.http_tags.push_back({log::text(log::ResultTag(tag)), n, log::is_hit(log::ResultTag(tag))});
    r.clients.push_back(std::move(out));
  });
}

void ManagerRoom::report_connections(WorkerThread& w, Report& r) {
  for (client::Connection* c = w.worker.connections; c; c = c->next()) {
    mgr::DescriptorRow fd;
    fd.fd = c->stream().fd();
    fd.type = "Socket";
    fd.read_bytes = c->total_in();
    fd.written_bytes = c->total_out();
    fd.remote = c->client().text();
    client::Transaction* t = c->transaction();
    fd.description = t ? t->target().url : c->relay() ? "tunnel" : "Reading next request";
    r.sockets.push_back(fd);
    if (!t) continue;
    mgr::ActiveRequestRow a;
    a.connection = uint64_t(reinterpret_cast<uintptr_t>(c));
    a.fd = fd.fd;
    a.read_bytes = c->total_in();
    a.written_bytes = c->total_out();
    a.description = fd.description;
    a.remote = fd.remote;
    a.local = c->local().text();
    a.connection_requests = c->requests();
    a.url = t->target().url;
    a.tag = log::text(t->tag());
    a.out_offset = a.out_size = t->reply_offset();
    a.request_bytes = t->head.size();
    a.start_wall_us = t->started_us();
    a.age_seconds = double(w.loop.wall_us() - t->started_us()) / 1e6;
    r.active.push_back(std::move(a));
  }
}

void ManagerRoom::report_names(WorkerThread& w, Report& r) {
  auto counts = w.resolver.ip_counts();
  r.names.requests = counts.requests;
  r.names.hits = counts.hits;
  r.names.negative_hits = counts.negative_hits;
  r.names.numeric_hits = counts.numeric_hits;
  r.names.misses = counts.misses;
  r.names.a_records = counts.retrieved_a;
  r.names.aaaa_records = counts.retrieved_aaaa;
  r.names.cname_records = counts.retrieved_cname;
  r.names.cname_only = counts.cname_only;
  r.names.invalid = counts.invalid;
  w.resolver.each_ip_entry([&](const net::DnsEntryView& e) {
    mgr::NameRow row{std::string(e.name), e.negative, e.from_hosts, e.idle_seconds, e.ttl_seconds, {}};
    if (e.addresses)
      for (size_t i = 0; i < e.addresses->list.size(); ++i) row.addresses.push_back({e.addresses->list[i].host(), i < e.addresses->good});
    r.names.rows.push_back(std::move(row));
  });
  auto reverse = w.resolver.fqdn_counts();
  r.reverse_names.requests = reverse.requests;
  r.reverse_names.hits = reverse.hits;
  r.reverse_names.negative_hits = reverse.negative_hits;
  r.reverse_names.misses = reverse.misses;
  w.resolver.each_fqdn_entry([&](const net::DnsEntryView& e) {
    mgr::ReverseRow row{std::string(e.name), e.negative, e.from_hosts, e.ttl_seconds, {}};
    if (e.names) row.names = e.names->list;
    r.reverse_names.rows.push_back(std::move(row));
  });
  auto statistics = w.resolver.statistics();
  for (auto& s : statistics.servers) r.resolver.servers.push_back({s.address.host(), s.queries, s.replies});
  for (auto& q : statistics.queue) {
    double ago = double(w.loop.now_ms() - q.since_ms) / 1000;
    r.resolver.queue.push_back({0, unsigned(q.name.size()), 1, ago, ago, q.name});
  }
  for (size_t code = 0; code < statistics.rcodes.size(); ++code)
    r.resolver.codes.push_back({int(code), {statistics.rcodes[code], 0, 0}});
}

ManagerRoom::Report ManagerRoom::report(WorkerThread& w) {
  Report r;
  report_clients(w, r);
  report_connections(w, r);
  report_names(w, r);
  r.pool.name = "server-peers";
  auto& histogram = w.upstream.pool.requests_per_connection();
  for (unsigned i = 0; i < histogram.size(); ++i)
    if (histogram[i]) r.pool.requests_per_connection.push_back({i, histogram[i]});
  w.upstream.pool.for_each_key([&](const std::string& key, size_t n) { r.pool.idle.push_back({key, unsigned(n)}); });
  return r;
}

// ---- asking --------------------------------------------------------------------

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
      round->reports[i] = report(*w);
      if (round->missing.fetch_sub(1) != 1) return;
      service_.workers_[0]->loop.post([this, round] { answer(round->request, round->reports, round->done); });
    });
  }
}

void ManagerRoom::answer(const client::ManagerRequest& request, const Reports& reports, const std::function<void(client::ManagerReply)>& done) {
  current_ = &reports;
  mgr::Reply reply = manager_->answer({request.scheme, request.path, request.authorization});
  current_ = nullptr;
  client::ManagerReply out;
  out.status = reply.status;
  out.error = reply.error;
  out.body = std::move(reply.body);
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
  done(std::move(out));
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
  std::vector<mgr::ClientRow> out;
  for (auto& [address, row] : merged) out.push_back(std::move(row));
  return out;
}

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
    row.options = e.config.original;
    if (auto address = net::Address::parse(e.config.host)) row.addresses.push_back(address->host());
    else
      for (auto& report : *current_)
        for (auto& name : report.names.rows)
          if (name.host == e.config.host && row.addresses.empty())
            for (auto& target : name.addresses) row.addresses.push_back(target.address);
    row.up = e.state->alive.load();
    row.fetches = e.state->fetches.load();
    row.open_connections = uint64_t(std::max(e.state->open_connections.load(), 0));
    if (int64_t failed = e.state->last_failure_wall.load()) row.last_failure_seconds = now - failed;
    out.push_back(std::move(row));
  }
  return out;
}

mgr::StoreFacts ManagerRoom::store() const {
  mgr::StoreFacts f;
  auto totals = service_.cache_->memory().totals();
  f.entries = f.entries_in_memory = f.hot_entries = totals.objects;
  f.memory_bytes = totals.bytes;
  f.memory_capacity_bytes = totals.capacity;
  return f;
}

// What /proc tells, with what the workers know of their sockets.
std::vector<mgr::DescriptorRow> ManagerRoom::descriptors() const {
  auto rows = mgr::read_descriptors();
  std::map<int, const mgr::DescriptorRow*> known;
  for (auto& report : *current_)
    for (auto& row : report.sockets) known[row.fd] = &row;
  for (auto& row : rows)
    if (auto it = known.find(row.fd); it != known.end()) row = *it->second;
  return rows;
}

mgr::Sources ManagerRoom::sources() {
  mgr::Sources s;
  Service& v = service_;
  s.service_name = v.options_.service_name;
  s.version = package_version();
  s.build_info = "epoll, OpenSSL, c-ares, RE2";
  s.hostname = v.snapshot_->hostname;
  for (auto& w : v.workers_) s.workers.push_back(&w->loop.counters());
  s.process = [&v] {
    mgr::ProcessFacts f = mgr::read_process_facts();
    f.start_wall_us = v.started_wall_us_;
    f.start_steady_us = v.started_steady_us_;
    f.max_descriptors = int(v.descriptor_limit);
    f.reserved_descriptors = 100;
    return f;
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
      all.rows.insert(all.rows.end(), r.names.rows.begin(), r.names.rows.end());
    }
    return all;
  };
  s.reverse_names = [this] {
    mgr::ReverseCacheFacts all;
    for (auto& r : *current_) {
      all.requests += r.reverse_names.requests, all.hits += r.reverse_names.hits;
      all.negative_hits += r.reverse_names.negative_hits, all.misses += r.reverse_names.misses;
      all.rows.insert(all.rows.end(), r.reverse_names.rows.begin(), r.reverse_names.rows.end());
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
  s.idle_pools = [this] {
    std::vector<mgr::IdlePoolFacts> pools;
    for (auto& r : *current_) pools.push_back(r.pool);
    return pools;
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
  s.config = [&v] { return dump_config(v.settings_); };
  net::Loop& loop = v.workers_[0]->loop;
  s.shut_down = [&v, &loop] { loop.post([&v] { v.command(Command::stop); }); };
  s.reconfigure = [&v, &loop] { loop.post([&v] { v.command(Command::reconfigure); }); };
  s.rotate = [&v, &loop] { loop.post([&v] { v.command(Command::rotate); }); };
  return s;
}

}  // namespace loligo
