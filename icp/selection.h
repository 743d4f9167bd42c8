// Where a request may be fetched from, best first. Pure: facts in, list out.
#pragma once
#include <vector>

#include "icp/peers.h"
#include "log/record.h"

namespace loligo::icp {

struct Destination {
  const PeerEntry* peer = nullptr;   // null = the origin itself; lives with the PeerTable
  log::HierarchyCode code = log::HierarchyCode::none;
};

enum class Direct : unsigned char { maybe, no, always };

struct SelectionQuestion {
  Direct direct = Direct::maybe;       // by always_direct, never_direct and the port's mode
  bool hierarchical = true;            // a cacheable method: parents may help
  bool nonhierarchical_direct = true, prefer_direct = false;
  bool connect = false;                // a tunnel: origin servers do not speak CONNECT
  bool accelerated = false;
  access::Facts facts;                 // for cache_peer_access
  unsigned max_tries = 25;
  bool preview = false;                // nobody will be asked: it is no turn of a round
};

// Peers that are dead, full (max-conn) or denied by cache_peer_access are left out.
std::vector<Destination> select(const PeerTable&, const SelectionQuestion&);

}  // namespace loligo::icp
