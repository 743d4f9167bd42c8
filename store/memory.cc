#include "store/memory.h"

#include <algorithm>
#include <bit>

namespace loligo::store {

namespace {

// One shard a worker's worth of contention, but never so many that a shard could not hold a few of the largest objects.
unsigned shards_for(const MemoryLimits& limits, unsigned workers) {
  if (workers <= 1) return 1;
  uint64_t most = limits.capacity / std::max<uint64_t>(8 * limits.max_object, 1);
  return unsigned(std::bit_floor(std::clamp<uint64_t>(most, 1, std::min(64u, workers * 8))));
}

}  // namespace

Memory::Memory(const MemoryLimits& limits, unsigned workers) : max_object_(limits.max_object) {
  unsigned count = shards_for(limits, workers);
  shard_mask_ = count - 1;
  for (unsigned i = 0; i < count; ++i) {
    auto shard = std::make_unique<Shard>();
    shard->capacity = limits.capacity / count;
    shard->policy = make_policy(limits.policy, shard->capacity);
    if (!shard->policy) shard->policy = make_policy({}, shard->capacity);
    shards_.push_back(std::move(shard));
  }
}

Memory::~Memory() { clear(); }

void Memory::forget(Shard& shard, Object& object) {
  shard.policy->removed(object);
  shard.bytes -= object.size;
  --shard.objects;
  shard.disk_copies -= object.has_disk_copy();
  object.indexed_ = false;
}

bool Memory::link(Shard& shard, base::Ref<Object> object, std::vector<base::Ref<Object>>& gone) {
  uint64_t size = charge(*object);
  if (size > shard.capacity) return false;
  object->size = size;
  object->key_hash = object->key.low;
  object->indexed_ = true;
  shard.bytes += size;
  ++shard.objects;
  shard.disk_copies += object->has_disk_copy();
  auto& head = shard.map[object->key];
  object->next_variant_ = std::move(head);
  head = object;
  shard.policy->added(*object);
  unsigned variants = 0;
  for (Object* o = object.get(); o; o = o->next_variant_.get())
    if (++variants > kMaxVariants) {
      Object* oldest = o;
      unlink_if(shard, object->key, gone, [oldest](const Object& x) { return &x == oldest; });
      break;
    }
  make_room(shard, gone);
  return true;
}

void Memory::make_room(Shard& shard, std::vector<base::Ref<Object>>& gone) {
  while (shard.bytes > shard.capacity) {
    PolicyNode* node = shard.policy->victim();
    if (!node) return;
    auto* victim = static_cast<Object*>(node);
    unlink_if(shard, victim->key, gone, [victim](const Object& o) { return &o == victim; });
    ++shard.evictions;
  }
}

void Memory::recharge(const Object& object) {
  Gone gone(observer_);
  Shard& shard = shard_of(object.key);
  std::lock_guard lock(shard.mutex);
  auto it = shard.map.find(object.key);
  if (it == shard.map.end()) return;
  for (Object* o = it->second.get(); o; o = o->next_variant_.get()) {
    if (o->body != object.body) continue;
    uint64_t size = charge(*o);
    shard.bytes += size - o->size;
    shard.policy->resized(*o, size);
    o->size = size;
  }
  make_room(shard, gone.list);
}

bool Memory::erase(Object& object) {
  Gone gone(observer_);
  Shard& shard = shard_of(object.key);
  std::lock_guard lock(shard.mutex);
  if (!object.indexed_) return false;
  unlink_if(shard, object.key, gone.list, [&](const Object& o) { return &o == &object; });
  return !gone.list.empty();
}

unsigned Memory::erase_all(const Key& key) {
  Gone gone(observer_);
  Shard& shard = shard_of(key);
  std::lock_guard lock(shard.mutex);
  unlink_if(shard, key, gone.list, [](const Object&) { return true; });
  return unsigned(gone.list.size());
}

void Memory::clear() {
  for (auto& shard : shards_) {
    std::vector<base::Ref<Object>> gone;
    std::lock_guard lock(shard->mutex);
    while (!shard->map.empty()) {
      Key key = shard->map.begin()->first;
      unlink_if(*shard, key, gone, [](const Object&) { return true; });
    }
  }
}

void Memory::set_limits(const MemoryLimits& limits) {
  max_object_.store(limits.max_object, std::memory_order_relaxed);
  for (auto& shard : shards_) {
    Gone gone(observer_);
    std::lock_guard lock(shard->mutex);
    shard->capacity = limits.capacity / shards_.size();
    shard->policy->set_capacity(shard->capacity);
    make_room(*shard, gone.list);
  }
}

// Goes on behind the last of the keys listed before that is still there. When none is, the map's order helps: it follows
// the high bits of the hash, nearly, also when it has grown meanwhile. What they all were above does not come back.
bool Memory::list(Cursor& cursor, size_t most, std::vector<Listed>& out) const {
  while (cursor.shard < shards_.size()) {
    const Shard& shard = *shards_[cursor.shard];
    std::lock_guard lock(shard.mutex);
    auto it = shard.map.begin();
    if (!cursor.passed.empty()) {
      it = shard.map.end();
      for (auto key = cursor.passed.rbegin(); key != cursor.passed.rend() && it == shard.map.end(); ++key) it = shard.map.find(*key);
      if (it != shard.map.end()) ++it;
      else it = std::find_if(shard.map.begin(), shard.map.end(), [&](auto& e) { return KeyHash()(e.first) > cursor.least_hash; });
    }
    cursor.passed.clear();
    for (; it != shard.map.end() && cursor.passed.size() < most; ++it) {
      cursor.passed.push_back(it->first);
      for (Object* o = it->second.get(); o; o = o->next_variant_.get())
        out.push_back({base::Ref<Object>(o), std::max<uint32_t>(o->uses, o->frequency)});
    }
    if (!cursor.passed.empty()) {
      auto least = std::min_element(cursor.passed.begin(), cursor.passed.end(), [](auto& a, auto& b) { return KeyHash()(a) < KeyHash()(b); });
      cursor.least_hash = std::max(cursor.least_hash, KeyHash()(*least));
      return true;
    }
    ++cursor.shard;
    cursor.least_hash = 0;
  }
  return false;
}

void Memory::keys(size_t n, std::vector<Key>& out) const {
  const Shard& shard = *shards_[n];
  std::lock_guard lock(shard.mutex);
  out.reserve(out.size() + shard.map.size());
  for (auto& [key, object] : shard.map) out.push_back(key);
}

Memory::Totals Memory::totals() const {
  Totals t{};
  for (auto& shard : shards_) {
    std::lock_guard lock(shard->mutex);
    t.capacity += shard->capacity;
    t.bytes += shard->bytes;
    t.objects += shard->objects;
    t.disk_copies += shard->disk_copies;
    t.evictions += shard->evictions;
  }
  return t;
}

}  // namespace loligo::store
