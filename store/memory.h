// The memory cache: objects by key, several variants a key, byte-accurate and
// bounded. Sharded by key; every member function may be called on any thread.
// A hit takes one short, uncontended lock and raises a reference count; no lock
// is held while anything is sent.
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/object.h"
#include "store/observer.h"

namespace loligo::store {

struct MemoryLimits {
  uint64_t capacity = 256 << 20;        // cache_mem, bytes
  uint64_t max_object = 512 << 10;      // maximum_object_size_in_memory, bytes
  std::string policy = "adaptive";       // memory_replacement_policy
};

class Memory {
 public:
  static constexpr unsigned kMaxVariants = 64;   // a key; the oldest goes first
  static constexpr uint64_t kObjectOverhead = 256;   // what an entry costs beside head and body

  Memory(const MemoryLimits&, unsigned workers);
  ~Memory();
  // Before the first object. May be null.
  void set_observer(MemoryObserver* observer) { observer_ = observer; }

  // The newest variant for which matches(object) is true; counts as a use.
  template <class Match> base::Ref<Object> find(const Key& key, Match&& matches) {
    Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    auto it = shard.map.find(key);
    if (it == shard.map.end()) return {};
    for (Object* o = it->second.get(); o; o = o->next_variant_.get())
      if (matches(*o)) {
        shard.policy->used(*o);
        return base::Ref<Object>(o);
      }
    return {};
  }

  // Adds an object (its body may still grow) and removes those variants of its key for which replaces(old) is true.
  // False when it can never fit.
  template <class Replace> bool insert(base::Ref<Object> object, Replace&& replaces) {
    Gone gone(observer_);
    Shard& shard = shard_of(object->key);
    std::lock_guard lock(shard.mutex);
    unlink_if(shard, object->key, gone.list, replaces);
    return link(shard, std::move(object), gone.list);
  }

  // The same, but only in the place of something: what has been removed meanwhile does not come back.
  template <class Replace> bool replace(base::Ref<Object> object, Replace&& replaces) {
    std::vector<base::Ref<Object>> old;
    Gone gone(observer_);
    Shard& shard = shard_of(object->key);
    std::lock_guard lock(shard.mutex);
    unlink_if(shard, object->key, old, replaces);
    return !old.empty() && link(shard, std::move(object), gone.list);
  }

  // Adds an object unless there is one of its key for which same(old) is true: then that is the answer, else null.
  template <class Same> base::Ref<Object> add_unless(base::Ref<Object> object, Same&& same) {
    Gone gone(observer_);
    Shard& shard = shard_of(object->key);
    std::lock_guard lock(shard.mutex);
    if (auto it = shard.map.find(object->key); it != shard.map.end())
      for (Object* o = it->second.get(); o; o = o->next_variant_.get())
        if (same(*o)) return base::Ref<Object>(o);
    link(shard, std::move(object), gone.list);
    return {};
  }

  // Removes the variants for which pred(object) is true.
  template <class Pred> void erase_if(const Key& key, Pred&& pred) {
    Gone gone(observer_);
    Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    unlink_if(shard, key, gone.list, pred);
  }
  // The first variant for which matches(object) is true, under the lock; no use.
  template <class Match> base::Ref<Object> peek(const Key& key, Match&& matches) const {
    const Shard& shard = *shards_[key.high & shard_mask_];
    std::lock_guard lock(shard.mutex);
    auto it = shard.map.find(key);
    if (it == shard.map.end()) return {};
    for (Object* o = it->second.get(); o; o = o->next_variant_.get())
      if (matches(*o)) return base::Ref<Object>(o);
    return {};
  }
  bool has(const Key& key) const {
    const Shard& shard = *shards_[key.high & shard_mask_];
    std::lock_guard lock(shard.mutex);
    return shard.map.contains(key);
  }

  // The body of an object has grown or ended: charge what it holds now to whoever has it (a new head may have taken the
  // object's place meanwhile), and make room.
  void recharge(const Object&);
  // Removes one object if it is (still) indexed.
  bool erase(Object&);
  // Removes all variants of a key; returns how many there were.
  unsigned erase_all(const Key&);
  void clear();

  void set_limits(const MemoryLimits&);
  uint64_t max_object() const { return max_object_.load(std::memory_order_relaxed); }
  struct Totals { uint64_t capacity, bytes, objects, evictions, disk_copies; };
  Totals totals() const;
  // All objects, some at a time: call until it returns false. No lock is held for longer than `most` keys take (32 or
  // more: fewer would lose their place too easily). What changes meanwhile may be missed or listed twice.
  struct Listed { base::Ref<Object> object; uint32_t uses; };   // as the policy counts them
  struct Cursor { size_t shard = 0; std::vector<Key> passed; size_t least_hash = 0; };
  bool list(Cursor&, size_t most, std::vector<Listed>& out) const;
  // The keys of one shard, all of them: what is there before the call and after it is among them.
  size_t shards() const { return shards_.size(); }
  void keys(size_t shard, std::vector<Key>& out) const;
  // Calls f(const Object&) for every object, a shard at a time.
  template <class F> void for_each(F&& f) const {
    for (auto& shard : shards_) {
      std::vector<base::Ref<Object>> some;
      {
        std::lock_guard lock(shard->mutex);
        for (auto& [key, head] : shard->map)
          for (Object* o = head.get(); o; o = o->next_variant_.get()) some.push_back(base::Ref<Object>(o));
      }
      for (auto& o : some) f(*o);
    }
  }

 private:
  // What a call removes: told and destroyed after the lock is released (it stands before the lock).
  struct Gone {
    explicit Gone(MemoryObserver* observer) : observer(observer) {}
    ~Gone() {
      if (list.empty() || !observer || !observer->wants()) return;
      for (auto& o : list) observer->removed(*o);
    }
    MemoryObserver* const observer;
    std::vector<base::Ref<Object>> list;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    boost::unordered_flat_map<Key, base::Ref<Object>, KeyHash> map;
    std::unique_ptr<Policy> policy;
    uint64_t bytes = 0, objects = 0, capacity = 0, evictions = 0, disk_copies = 0;
  };
  Shard& shard_of(const Key& key) { return *shards_[key.high & shard_mask_]; }
  template <class Pred> void unlink_if(Shard& shard, const Key& key, std::vector<base::Ref<Object>>& gone, Pred&& pred) {
    auto it = shard.map.find(key);
    if (it == shard.map.end()) return;
    base::Ref<Object>* link = &it->second;
    while (Object* o = link->get()) {
      if (!pred(*o)) { link = &o->next_variant_; continue; }
      base::Ref<Object> removed = std::move(*link);
      *link = std::move(removed->next_variant_);
      forget(shard, *removed);
      gone.push_back(std::move(removed));
    }
    if (!it->second) shard.map.erase(it);
  }
  bool link(Shard&, base::Ref<Object>, std::vector<base::Ref<Object>>& gone);
  void forget(Shard&, Object&);
  void make_room(Shard&, std::vector<base::Ref<Object>>& gone);
  static uint64_t charge(const Object& o) { return kObjectOverhead + o.head_memory() + o.body->memory(); }

  std::vector<std::unique_ptr<Shard>> shards_;
  uint64_t shard_mask_ = 0;
  std::atomic<uint64_t> max_object_;
  MemoryObserver* observer_ = nullptr;
};

}  // namespace loligo::store
