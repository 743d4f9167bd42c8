// Objects that only the disk will keep, while they arrive: a request that comes
// meanwhile joins them instead of fetching its own.
//
// Shared by all workers; asked only where memory has nothing. Bounded: what finds
// no place is not joined.
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <mutex>

#include "cache/response.h"

namespace loligo::cache {

class Arriving {
 public:
  void add(const base::Ref<Response>&);
  void erase(const store::Key&);
  template <class Pred> void erase_if(Pred&& pred) {
    if (empty()) return;
    std::lock_guard lock(mutex_);
    boost::unordered::erase_if(map_, [&](const auto& one) { return pred(*one.second); });
    count_.store(map_.size(), std::memory_order_release);
  }
  // Null: none, or it has arrived (then the disk has it), or the disk has given it up.
  base::Ref<Response> find(const store::Key&);
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  static constexpr size_t kMost = 1000;
  std::mutex mutex_;
  boost::unordered_flat_map<store::Key, base::Ref<Response>, store::KeyHash> map_;
  std::atomic<size_t> count_{0};
};

}  // namespace loligo::cache
