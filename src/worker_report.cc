#include "worker_report.h"

#include <fmt/format.h>

#include <map>

#include "client/connection.h"
#include "client/transaction.h"
#include "service.h"

namespace loligo {

namespace {

void report_clients(const WorkerThread& w, WorkerReport& r) {
  std::map<std::string, unsigned> open;
  for (client::Connection* c = w.worker.connections; c; c = c->next()) ++open[c->client().host()];
  w.worker.clients.for_each([&](const client::ClientRow& row) {
    mgr::ClientRow out;
    out.address = row.address.valid() ? row.address.host() : "others";
    if (auto it = open.find(out.address); it != open.end()) out.connections = it->second;
    out.http_requests = row.requests.get();
    for (unsigned tag = 0; tag < client::kResultTags; ++tag)
      if (uint64_t n = row.by_tag[tag].get()) out.http_tags.push_back({log::text(log::ResultTag(tag)), n, log::is_hit(log::ResultTag(tag))});
    r.clients.push_back(std::move(out));
  });
}

void report_request(const WorkerThread& w, const client::Connection& c, const client::Transaction& t, const mgr::DescriptorRow& fd, WorkerReport& r) {
  mgr::ActiveRequestRow a;
  a.connection = uint64_t(reinterpret_cast<uintptr_t>(&c));
  a.fd = fd.fd;
  a.read_bytes = fd.read_bytes;
  a.written_bytes = fd.written_bytes;
  a.description = fd.description;
  a.remote = fd.remote;
  a.local = c.local().text();
  a.connection_requests = c.requests();
  a.url = t.target().url;
  a.tag = log::text(t.tag());
  a.out_offset = a.out_size = t.reply_offset();
  a.request_bytes = t.head.size();
  a.start_wall_us = t.started_us();
  a.age_seconds = double(w.loop.wall_us() - t.started_us()) / 1e6;
  r.active.push_back(std::move(a));
}

void report_connections(const WorkerThread& w, WorkerReport& r) {
  for (client::Connection* c = w.worker.connections; c; c = c->next()) {
    client::Transaction* t = c->transaction();
    mgr::DescriptorRow fd{.fd = c->stream().fd(), .type = "Socket", .read_bytes = c->total_in(), .written_bytes = c->total_out(), .remote = c->client().text(), .description = {}};
    fd.reading = !t;
    fd.description = t ? t->target().url : c->relay() ? "tunnel" : "Reading next request";
    if (t) report_request(w, *c, *t, fd, r);
    r.sockets.push_back(std::move(fd));
  }
  for (auto& listener : w.listeners)
    r.sockets.push_back({.fd = listener->fd(), .type = "Socket", .reading = true, .remote = listener->address().text(),
                         .description = listener->port().config.tls ? "HTTPS Socket" : "HTTP Socket"});
  auto server = [&](const server::ServerConnection& c, std::string description) {
    r.sockets.push_back({.fd = c.stream->fd(), .type = "Socket", .reading = true, .remote = c.address.text(), .description = std::move(description)});
  };
  w.upstream.for_each_fetch([&](const server::Fetch& f) { if (f.connection()) server(*f.connection(), f.url()); });
  w.upstream.pool.for_each_idle([&](const server::ServerConnection& c) { server(c, "Idle server: " + c.pool_key); });
}

void report_names(const WorkerThread& w, WorkerReport& r) {
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
}

void report_resolver(const WorkerThread& w, WorkerReport& r) {
  auto statistics = w.resolver.statistics();
  for (auto& s : statistics.servers) r.resolver.servers.push_back({s.address.host(), s.queries, s.replies});
  for (auto& q : statistics.queue) {
    double ago = double(w.loop.now_ms() - q.since_ms) / 1000;
    r.resolver.queue.push_back({0, unsigned(q.name.size()), 1, ago, ago, q.name});
  }
  for (size_t code = 0; code < statistics.rcodes.size(); ++code)
    r.resolver.codes.push_back({int(code), {statistics.rcodes[code], 0, 0}});
}

void report_pool(const WorkerThread& w, WorkerReport& r) {
  r.pool.name = "server-peers";
  auto& histogram = w.upstream.pool.requests_per_connection();
  for (unsigned i = 0; i < histogram.size(); ++i)
    if (histogram[i]) r.pool.requests_per_connection.push_back({i, histogram[i]});
  w.upstream.pool.for_each_key([&](const std::string& key, size_t n) { r.pool.idle.push_back({key, unsigned(n)}); });
}

void count_holdings(const WorkerThread& w, HoldingCount (&out)[kHoldings]) {
  const base::Counters& counters = w.loop.counters();
  uint64_t transactions = 0, exchanging = 0;
  for (client::Connection* c = w.worker.connections; c; c = c->next()) transactions += c->transaction() != nullptr;
  w.upstream.for_each_fetch([&](const server::Fetch& f) { exchanging += f.connection() != nullptr; });
  auto set = [&out](Holding what, uint64_t in_use, uint64_t idle, uint64_t allocations, uint64_t made) {
    // What was made and is neither used nor kept has been freed.
    out[unsigned(what)] = {in_use, idle, allocations, allocations > made ? allocations - made : 0, made > in_use + idle ? made - in_use - idle : 0};
  };
  uint64_t connections = counters.client_connections.get(), requests = counters.server_requests.get();
  set(Holding::transactions, transactions, w.worker.idle_transactions(), counters.client_requests.get(), w.worker.transactions_made);
  set(Holding::connections, w.worker.connection_count, 0, connections, connections);
  set(Holding::fetches, w.upstream.fetches(), 0, requests, requests);
  set(Holding::server_connections, exchanging, w.upstream.pool.idle(), requests, requests - std::min(requests, counters.server_connections_reused.get()));
  set(Holding::clients, w.worker.clients.size(), 0, w.worker.clients.size(), w.worker.clients.size());
  set(Holding::buffers, 2, 0, 2, 2);   // the client side's and the server side's
}

}  // namespace

uint64_t holding_bytes(Holding what) {
  constexpr uint64_t kBytes[] = {sizeof(client::Transaction), sizeof(client::Connection), sizeof(server::Fetch), sizeof(server::ServerConnection),
                                 sizeof(client::ClientRow), 64 * 1024};
  static_assert(std::size(kBytes) == kHoldings);
  return kBytes[unsigned(what)];
}

WorkerReport collect_report(const WorkerThread& w) {
  WorkerReport r;
  report_clients(w, r);
  report_connections(w, r);
  report_names(w, r);
  report_resolver(w, r);
  report_pool(w, r);
  count_holdings(w, r.holdings);
  r.second = {fmt::format("worker {}: logs", w.worker.index), double(w.second.deadline_ms() - w.loop.now_ms()) / 1000, 1, true};
  return r;
}

void sample_gauges(WorkerThread& w) {
  HoldingCount counts[kHoldings];
  count_holdings(w, counts);
  for (unsigned i = 0; i < kHoldings; ++i) {
    w.gauges.in_use[i].store(counts[i].in_use, std::memory_order_relaxed);
    w.gauges.idle[i].store(counts[i].idle, std::memory_order_relaxed);
  }
}

}  // namespace loligo
