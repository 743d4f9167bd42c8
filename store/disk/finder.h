// Finds objects: at once when the page cache has them, else on a read thread.
//
// Any thread. What turns out to be damaged is dropped, counted and not found.
#pragma once
#include "store/disk/file_body.h"
#include "store/disk/writer.h"

namespace loligo::store::disk {

class Finder {
 public:
  Finder(std::shared_ptr<Core> core, std::shared_ptr<ReadPool> pool, Writer& writer)
      : shared_core_(std::move(core)), pool_(std::move(pool)), core_(*shared_core_), writer_(writer) {}

  // Smaller bodies are read with their head in one go, and checked each time; no file is worth it.
  static constexpr uint64_t kAlwaysInMemory = 64 << 10;
  enum class Answer : uint8_t { done, again };
  bool may_have(const Key& key) const { return (core_.loading() && !core_.table.touched(key)) || core_.table.contains(key); }
  // With no_wait, `again` when it would have to wait. Without: waits for the disk, and for the index to be open.
  Answer find(const Key&, uint64_t memory_limit, const Disk::Match&, bool no_wait, Disk::Found&);

 private:
  enum class Tried : uint8_t { found, mismatch, again, retry, failed };
  Tried attempt(const Entry&, uint64_t memory_limit, const Disk::Match&, bool no_wait, bool alone, Disk::Found&);
  Tried body_on_file(const Entry&, std::vector<Extent>, uint64_t length, bool no_wait, Disk::Found&);
  Tried lost(const Entry&, bool damaged);

  const std::shared_ptr<Core> shared_core_;   // bodies on file keep both
  const std::shared_ptr<ReadPool> pool_;
  Core& core_;
  Writer& writer_;
};

}  // namespace loligo::store::disk
