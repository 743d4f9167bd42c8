#include "store/disk/carry_over.h"

#include <algorithm>

namespace loligo::store::disk {

namespace {
struct Row { std::string_view word; int order; };
constexpr double kByteShare = 0.4;   // as in memory (store/policy_adaptive.cc): object hit ratio + 0.4 * byte hit ratio is wanted
}  // namespace

CarryOver::CarryOver(std::string_view policy, double share) : order_(Order::worth), share_(share) {
  // LRU asks when, LFUDA and S3-FIFO how often, GDSF how often for the bytes it costs; our default gives bytes some worth too.
  static constexpr Row kRows[] = {{"lru", 0}, {"heap LRU", 0}, {"heap LFUDA", 1}, {"s3fifo", 1}, {"heap GDSF", 2}, {"adaptive", 3}};
  for (const Row& row : kRows)
    if (row.word == policy) order_ = Order(row.order);
}

double CarryOver::preference(const Candidate& c, double mean_bytes) const {
  double uses = c.uses + (c.in_memory ? 1 : 0);
  switch (order_) {
    case Order::recency: return c.in_memory ? 1 : -double(c.age);
    case Order::frequency: return uses;
    case Order::frequency_by_size: return uses / double(std::max<uint64_t>(c.bytes, 1));
    case Order::worth: return uses * (1 / double(std::max<uint64_t>(c.bytes, 1)) + kByteShare / mean_bytes);
  }
  return 0;
}

std::vector<uint32_t> CarryOver::choose(std::span<const Candidate> candidates, uint64_t segment_bytes) const {
  std::vector<uint32_t> order;
  double bytes = 1;
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    bytes += double(candidates[i].bytes);
    if (candidates[i].uses > 0 || candidates[i].in_memory) order.push_back(i);
  }
  double mean = bytes / double(std::max<size_t>(candidates.size(), 1));
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return preference(candidates[a], mean) > preference(candidates[b], mean); });
  // One that does not fit makes room for smaller ones behind it.
  auto budget = uint64_t(double(segment_bytes) * share_);
  std::vector<uint32_t> chosen;
  for (uint32_t i : order) {
    if (candidates[i].bytes > budget) continue;
    budget -= candidates[i].bytes;
    chosen.push_back(i);
  }
  return chosen;
}

}  // namespace loligo::store::disk
