// What the cache holds of a URL, for somebody who only wants to know: nothing is
// counted, promoted, marked or removed, and nobody waits for it.
//
// Cache::inspect() makes one: memory at once, heads on disk on a thread of the store.
#pragma once
#include <vector>

#include "cache/cache.h"

namespace loligo::cache {

struct Inspected {
  ResponseRef response;            // of what is on disk alone the head: its body is empty
  bool in_memory = false, on_disk = false, writing = false;   // writing: on its way to the disk
  bool complete = true, usable = true;
  uint64_t body_bytes = 0;         // so far, if it is not complete
  bool same_url = true;            // false: another URL with the same key
  bool matches = false;            // what Vary selects by is that of the request
  uint64_t ban = 0;                // the purge that concerns it; 0 = none
  bool banned = false;             // it is gone by that; else stale
  // Its lifetimes as they count now, and what its head says about them.
  http::Lifetimes lifetimes;
  http::LifetimeSource source = http::LifetimeSource::none;
};

struct Inspection {
  std::vector<Inspected> variants;   // in the order in which a lookup asks: memory, then disk; the newest first
  unsigned unread = 0;               // on disk, and their heads cannot be read
  bool loading = false;              // a directory is still reading its index
  // The one that answers; null = none.
  const Inspected* selected() const {
    for (const Inspected& v : variants)
      if (v.matches && v.usable && !v.banned) return &v;
    return nullptr;
  }
};

}  // namespace loligo::cache
