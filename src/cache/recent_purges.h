// What has been purged lately: a fetch that began before a PURGE must not put
// the old page back when it ends after it.
//
// A fetch notes now() when its request goes out; purged_since() then tells
// whether its key was purged meanwhile. Bounded: of purges that have been
// forgotten the answer is yes. Shared by all workers; the common case, no purge
// since, is one load.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "store/object.h"

namespace loligo::cache {

class RecentPurges {
 public:
  static constexpr size_t kKept = 4096;

  uint64_t now() const { return count_.load(std::memory_order_acquire); }

  void note(const store::Key& key) {
    std::lock_guard lock(mutex_);
    keys_.push_back(key);
    if (keys_.size() > kKept) keys_.pop_front();
    count_.fetch_add(1, std::memory_order_release);
  }

  bool purged_since(uint64_t moment, const store::Key& key) const {
    if (now() == moment) return false;
    std::lock_guard lock(mutex_);
    uint64_t since = count_.load(std::memory_order_relaxed) - moment;
    if (since > keys_.size()) return true;
    return std::find(keys_.end() - long(since), keys_.end(), key) != keys_.end();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<store::Key> keys_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace loligo::cache
