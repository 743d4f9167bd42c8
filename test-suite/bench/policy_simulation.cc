#include "test-suite/bench/policy_simulation.h"

#include <deque>
#include <memory>

#include "store/disk/carry_over.h"
#include "store/policy.h"

namespace loligo::bench {

namespace {

uint64_t hash_of(uint32_t object) {
  uint64_t x = (object + 1) * 0x9E3779B97F4A7C15u;
  return (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
}

// A memory cache under a policy.
class MemoryCache {
 public:
  MemoryCache(const std::string& policy, uint64_t capacity, uint32_t objects)
      : policy_(store::make_policy(policy, capacity)), capacity_(capacity), nodes_(objects), held_(objects) {}
  bool valid() const { return policy_ != nullptr; }
  bool holds(uint32_t object) const { return held_[object]; }
  // True for a hit; a miss is stored.
  bool ask(const Request& r) {
    store::PolicyNode& n = nodes_[r.object];
    if (held_[r.object] && n.size == r.size) {
      policy_->used(n);
      return true;
    }
    if (held_[r.object]) remove(n);
    if (r.size <= capacity_) add(n, r);
    return false;
  }

 private:
  void add(store::PolicyNode& n, const Request& r) {
    n = {};
    n.key_hash = hash_of(r.object);
    n.size = r.size;
    held_[r.object] = true;
    used_ += r.size;
    policy_->added(n);
    while (used_ > capacity_) {
      store::PolicyNode* victim = policy_->victim();
      if (!victim) break;
      remove(*victim);
    }
  }
  void remove(store::PolicyNode& n) {
    used_ -= n.size;
    held_[size_t(&n - nodes_.data())] = false;
    policy_->removed(n);
  }
  std::unique_ptr<store::Policy> policy_;
  uint64_t capacity_, used_ = 0;
  std::vector<store::PolicyNode> nodes_;
  std::vector<bool> held_;
};

// The log of segments.
class Log {
 public:
  Log(const LogOptions& options, uint32_t objects, const MemoryCache* memory, Ratios& counts)
      : options_(options), segment_bytes_(std::max<uint64_t>(options.capacity / options.segments, 1)), carry_over_(options.policy), memory_(memory), counts_(counts), entries_(objects) {
    segments_.emplace_back();
  }
  bool ask(const Request& r) {
    ++clock_;
    Entry& e = entries_[r.object];
    if (e.segment && e.size == r.size) {
      e.uses += e.uses < kMostUses;
      e.used = clock_;
      return true;
    }
    e = {};   // the old version's bytes lie there until their segment goes
    if (r.size > segment_bytes_ * (options_.segments - 2)) return false;
    counts_.stored_bytes += r.size;
    e.used = clock_;
    append(r.object, r.size);
    while (used_ > options_.capacity && segments_.size() > 1) reclaim();
    return false;
  }

 private:
  static constexpr uint32_t kMostUses = 15;   // as in the disk's table
  struct Entry {
    uint64_t size = 0, segment = 0;           // 0 = not there
    uint32_t uses = 0, used = 0;
  };
  struct Segment {
    uint64_t number = 1, bytes = 0;
    std::vector<uint32_t> objects;
  };
  void append(uint32_t object, uint64_t size) {
    if (segments_.back().bytes > 0 && segments_.back().bytes + size > segment_bytes_) {
      uint64_t number = segments_.back().number + 1;
      segments_.emplace_back().number = number;
    }
    Segment& s = segments_.back();
    s.bytes += size;
    s.objects.push_back(object);
    used_ += size;
    counts_.written_bytes += size;
    entries_[object].size = size;
    entries_[object].segment = s.number;
  }
  void reclaim() {
    Segment oldest = std::move(segments_.front());
    segments_.pop_front();
    used_ -= oldest.bytes;
    std::vector<store::disk::CarryOver::Candidate> live;
    std::vector<uint32_t> which;
    for (uint32_t object : oldest.objects) {
      Entry& e = entries_[object];
      if (e.segment != oldest.number) continue;
      live.push_back({e.size, e.uses, clock_ - e.used, memory_ && memory_->holds(object)});
      which.push_back(object);
      e.segment = 0;
    }
    if (options_.policy.empty()) return;
    for (uint32_t i : carry_over_.choose(live, oldest.bytes)) {
      entries_[which[i]].uses /= 2;
      append(which[i], live[i].bytes);
    }
  }

  const LogOptions& options_;
  const uint64_t segment_bytes_;
  const store::disk::CarryOver carry_over_;
  const MemoryCache* memory_;
  Ratios& counts_;
  std::vector<Entry> entries_;
  std::deque<Segment> segments_;
  uint64_t used_ = 0;
  uint32_t clock_ = 0;
};

void count(Ratios& out, const Request& r, bool hit) {
  ++out.requests;
  out.bytes += r.size;
  out.hits += hit;
  out.hit_bytes += hit ? r.size : 0;
}

}  // namespace

Ratios simulate_memory(const Workload& w, const std::string& policy, uint64_t capacity) {
  Ratios out;
  MemoryCache cache(policy, capacity, w.objects);
  if (!cache.valid()) return out;
  for (const Request& r : w.requests) count(out, r, cache.ask(r));
  return out;
}

Ratios simulate_log(const Workload& w, const LogOptions& options) {
  Ratios out;
  MemoryCache memory("adaptive", options.memory, w.objects);
  Log log(options, w.objects, options.memory ? &memory : nullptr, out);
  for (const Request& r : w.requests) {
    bool hit = options.memory && memory.ask(r);
    count(out, r, hit || log.ask(r));
  }
  return out;
}

}  // namespace loligo::bench
