// What the threads of one directory share: its options, segments, table, index,
// counters and health.
//
// Owned by Directory; lives longer than the threads. Any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "store/disk/index.h"
#include "store/disk/reporter.h"
#include "store/disk/segment.h"
#include "store/disk/table.h"

namespace loligo::store::disk {

inline int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The counters of the whole disk store, shared by its directories.
class Tally {
 public:
  void add(uint64_t Disk::Counters::* counter, uint64_t n = 1) {
    std::atomic_ref<uint64_t>(counters_.*counter).fetch_add(n, std::memory_order_relaxed);
  }
  Disk::Counters read() const;

 private:
  mutable Disk::Counters counters_;
};

// Whether the directory works. A full disk is waited for; a broken one is taken out of service with one line.
class Health {
 public:
  Health(std::string path, Tally& tally) : path_(std::move(path)), tally_(tally) {}
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  bool may_write() const { return !failed() && now_ms() >= retry_at_ms_.load(std::memory_order_relaxed); }
  bool full() const { return full_.load(std::memory_order_relaxed); }   // the last write found no space
  void wrote();
  void write_error(int error);    // negative errno
  void did_read() { if (read_streak_.load(std::memory_order_relaxed)) read_streak_.store(0, std::memory_order_relaxed); }
  void read_error(int error);
  void fail(const std::string& why);

  static constexpr unsigned kMostErrors = 8;   // one after the other
  static constexpr int64_t kRetryFullMs = 1000, kRetryErrorMs = 100;

 private:
  const std::string path_;
  Tally& tally_;
  std::atomic<bool> failed_{false}, full_{false};
  std::atomic<unsigned> read_streak_{0}, write_streak_{0};
  std::atomic<int64_t> retry_at_ms_{0};
};

struct Core : std::enable_shared_from_this<Core> {
  // What all directories share.
  struct Shared {
    DiskOptions options;
    Tally tally;
  };
  Core(std::shared_ptr<Shared> shared, const DiskDirectoryOptions& options, Files& files, unsigned number);

  const std::shared_ptr<Shared> shared;
  const DiskOptions& all = shared->options;
  const DiskDirectoryOptions& options;
  const unsigned number;   // of the directory
  Files& files;
  Tally& tally = shared->tally;
  Health health;
  Segments segments;
  Table table;
  Reporter reporter;

  // Outside, an id says which directory its object is in.
  static constexpr unsigned kDirectoryShift = 58;
  uint64_t outer_id(uint64_t id) const { return id | uint64_t(number) << kDirectoryShift; }

  std::string index_path() const { return options.path + "/index"; }
  // The index may be closed and opened again: hold what this returns only for one operation. Null: there is none now.
  std::shared_ptr<Index> index() const;
  void set_index(std::shared_ptr<Index>);

  // ---- the start, in this order: opening, ready (the table may be asked, records appended), loaded ----
  enum class Stage : uint8_t { opening, ready, loaded };
  Stage stage() const { return stage_.load(std::memory_order_acquire); }
  bool loading() const { return stage() != Stage::loaded; }
  void set_stage(Stage);
  bool wait_for(Stage);             // false: stopping
  void stop();                      // ends all waits
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  // Where appending goes on; none: in a new segment. Written before `ready`.
  base::Ref<Segment> append_to;
  // Brings what the index knows of the key into the table. Reads; for threads that may wait.
  void load_key(const Key&);
  // The same before the key is changed: from now on the table says all there is of it.
  void take_key(const Key&);
  // The reclaiming thread looks now whether there is room, for so much more.
  void look_for_room(uint64_t wanted = 0);
  bool has_room(uint64_t bytes) const { return used() + bytes + segment_bytes() <= room.load(std::memory_order_relaxed); }
  // Until there is a reason to look; `wanted`: what somebody waits for. False: stopping.
  bool wait_to_look(int64_t most_ms, uint64_t& wanted);
  // A body that is being sent turned out to be damaged: its object goes. Nothing once the directory is closed.
  void found_damaged(const Key&, uint64_t id);
  void on_damage(std::function<void(const Key&, uint64_t)>);

  // The index lists everything: only then may it say how far it goes.
  std::atomic<bool> index_complete{false};

  uint64_t used() const { return segments.bytes() + index_bytes.load(std::memory_order_relaxed); }
  std::atomic<uint64_t> index_bytes{0};
  // What the directory may use: its capacity, or less where the file system has not got so much. Measured by the syncer.
  std::atomic<uint64_t> room;
  // Segments of about this size, so that giving one up is never much of the whole.
  uint64_t segment_bytes() const;
  // On a file system that is full without having said so before: what was used when it turned out to be full. The store lives within this for a while. 0: none.
  std::atomic<uint64_t> full_at{0};
  uint32_t tick() const { return uint32_t(now_ms() / 1000 / Entry::kTickSeconds); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_, room_;
  bool look_ = false;
  uint64_t wanted_ = 0;
  std::mutex damage_mutex_;
  std::function<void(const Key&, uint64_t)> on_damage_;
  std::shared_ptr<Index> index_;
  std::atomic<Stage> stage_{Stage::opening};
  std::atomic<bool> stopping_{false};
};

// A sixty-fourth of usual directories, a sixteenth of small ones (up to 4 MiB); never more than a thousand files.
uint64_t segment_bytes_for(uint64_t capacity);

}  // namespace loligo::store::disk
