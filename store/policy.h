// Replacement: which object goes when memory is full. A policy sees keys, sizes
// and uses, and nothing else, so that a trace can drive it without a proxy.
//
// Owner: one shard of the memory cache, under the shard's lock. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

namespace loligo::store {

// What a policy keeps with each object. Embedded in store::Object.
struct PolicyNode {
  PolicyNode *previous = nullptr, *next = nullptr;  // list policies
  uint64_t key_hash = 0;
  uint64_t size = 0;          // bytes charged
  double priority = 0;        // of the heap policies; what the size counts for in the adaptive one
  uint32_t heap_index = 0;    // place in the policy's array
  uint32_t uses = 0;
  uint32_t last_used = 0;     // in requests, of the adaptive policy
  uint8_t frequency = 0;      // saturating at 3 for S3-FIFO
  uint8_t queue = 0;          // which list it is in; 0 = none
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void added(PolicyNode&) = 0;
  virtual void used(PolicyNode&) = 0;
  virtual void removed(PolicyNode&) = 0;
  virtual void resized(PolicyNode&, uint64_t new_size) = 0;
  // The next to go, or null when there is none; the caller then removes it.
  virtual PolicyNode* victim() = 0;
  // The bytes the policy may plan with.
  virtual void set_capacity(uint64_t bytes) = 0;
};

// "adaptive" (default), "s3fifo", "lru", "heap LRU", "heap GDSF", "heap LFUDA"; null for another word.
std::unique_ptr<Policy> make_policy(std::string_view name, uint64_t capacity);

}  // namespace loligo::store
