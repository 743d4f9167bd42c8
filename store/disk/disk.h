// The disk cache: all cache_dir lines of the configuration as one store.
//
// An object is a head (bytes that the rooms above write and understand) and a
// body. Both are appended to segment files, self-describing and checksummed;
// an index maps keys to places, and can be rebuilt from the segments. After
// kill -9 an object is whole or absent; after damage it is absent, never wrong.
// doc/store-format.md says every byte.
//
// Threads: every member function may be called on any thread, and none waits
// for a disk, except open() and the destructor. What needs the disk is answered
// by a callback on a thread of the store: it must only post to its own thread.
//
// Errors: a failed read is an object that is not there, a failed write one that
// is not stored; both are counted. A directory that fails goes out of service
// with one line in the event log, the others go on.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/body.h"
#include "store/disk/note.h"
#include "store/object.h"

namespace loligo::store {

class DiskObserver;   // store/observer.h

struct DiskDirectoryOptions {
  std::string path;
  uint64_t capacity = 0;                     // bytes, everything in the directory included
  uint64_t min_object = 0;                   // bodies, bytes
  uint64_t max_object = kUnknownLength;
  bool read_only = false;                    // serves, and stores nothing new
  std::string policy = "adaptive";           // who is carried over when a segment is reclaimed
};

struct DiskOptions {
  std::vector<DiskDirectoryOptions> directories;
  bool round_robin = false;                  // store_dir_select_algorithm; else least-load
  unsigned low_percent = 90, high_percent = 95;   // cache_swap_low, cache_swap_high
  int64_t sync_interval_ms = 5000;           // power loss costs at most what was stored within it
  uint64_t queue_bytes = 64 << 20;           // of bodies that wait to be written; beyond it objects are not stored
  unsigned read_threads = 4;                 // for each directory
  // True when the rooms above hold the object in memory: it counts as used when its segment is reclaimed. Any thread.
  std::function<bool(const Key&)> in_memory;
  DiskObserver* observer = nullptr;          // hears what becomes of objects
};

// What tells the variants of a key apart. A new object takes the place of those whose family is another (the fields
// that select changed) and of the one that is the same. A collision costs a hit and never serves a wrong variant.
struct Variant {
  uint16_t family = 0, variant = 0;
};

class Disk {
 public:
  // Creates directories that lack, locks them and begins to load. A line in `failures` for each that cannot be used
  // (another process holds it, no permission, not a directory); what is returned serves the others.
  static std::unique_ptr<Disk> open(DiskOptions, Files&, std::vector<std::string>& failures);
  // Lets pending writes end, within a second or so, and leaves a clean index.
  ~Disk();

  // ---- finding ----
  // False: surely not there. No I/O. True as long as the table is loading and the key not looked for yet.
  bool may_have(const Key&) const;
  // Something of that key is on its way there: may_have() does not know of it yet, but will.
  bool is_writing(const Key&) const;

  struct Found {
    explicit operator bool() const { return body.get() != nullptr; }
    uint64_t id = 0;                         // this version of the object, for rehead() and erase()
    std::string head;
    base::Ref<Body> body;                    // complete: bytes in memory, or a body on file (Body::source())
    bool other_variant = false;              // nothing matched, yet the key is there
  };
  // Judges heads: true for the one that is wanted. May be called on a thread of the store.
  using Match = std::function<bool(std::string_view head)>;
  using Done = std::function<void(Found)>;
  // The newest object of the key whose head matches; counts as a use. Head and first block are checked. Bodies up to
  // `memory_limit` bytes (or 64 KiB) come in memory. True: `now` is the answer (what was needed is in the page cache, or there is
  // nothing). False: `later` will be called, exactly once.
  bool find(const Key&, uint64_t memory_limit, Match, Found& now, Done later);

