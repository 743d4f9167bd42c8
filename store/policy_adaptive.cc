#include "store/policy_adaptive.h"

#include <algorithm>
#include <cmath>

namespace loligo::store {

namespace {

// What is wanted is object hit ratio + kByteShare * byte hit ratio: a hit is worth 1 + kByteShare * size / mean size, and
// takes size bytes for it.
constexpr double kByteShare = 0.4;
constexpr uint32_t kMeanOf = 8192;    // objects that came in; then half of their weight goes
constexpr float kFading = 0.97f;      // of what was learned, from one learning to the next
constexpr float kPriorHits = 1;       // what the guess about a cell counts for, beside what was seen there
constexpr uint64_t kAgingMask = 15;   // one eviction in 16 halves the uses of one of the objects it looks at

// The middle of a step of half_octave().
float middle(unsigned step) { return std::ldexp(2.5f + float(step & 1), int(step / 2)); }

}  // namespace

void UseHistory::reserve(size_t objects) {
  size_t want = std::bit_ceil(std::clamp<size_t>(objects, kBucket * 8, kMostPlaces));
  if (want <= places_.size()) return;
  std::vector<uint64_t> old(want);
  old.swap(places_);
  for (size_t i = old.size(); i-- > 0;)   // the older ones of a bucket first
    if (old[i]) push(old[i]);
}

void UseHistory::push(uint64_t place) {
  uint64_t* first = bucket(place >> 8);
  std::copy_backward(first, first + kBucket - 1, first + kBucket);
  *first = place;
}

void UseHistory::put(uint64_t key_hash, uint8_t uses) {
  if (!places_.empty()) push((key_hash & ~uint64_t(0xFF)) | uses);
}

uint8_t UseHistory::take(uint64_t key_hash) {
  if (places_.empty()) return 0;
  uint64_t* first = bucket(key_hash >> 8);
  uint64_t* found = std::find_if(first, first + kBucket, [&](uint64_t place) { return place && place >> 8 == key_hash >> 8; });
  if (found == first + kBucket) return 0;
  auto uses = uint8_t(*found);
  std::copy(found + 1, first + kBucket, found);
  first[kBucket - 1] = 0;
  return uses;
}

uint64_t Adaptive::random() {   // xorshift64
  random_state_ ^= random_state_ << 13;
  random_state_ ^= random_state_ >> 7;
  return random_state_ ^= random_state_ << 17;
}

// `by`: bytes more than were known of. A body that grows adds to the mean what it grows by.
void Adaptive::weigh(PolicyNode& n, double by) {
  n.priority = 1 / (double(n.size) + 1);
  sizes_sum_ += by;
  if (sizes_ > kMeanOf) sizes_sum_ *= 0.5, sizes_ /= 2;
  byte_value_ = kByteShare * sizes_ / std::max(sizes_sum_, 1.0);
}

void Adaptive::added(PolicyNode& n) {
  n.last_used = ++clock_;
  n.uses = std::min<uint32_t>(history_.take(n.key_hash) + 1u, kMostUses);
  ++sizes_;
  weigh(n, double(n.size));
  n.queue = 1;
  n.heap_index = uint32_t(nodes_.size());
  nodes_.push_back(&n);
}

void Adaptive::removed(PolicyNode& n) {
  if (!n.queue) return;
  n.queue = 0;
  history_.reserve(nodes_.size());
  history_.put(n.key_hash, uint8_t(n.uses));
  PolicyNode* last = nodes_.back();
  nodes_[n.heap_index] = last;
  last->heap_index = n.heap_index;
  nodes_.pop_back();
}

void Adaptive::resized(PolicyNode& n, uint64_t size) {
  double by = double(size) - double(n.size);
  n.size = size;
  weigh(n, by);
}

// Eight at a time from six places: neighbours are as random as others (who goes is replaced by the last), and their
// pointers come with one cache line.
unsigned Adaptive::sample(std::array<PolicyNode*, kSamples>& out) {
  if (nodes_.size() <= kSamples) return unsigned(std::copy(nodes_.begin(), nodes_.end(), out.begin()) - out.begin());
  for (unsigned i = 0; i < kSamples;) {
    size_t at = size_t((random() >> 32) * nodes_.size() >> 32);
    for (unsigned end = i + 8; i < end; ++i) {
      __builtin_prefetch(out[i] = nodes_[at]);
      if (++at == nodes_.size()) at = 0;
    }
  }
  return kSamples;
}

PolicyNode* Adaptive::victim() {
  if (nodes_.empty()) return nullptr;
  if (samples_ >= learn_at_samples_) learn();
  std::array<PolicyNode*, kSamples> candidates;
  unsigned count = sample(candidates);
  samples_ += count;
  // The newest is always looked at: large ones that are not worth their room would fill much of it until they are found.
  PolicyNode* least = nodes_.back();
  double least_value = value(*least, cell(*least));
  for (unsigned i = 0; i < count; ++i) {
    PolicyNode* n = candidates[i];
    unsigned c = cell(*n);
    ++seen_[c];
    if (double v = value(*n, c); v < least_value) least = n, least_value = v;
  }
  // Old fame fades.
  if (uint64_t r = random() >> 32; (r & kAgingMask) == 0) {
    PolicyNode* n = candidates[(r >> 8) % count];
    n->uses = (n->uses + 1) / 2;
  }
  return least;
}

void Adaptive::learn() {
  if (samples_ > 0) {   // hits say nothing while nobody counts the inhabitants
    for (unsigned c = 0; c < kCells; ++c) {
      old_hits_[c] = old_hits_[c] * kFading + float(hits_[c]);
      old_seen_[c] = old_seen_[c] * kFading + float(seen_[c]);
    }
    old_samples_ = old_samples_ * kFading + double(samples_);
    old_requests_ = old_requests_ * kFading + double(clock_ - learned_at_);
  }
  // For how much time of one object a sample stands, in requests.
  auto objects = float(nodes_.size() + 1);
  float per_sample = old_samples_ > 0 ? float(objects * old_requests_ / old_samples_) : 0;
  for (unsigned u = 0; u < kUseSteps; ++u)
    for (unsigned i = 0; i < kIdleSteps; ++i) {
      unsigned c = u * kIdleSteps + i;
      // A guess to begin with: as often as in the time since the last use and while two cachefuls were asked for.
      float guess = (middle(u) - 1) / (middle(i) + 2 * objects);
      rate_[c] = (old_hits_[c] + kPriorHits) / (old_seen_[c] * per_sample + kPriorHits / guess);
    }
  idle_floor_ = std::bit_ceil(uint32_t(nodes_.size() / 8 + 3)) - 1;
  hits_.fill(0);
  seen_.fill(0);
  samples_ = 0;
  learned_at_ = clock_;
  learn_at_samples_ = std::max<uint64_t>(4096, 2 * nodes_.size());
}

}  // namespace loligo::store
