// A stored object: a key, a body, and whatever the room above derives from this
// (the store knows nothing of HTTP). Immutable once inserted but for its body's
// growth; a new head makes a new Object over the same Body.
//
// Shared by reference count; any thread.
#pragma once
#include <cstdint>

#include "base/ref.h"
#include "store/body.h"
#include "store/policy.h"

namespace loligo::store {

struct Key {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  using is_avalanching = void;   // XXH3 keys are well mixed already
  size_t operator()(const Key& k) const { return k.low; }
};

class Object : public base::RefCounted, private PolicyNode {
 public:
  Object(Key key, base::Ref<Body> body) : key(key), body(std::move(body)) {}
  virtual ~Object() = default;
  // Bytes of memory beside the body.
  virtual uint64_t head_memory() const = 0;
  // Was it given to the disk as well? Does not change once it is inserted.
  virtual bool has_disk_copy() const { return false; }
  // May another request use it now? Not if its body failed, or lets its beginning go (it outgrew memory).
  bool usable() const { return body->state() != Body::State::failed && body->retained(); }

  const Key key;
  const base::Ref<Body> body;

 private:
  friend class Memory;
  // Guarded by the shard's lock, as is the PolicyNode.
  base::Ref<Object> next_variant_;
  bool indexed_ = false;
};

}  // namespace loligo::store
