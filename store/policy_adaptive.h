// The default replacement policy: it evicts what is expected to bring the fewest hits for the room it takes, and learns
// from the requests themselves how many hits that is.
//
// Objects are put into cells by how often they were used and how long they have been idle (both in steps of half an
// octave; time is counted in requests). A hit counts in the cell it finds its object in. An eviction looks at some
// objects picked at random, which also tells how many objects live in each cell; hits divided by inhabitants and time
// is the rate at which an object of the cell is asked for. The one that brings least for each of its bytes goes, where a
// hit counts for 1 + 0.4 * size / mean size: this maximises object hit ratio + 0.4 * byte hit ratio.
//
// So nothing needs to be known about the requests: where popularity stays, frequent use is found to count; where it
// moves, long idleness is found to mean the end; in a scan, objects used once are found to be worth nothing.
// doc/decisions/0005-replacement.md has the measurements.
//
// Owner and thread as for any Policy. A use costs some thirty instructions and moves nothing; an eviction touches 48
// objects. Memory: 8 bytes an object, 8 to 16 more for the memory of evicted ones (at most 8 MiB), and 20 KiB.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include "store/policy.h"

namespace loligo::store {

// How often evicted objects had been used, so that one which comes back need not start from nothing: buckets of eight,
// the oldest in each falls out. Twice as many places as asked for at most, and never more than kMostPlaces.
class UseHistory {
 public:
  static constexpr size_t kMostPlaces = 1 << 20;
  // Makes room for about that many. Only grows.
  void reserve(size_t objects);
  void put(uint64_t key_hash, uint8_t uses);
  // 0 when nothing is known. What was known is forgotten.
  uint8_t take(uint64_t key_hash);
  size_t places() const { return places_.size(); }

 private:
  static constexpr size_t kBucket = 8;
  uint64_t* bucket(uint64_t print) { return &places_[(print & (places_.size() / kBucket - 1)) * kBucket]; }
  void push(uint64_t place);
  std::vector<uint64_t> places_;   // 56 bits of the key's hash, 8 of uses; 0 = empty
};

class Adaptive final : public Policy {
 public:
  void added(PolicyNode&) override;
  void used(PolicyNode& n) override {
    ++clock_;
    ++hits_[cell(n)];
    n.last_used = clock_;
    n.uses += n.uses < kMostUses;
  }
  void removed(PolicyNode&) override;
  void resized(PolicyNode&, uint64_t size) override;
  PolicyNode* victim() override;
  void set_capacity(uint64_t) override {}

 private:
  static constexpr unsigned kUseSteps = 16, kIdleSteps = 64, kCells = kUseSteps * kIdleSteps, kSamples = 48;
  static constexpr uint32_t kMostUses = 255;
  // 2, 3, 4, 6, 8, 12 ... -> 0, 1, 2, 3, 4, 5 ...; at least 2. A float has it at the top: exponent and first bit after.
  static unsigned half_octave(uint32_t x) { return (std::bit_cast<uint32_t>(float(int64_t(x))) >> 22) - 256; }
  unsigned cell(const PolicyNode& n) const { return half_octave(n.uses + 1) * kIdleSteps + half_octave((clock_ - n.last_used) | idle_floor_); }
  double value(const PolicyNode& n, unsigned cell) const { return rate_[cell] * (n.priority + byte_value_); }   // of a byte
  void weigh(PolicyNode&, double by);
  uint64_t random();
  unsigned sample(std::array<PolicyNode*, kSamples>&);
  void learn();

  std::vector<PolicyNode*> nodes_;   // in no order; heap_index is the place
  UseHistory history_;
  uint32_t clock_ = 0;               // requests
  uint32_t idle_floor_ = 3;          // idle for less is the same: too short a time to learn anything about
  uint32_t learned_at_ = 0;
  uint64_t samples_ = 0, learn_at_samples_ = 0;   // at once: with the first eviction
  uint64_t random_state_ = 0x9E3779B97F4A7C15u;   // the same for all: a run can be repeated
  std::array<uint32_t, kCells> hits_{}, seen_{};              // since the last learning
  std::array<float, kCells> old_hits_{}, old_seen_{}, rate_{};   // before it, fading
  double sizes_sum_ = 0, byte_value_ = 0;         // what came in lately, and what a hit's bytes count for
  uint32_t sizes_ = 0;
  double old_samples_ = 0, old_requests_ = 0;
};

}  // namespace loligo::store