  // ---- storing ----
  // Takes an object; the body may still grow, and is followed to its end. It is found when it is whole; one that fails,
  // outgrows a limit or comes faster than the disk is given up. `expected`: the body's length if known. The answer is its
  // id, which rehead() and erase() take from now on, also while it is being written. 0: not taken, by limits, or by the
  // queue or a failing disk (`busy`). Not taken or given up, what it would have replaced is removed all the same: it is older
  // than what clients have seen. With `keeps_older` it stays where the body fails: nobody has seen the whole of the new one.
  // The body is followed by a background reader.
  uint64_t store(const Key&, Variant, std::string head, base::Ref<Body>, uint64_t expected, bool keeps_older = false, bool* busy = nullptr);
  // A new head for an object whose body stays (a 304); its id stays too. False when the object has gone.
  bool rehead(const Key&, uint64_t id, std::string head);

  // ---- removing ----
  // All variants, and what is being stored of the key. Nobody finds them from now on; `durable` hears how many there
  // were once they will not come back, whatever happens to the machine; nothing when a directory does not take it within
  // seconds (they are gone for this process, and may be back after the next start).
  using Erased = std::function<void(std::optional<unsigned>)>;
  void erase(const Key&, Erased durable = {});
  // One object.
  void erase(const Key&, uint64_t id);

  // ---- telling ----
  struct DirectoryState {
    std::string path, policy;
    bool loading = false, failed = false, read_only = false;
    uint64_t capacity = 0, used = 0, objects = 0;        // bytes on disk, all files
    unsigned segments = 0, open_files = 0;
  };
  // Since the start; events and bytes.
  struct Counters {
    uint64_t stored = 0, stored_bytes = 0, carried_bytes = 0, written_bytes = 0;   // write amplification: written / stored
    uint64_t not_stored_busy = 0, not_stored_limits = 0, given_up = 0;
    uint64_t finds = 0, found = 0, found_now = 0, reads = 0, read_bytes = 0, pool_reads = 0;
    uint64_t damaged = 0, read_errors = 0, write_errors = 0;
    uint64_t erased = 0, evicted = 0, carried = 0, segments_reclaimed = 0, reheads = 0;
    uint64_t syncs = 0, index_reopened = 0, rebuilt_objects = 0;
  };
  std::vector<DirectoryState> directories() const;
  Counters counters() const;
  uint64_t objects() const;
  // Everything in the table, some at a time: call until it returns false. `cursor` begins at 0. Heads are not read.
  struct Listed {
    Key key;
    uint64_t id = 0, bytes = 0;       // on disk
    unsigned directory = 0;
    uint64_t segment = 0, offset = 0;
    unsigned uses = 0;                // since it was written; at most 15, halved when it is carried
    int64_t idle_seconds = -1;        // since it was found on disk, to some 16 s; -1 = not since the start
  };
  bool list(uint64_t& cursor, unsigned most, std::vector<Listed>& out) const;
  // Where an object is. False: not (yet, or any more) on disk.
  bool where(const Key&, uint64_t id, Listed&) const;
  // Its head and the length of its body, if they are in the page cache; with `wait`, for a thread that may wait for the
  // disk, wherever they are.
  bool head_in_reach(const Listed&, std::string& head, uint64_t& length, bool wait = false) const;
  // What there is of a key, the newest first, for somebody who only looks: it is no use, counts nothing, and drops nothing.
  // `done` hears it once, on a thread of the store, or at once when the table has nothing or too many wait there.
  struct Looked {
    Listed place;
    std::string head;                 // empty: it could not be read
    uint64_t length = 0;              // of the body
  };
  void look(const Key&, std::function<void(std::vector<Looked>)> done) const;
  // What is on its way to the disk.
  struct Writing {
    Key key;
    uint64_t id = 0;
    unsigned directory = 0, readers = 0;
    uint64_t arrived = 0, written = 0;   // bytes of the body
    bool complete = false;               // it has arrived
    std::string head;
  };
  std::vector<Writing> writing() const;
  bool is_writing(const Key&, uint64_t id) const;

  // ---- notes ----
  // What the rooms above keep beside the objects, the same in all directories. One for each directory; reads.
  std::vector<Note> notes() const;
  // Durable when it returns; false: a directory in service did not take it. Waits for the disk; one caller at a time.
  bool keep_note(std::string_view bytes);

 private:
  struct Rooms;
  explicit Disk(std::unique_ptr<Rooms>);
  std::unique_ptr<Rooms> rooms_;
};

}  // namespace loligo::store
