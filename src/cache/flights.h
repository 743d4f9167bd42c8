// Collapsed forwarding: requests that would fetch what another is fetching wait
// for its head instead (the leader "lands" when the head is there or the fetch
// failed). Then each looks the object up again.
//
// Shared by all workers; sharded locks.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "store/object.h"

namespace loligo::cache {

enum class Landing : unsigned char {
  stored,       // look it up again
  not_stored,   // uncacheable: everyone for himself, at once
  failed,       // one of the waiters should lead
};

// woken on the leader's thread, under a lock: note it and post to the own thread.
class Follower {
 public:
  virtual void landed(Landing) = 0;

 protected:
  ~Follower() = default;
};

class Flights {
 public:
  // True: the caller leads and must land() exactly once. False: it follows and will hear landed() unless it leaves.
  // A null follower does not care to hear.
  bool lead_or_follow(const store::Key& key, Follower* follower);
  void land(const store::Key& key, Landing how);
  void leave(const store::Key& key, Follower* follower);

 private:
  static constexpr unsigned kShards = 16;
  struct alignas(64) Shard {
    std::mutex mutex;
    boost::unordered_flat_map<store::Key, std::vector<Follower*>, store::KeyHash> flights;
  };
  Shard& shard_of(const store::Key& key) { return shards_[key.high % kShards]; }
  Shard shards_[kShards];
};

}  // namespace loligo::cache
