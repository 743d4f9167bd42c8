// What one worker knows at one moment, for the manager's pages. Collected on the
// worker's own thread; rows are snapshots that any thread may read.
#pragma once
#include <atomic>
#include <vector>

#include "mgr/sources.h"

namespace loligo {

struct WorkerThread;

// Kinds of things that a worker holds, for mgr:mem and for "Total accounted": each once.
//  X(enumerator, "name on the page")
#define LOLIGO_HOLDINGS(X)                  \
  X(transactions, "Transaction")            \
  X(connections, "Client connection")       \
  X(fetches, "Server fetch")                \
  X(server_connections, "Server connection") \
  X(clients, "Client record")               \
  X(buffers, "Read buffer")

enum class Holding : unsigned char {
#define X(id, name) id,
  LOLIGO_HOLDINGS(X)
#undef X
  count_
};
inline constexpr unsigned kHoldings = unsigned(Holding::count_);

struct HoldingCount { uint64_t in_use = 0, idle = 0, allocations = 0, reused = 0, freed = 0; };

// Numbers that a worker leaves once a second where worker 0 finds them, for the highest of them all.
struct WorkerGauges {
  std::atomic<uint64_t> in_use[kHoldings] = {}, idle[kHoldings] = {};
};

struct WorkerReport {
  std::vector<mgr::ClientRow> clients;
  std::vector<mgr::ActiveRequestRow> active;
  std::vector<mgr::DescriptorRow> sockets;
  mgr::NameCacheFacts names;
  mgr::ReverseCacheFacts reverse_names;
  mgr::ResolverFacts resolver;
  mgr::IdlePoolFacts pool;
  mgr::TimerRow second;                   // the worker's own periodic work
  HoldingCount holdings[kHoldings];
};

// On the worker's thread.
WorkerReport collect_report(const WorkerThread&);
void sample_gauges(WorkerThread&);
uint64_t holding_bytes(Holding);          // of one

}  // namespace loligo
