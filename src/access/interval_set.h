// A set of closed intervals over an unsigned integer: ports, status codes, IPv4
// and IPv6 networks. Overlapping, nested and touching intervals become one, so
// the set is always the union of what was added, and a lookup is one branch-free
// binary search whatever the number of values.
//
// Owner: the ACL that holds it. add() then finish() by one thread; after that
// immutable, any thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace loligo::access {

template <class T>
class IntervalSet {
 public:
  void add(T low, T high) { added_.emplace_back(low, high); }

  void finish() {
    for (size_t i = 0; i < lows_.size(); ++i) added_.emplace_back(lows_[i], highs_[i]);
    std::sort(added_.begin(), added_.end());
    lows_.clear();
    highs_.clear();
    for (auto [low, high] : added_) {
      // high + 1 may wrap; a set that reaches the top swallows everything after.
      if (!lows_.empty() && (highs_.back() == T(-1) || low <= T(highs_.back() + 1)))
        highs_.back() = std::max(highs_.back(), high);
      else
        lows_.push_back(low), highs_.push_back(high);
    }
    added_.clear();
    added_.shrink_to_fit();
  }

  bool contains(T value) const {
    size_t left = lows_.size();
    if (left == 0) return false;
    const T* base = lows_.data();
    while (left > 1) {  // the last low <= value, if there is one
      size_t half = left / 2;
      base = base[half] <= value ? base + half : base;
      left -= half;
    }
    return *base <= value && value <= highs_[size_t(base - lows_.data())];
  }

  bool empty() const { return lows_.empty() && added_.empty(); }
  // Every value of T is in. Only after finish().
  bool everything() const { return lows_.size() == 1 && lows_[0] == T(0) && highs_[0] == T(-1); }
  size_t size() const { return lows_.size(); }

 private:
  std::vector<std::pair<T, T>> added_;  // not yet merged
  std::vector<T> lows_, highs_;         // disjoint, ascending
};

}  // namespace loligo::access
