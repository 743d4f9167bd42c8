// The thread that carries the writer's work to safety: what changed goes into the
// index every 100 ms, and to the disk every sync_interval_ms or when somebody
// waits for it. Bytes first, index second.
//
// Any thread may call; callbacks come on the syncer's thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/disk/core.h"

namespace loligo::store::disk {

class Syncer {
 public:
  explicit Syncer(Core& core) : core_(core) {}
  ~Syncer() { stop(); }
  void start();
  void stop();      // writes and syncs all there is

  // These names changed in the table; the index reads there what to say of them. With `to`, everything before that
  // place is in the table. `written`: the segment that has unsynced bytes.
  void changed(std::vector<Index::Name> names, std::optional<Place> to = {}, const base::Ref<Segment>& written = {});
  // Called once all that has been appended so far is on the disk.
  void when_synced(std::function<void()>);
  bool sync_now();     // and waits; not on the syncer's thread
  // The index is written anew from the table.
  void rewrite_index();

 private:
  struct Work {
    std::vector<Index::Name> names;
    std::optional<Place> to;
    std::vector<base::Ref<Segment>> dirty;
    std::vector<std::function<void()>> waiting;
    bool rewrite = false;
  };
  void run();
  void begin_sync(Work&);
  bool sync_segments(Work&);
  void write_index(Work&, bool sync);
  bool write_names(Index&, const std::vector<Index::Name>&, std::optional<Place> to, bool sync, std::string& error);
  bool write_all(Index&, std::optional<Place> to, std::string& error);
  std::shared_ptr<Index> open_index(bool empty, std::string& error);
  void reopen_index(const std::string& why);
  void measure_index();
  void look_for_space();

  static constexpr int64_t kFlushMs = 100, kReopenMs = 1000, kSpaceMs = 200, kFullMs = 30'000;
  static constexpr size_t kFlushNames = 2000, kMostNames = 500'000, kBatchNames = 2000;

  Core& core_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Work next_;
  bool stop_ = false;
  Work kept_;                       // what the index has not taken yet; the thread's own
  int64_t reopen_at_ms_ = 0, full_until_ms_ = 0;
  bool said_small_ = false;
  bool index_failed_ = false;       // and not written since
  uint32_t newest_known_ = 0;       // segment whose directory entry has been synced
  std::thread thread_;
};

}  // namespace loligo::store::disk
