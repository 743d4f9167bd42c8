// The peers of a configuration and what is known of their health.
//
// PeerTable is immutable, part of a snapshot. PeerState outlives reloads: a
// PeerRegistry finds it by identity (name, host, port), so that a reload forgets
// neither a dead peer nor its counters. State is shared by all workers (atomics).
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "access/rules.h"
#include "icp/settings.h"
#include "net/tls_settings.h"

namespace loligo::icp {

struct PeerState {
  std::string identity;                     // "name|host:port"
  std::atomic<bool> alive{true};
  std::atomic<int> failures{0};             // connect failures in a row
  std::atomic<int64_t> last_probe_ms{0};    // steady
  std::atomic<int> open_connections{0};
  std::atomic<uint64_t> keepalives_asked{0}, keepalives_granted{0};   // requests, and replies that left the connection open
  std::atomic<int64_t> rtt_us{0};           // how long TCP takes to connect, a moving average; 0 = not known
  std::atomic<uint64_t> fetches{0}, rounds{0}, connect_failures{0}, revivals{0};
  std::atomic<int64_t> last_failure_wall{0}, last_success_wall{0};

  // A connection attempt ended. True when that changed alive (worth a log line).
  bool connected();
  bool connect_failed(int limit);
  void connect_took(int64_t us);
};

struct PeerEntry {
  Peer config;
  std::shared_ptr<PeerState> state;
  access::Rules access;                     // cache_peer_access
  std::string pool_key;                     // of its idle connections: what differs must not share one
  bool usable_as_parent() const { return config.type == Peer::Type::parent; }
};

class PeerRegistry {
 public:
  std::shared_ptr<PeerState> find_or_make(const Peer&);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<PeerState>> states_;
};

struct PeerTable {
  std::vector<PeerEntry> entries;
  base::Milliseconds dead_peer_timeout{10'000}, peer_connect_timeout{30'000};

  // Taken back within dead_peer_timeout: two looks in that time.
  int64_t probe_interval_ms() const { return std::max<int64_t>(dead_peer_timeout.count() / 2, 1000); }
  static PeerTable compile(const Settings&, const access::AclSet&, PeerRegistry&, config::Problems&);
  const PeerEntry* find(std::string_view name) const;
};

}  // namespace loligo::icp
