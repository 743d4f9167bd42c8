#include "server/upstream.h"

#include "net/tls.h"
#include "server/fetch.h"

namespace loligo::server {

// One connection to a dead peer, for its outcome alone.
struct Upstream::Probe {
  explicit Probe(Upstream& upstream) : connector(upstream.loop, upstream.resolver) {}
  Connector connector;
  std::shared_ptr<icp::PeerState> peer;
};

Upstream::Upstream(net::Loop& loop, net::Resolver& resolver, cache::Cache& cache)
    : loop(loop), resolver(resolver), cache(cache), pool(loop) {}
Upstream::~Upstream() = default;

namespace {

std::shared_ptr<const net::TlsClientContext> client_context(const net::TlsSettings& settings, const config::Place& place, std::string_view what,
                                                            config::Problems& problems) {
  std::string error;
  auto context = net::TlsClientContext::build(settings, error);
  if (!context) problems.error(place, std::string(what) + ": " + error);
  return context;
}

}  // namespace

Routing Routing::compile(const Settings& settings, const icp::Settings& peers, const access::AclSet& acls, icp::PeerRegistry& registry,
                         config::Problems& problems) {
  Routing r;
  r.settings = settings;
  r.always_direct = access::Rules::compile(settings.always_direct, acls, problems);
  r.never_direct = access::Rules::compile(settings.never_direct, acls, problems);
  r.pconn_for_nonretriable = access::Rules::compile(settings.server_pconn_for_nonretriable, acls, problems);
  r.peers = icp::PeerTable::compile(peers, acls, registry, problems);
  r.nonhierarchical_direct = settings.nonhierarchical_direct;
  r.prefer_direct = settings.prefer_direct;
  r.spares = std::make_shared<SpareAttempts>(settings.happy_eyeballs_connect_gap, settings.happy_eyeballs_connect_limit);
  if (settings.tls_outgoing) r.outgoing_tls = client_context(settings.tls_outgoing_options, settings.tls_outgoing_place, "tls_outgoing_options", problems);
  for (const icp::Peer& peer : peers.peers)
    if (peer.tls) r.peer_tls[peer.name] = client_context(peer.tls_settings, peer.place, "cache_peer " + peer.name, problems);
  for (const config::Statement& s : settings.tcp_outgoing_address) {
    if (s.words.empty()) continue;
    auto address = net::Address::parse(s.words[0].text);
    if (!address) {
      problems.error(s.at(0), "not an IP address: " + s.words[0].text);
      continue;
    }
    r.outgoing_addresses.push_back({*address, access::Rules::compile_conditions(s, 1, acls, problems)});
  }
  return r;
}

OutgoingAddresses Routing::outgoing(access::Facts facts, const icp::Destination& d) const {
  OutgoingAddresses found;
  facts.peer_name = d.peer ? std::string_view(d.peer->config.name) : std::string_view();
  facts.hierarchy = log::text(d.code);
  for (const Outgoing& o : outgoing_addresses)
    if (o.condition.check_fast(facts, true).allowed) found.add(o.address);
  return found;
}

ConnectTarget Routing::connect_target(const icp::Destination& d, base::Milliseconds left) const {
  ConnectTarget t;
  t.stagger = settings.happy_eyeballs_connect_timeout;
  t.spares = spares;
  t.receive_buffer = receive_buffer;
  t.attempts_per_address = 1 + settings.connect_retries;
  base::Milliseconds limit = settings.connect_timeout;
  if (d.peer) {
    const icp::Peer& peer = d.peer->config;
    t.host = peer.host;
    t.port = peer.http_port;
    t.peer = d.peer->state;
    t.peer_fail_limit = peer.connect_fail_limit;
    limit = peer.connect_timeout.count() ? peer.connect_timeout : peers.peer_connect_timeout;
    if (peer.tls) {
      auto it = peer_tls.find(peer.name);
      if (it != peer_tls.end()) t.tls = it->second;
      t.tls_name = !peer.tls_settings.domain.empty() ? peer.tls_settings.domain : peer.host;
    }
  }
  t.timeout = std::min(limit, left);
  return t;
}

icp::SelectionQuestion Routing::selection(const access::Facts& facts, bool accelerated, bool allow_direct) const {
  icp::SelectionQuestion q;
  q.facts = facts;
  q.accelerated = accelerated;
  q.direct = direct_for(facts, accelerated, allow_direct);
  q.hierarchical = facts.method == http::Method::get || facts.method == http::Method::head;
  q.nonhierarchical_direct = nonhierarchical_direct;
  q.prefer_direct = prefer_direct;
  q.max_tries = unsigned(settings.forward_max_tries);
  return q;
}

// An accelerator never goes where its peers do not lead, unless its port or always_direct says so.
icp::Direct Routing::direct_for(const access::Facts& facts, bool accelerated, bool allow_direct) const {
  if (!always_direct.empty() && always_direct.check_fast(facts, false).allowed) return icp::Direct::always;
  if (!never_direct.empty() && never_direct.check_fast(facts, false).allowed) return icp::Direct::no;
  return accelerated && !allow_direct ? icp::Direct::no : icp::Direct::maybe;
}

void Upstream::probe_dead_peers() {
  if (!routing) return;
  int64_t interval = routing->peers.probe_interval_ms();
  for (const icp::PeerEntry& entry : routing->peers.entries) {
    icp::PeerState& state = *entry.state;
    if (state.alive.load(std::memory_order_relaxed)) continue;
    int64_t last = state.last_probe_ms.load(std::memory_order_relaxed);
    if (loop.now_ms() - last < interval || !state.last_probe_ms.compare_exchange_strong(last, loop.now_ms())) continue;
    probes_.push_back(std::make_unique<Probe>(*this));
    Probe* probe = probes_.back().get();
    ConnectTarget target;
    target.host = entry.config.host;
    target.port = entry.config.http_port;
    target.timeout = base::Milliseconds(interval);
    target.peer = entry.state;
    target.peer_fail_limit = entry.config.connect_fail_limit;
    probe->connector.start(std::move(target), [this, probe](ConnectResult result) {
      if (result.connection) loop.delete_later(std::move(result.connection));
      for (auto it = probes_.begin(); it != probes_.end(); ++it)
        if (it->get() == probe) {
          loop.delete_later(std::move(*it));
          probes_.erase(it);
          break;
        }
    });
  }
}

}  // namespace loligo::server
