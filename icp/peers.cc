#include "icp/peers.h"

#include <fmt/format.h>

namespace loligo::icp {

bool PeerState::connected() {
  failures.store(0, std::memory_order_relaxed);
  bool revived = !alive.exchange(true);
  if (revived) revivals.fetch_add(1, std::memory_order_relaxed);
  return revived;
}

bool PeerState::connect_failed(int limit) {
  connect_failures.fetch_add(1, std::memory_order_relaxed);
  if (failures.fetch_add(1, std::memory_order_relaxed) + 1 < limit) return false;
  return alive.exchange(false);
}

// Two workers at once may lose one of their values: it is an average.
void PeerState::connect_took(int64_t us) {
  constexpr int64_t kWeight = 8;
  us = std::max<int64_t>(us, 1);
  int64_t before = rtt_us.load(std::memory_order_relaxed);
  rtt_us.store(before == 0 ? us : std::max<int64_t>(before + (us - before) / kWeight, 1), std::memory_order_relaxed);
}

std::shared_ptr<PeerState> PeerRegistry::find_or_make(const Peer& peer) {
  std::string identity = fmt::format("{}|{}:{}", peer.name, peer.host, peer.http_port);
  std::lock_guard lock(mutex_);
  if (auto known = states_[identity].lock()) return known;
  auto state = std::make_shared<PeerState>();
  state->identity = identity;
  states_[identity] = state;
  std::erase_if(states_, [](auto& entry) { return entry.second.expired(); });
  return state;
}

PeerTable PeerTable::compile(const Settings& settings, const access::AclSet& acls, PeerRegistry& registry, config::Problems& problems) {
  PeerTable table;
  table.dead_peer_timeout = settings.dead_peer_timeout;
  table.peer_connect_timeout = settings.peer_connect_timeout;
  for (const Peer& peer : settings.peers) {
    std::vector<config::Statement> lines;
    for (auto& s : settings.cache_peer_access)
      if (!s.words.empty() && s.words[0].text == peer.name) lines.push_back(s);
    table.entries.push_back({peer, registry.find_or_make(peer), access::Rules::compile(lines, acls, problems, 1),
                             fmt::format("peer|{}|{}:{}|{}|{}", peer.name, peer.host, peer.http_port, peer.tls, peer.forceddomain)});
  }
  return table;
}

const PeerEntry* PeerTable::find(std::string_view name) const {
  for (auto& e : entries) if (e.config.name == name) return &e;
  return nullptr;
}

}  // namespace loligo::icp
