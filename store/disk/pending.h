// An object on its way to the disk: a reader of its body that no client waits for.
//
// Made by store() on any thread; from ready() on the writer's thread works on it.
// Lives in the writer's list of pending objects until it is written or given up.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "store/disk/file_body.h"

namespace loligo::store::disk {

class Pending;

class PendingOwner {
 public:
  virtual void ready(Pending&) = 0;   // under the body's lock: only notes it
  virtual Budget& queue() = 0;        // of bytes that wait to be written

 protected:
  ~PendingOwner() = default;
};

class Pending final : public base::RefCounted, public Reader {
 public:
  Pending(PendingOwner& owner, const Key& key, Variant variant, uint64_t id, std::string head, base::Ref<Body> body, uint64_t expected, bool keeps_older)
      : Reader(&owner.queue()), key(key), variant(variant), id(id), body(std::move(body)), expected(expected), keeps_older(keeps_older), head(std::move(head)), owner_(owner) {}
  void woken() override { owner_.ready(*this); }

  const Key key;
  const Variant variant;
  const uint64_t id;
  const base::Ref<Body> body;
  const uint64_t expected;
  const bool keeps_older;       // what it replaces stays if its body fails
  std::atomic<bool> cancelled{false};   // erased, or a newer one takes its place
  // A 304 may come while it waits. Both under the lock of the writer's list; once taken the head does not change.
  std::string head;
  bool head_taken = false;

  // The writer's.
  bool queued = false;          // under the queue's lock
  uint64_t charged = 0;         // bytes of the queue
  bool streams = false;         // it is larger than a record, or its body lets its beginning go
  uint64_t taken = 0;           // bytes of the body
  std::unique_ptr<char[]> block;   // of a stream: what becomes the next extent
  uint32_t block_bytes = 0;
  uint64_t disk_bytes = 0;
  std::atomic<uint64_t> written_bytes{0};   // of the body; read by others
  bool ended = false, written = false;
  int64_t waits_until_ms = 0;   // for room
  std::atomic<uint32_t> first_segment{0};
  std::vector<Extent> extents;
  base::Ref<FileBody> history;     // the same, for readers; where memory does not keep the body

 private:
  PendingOwner& owner_;
};

}  // namespace loligo::store::disk
