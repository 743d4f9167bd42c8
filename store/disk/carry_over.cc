#include "store/disk/carry_over.h"

#include <algorithm>

namespace loligo::store::disk {

namespace {
struct Row { std::string_view word; int order; };
}  // namespace

CarryOver::CarryOver(std::string_view policy, double share) : order_(Order::frequency_by_size), share_(share) {
  // LRU asks when, LFUDA how often, GDSF and our default how often for the bytes it costs.
  static constexpr Row kRows[] = {{"lru", 0}, {"heap LRU", 0}, {"heap LFUDA", 1}, {"heap GDSF", 2}, {"s3fifo", 2}};
  for (const Row& row : kRows)
    if (row.word == policy) order_ = Order(row.order);
}

double CarryOver::preference(const Candidate& c) const {
  double uses = c.uses + (c.in_memory ? 1 : 0);
  switch (order_) {
    case Order::recency: return c.in_memory ? 1 : -double(c.age);
    case Order::frequency: return uses;
    case Order::frequency_by_size: return uses / double(std::max<uint64_t>(c.bytes, 1));
  }
  return 0;
}

std::vector<uint32_t> CarryOver::choose(std::span<const Candidate> candidates, uint64_t segment_bytes) const {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].uses > 0 || candidates[i].in_memory) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return preference(candidates[a]) > preference(candidates[b]); });
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
