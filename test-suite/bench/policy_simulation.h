// Caches of a given number of bytes that a workload is driven through: memory
// under a replacement policy, and the disk's log of segments.
#pragma once
#include <string>

#include "test-suite/bench/policy_workload.h"

namespace loligo::bench {

struct Ratios {
  uint64_t requests = 0, hits = 0, bytes = 0, hit_bytes = 0;
  uint64_t stored_bytes = 0, written_bytes = 0;   // a log's; written counts what is carried over too
  double objects() const { return requests ? 100.0 * double(hits) / double(requests) : 0; }
  double in_bytes() const { return bytes ? 100.0 * double(hit_bytes) / double(bytes) : 0; }
  double amplification() const { return stored_bytes ? double(written_bytes) / double(stored_bytes) : 1; }
};

// Every request counts, from an empty cache on. A size that differs from the stored one is a new version: a miss.
// No requests in the result when the policy is unknown.
Ratios simulate_memory(const Workload&, const std::string& policy, uint64_t capacity);

struct LogOptions {
  std::string policy = "adaptive";   // cache_replacement_policy; "" = a plain FIFO, nothing carried
  uint64_t capacity = 0;             // bytes, the segment being written included
  unsigned segments = 64;            // that the capacity is divided into
  uint64_t memory = 0;               // of a memory cache before it; its hits do not reach the log, but count
};
// The disk's log, as store/disk does it: the oldest segment is reclaimed, its CarryOver says what of it stays.
Ratios simulate_log(const Workload&, const LogOptions&);

}  // namespace loligo::bench
