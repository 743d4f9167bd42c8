// Who wants to hear what becomes of objects: a log, in a room above.
//
// Both are asked wants() first, on any thread, and must not wait. They live
// longer than what they observe.
#pragma once
#include <cstdint>
#include <string_view>

#include "store/object.h"

namespace loligo::store {

// Of what leaves memory; on any thread, after the locks are released. Not of an object whose body lives on under a new
// head, and not at the end of the process.
class MemoryObserver {
 public:
  virtual bool wants() const = 0;
  virtual void removed(const Object&) = 0;

 protected:
  ~MemoryObserver() = default;
};

// Of the disk; on one thread for each directory, in the order in which it happened, some moments later.
class DiskObserver {
 public:
  struct Event {
    Key key;
    uint64_t id = 0;                      // as Disk::store() told it
    int directory = -1;                   // the number of its cache_dir line; -1 = it was never there
    uint32_t segment = 0xFFFFFFFF;
    std::string_view head;                // empty: not known any more
    uint64_t length = kUnknownLength;     // of the body
  };
  virtual bool wants() const = 0;
  virtual void stored(const Event&) = 0;      // found from now on
  virtual void given_up(const Event&) = 0;    // the disk did not take it
  virtual void withdrawn(const Event&) = 0;   // removed or replaced before it was written, or its body failed
  virtual void removed(const Event&) = 0;     // removed, replaced, evicted, damaged
  virtual void lost(uint64_t events) = 0;     // more than could be told

 protected:
  ~DiskObserver() = default;
};

}  // namespace loligo::store
