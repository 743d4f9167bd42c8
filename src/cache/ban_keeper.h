// Adds bans, keeps them on disk, and ends them: a thread of its own, because it
// waits for the disk. After each ban it looks through all objects, in memory and
// on disk, and removes what the bans say; a hard ban that has seen all and is
// older than any fetch worth waiting for ends, a soft one when no object is left
// that it makes stale.
//
// Any thread may ask. Answers come on the keeper's thread: post to your own.
// Bounded: requests that wait, bans (cache/bans.h).
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cache/arriving.h"
#include "cache/bans.h"
#include "store/disk/disk.h"
#include "store/memory.h"

namespace loligo::cache {

struct BanAnswer {
  enum class Outcome : uint8_t { in_force, not_durable, refused, bad } outcome = Outcome::in_force;
  uint64_t id = 0;             // of the last of them
  uint64_t taken = 0;          // objects, so far
  bool complete = false;       // all objects have been looked at
  std::string error;           // bad: why
};

class BanKeeper {
 public:
  using Done = std::function<void(const BanAnswer&)>;
  static constexpr size_t kMostWaiting = 10'000;

  BanKeeper(Bans&, store::Memory&, Arriving&);
  ~BanKeeper();
  // Before the first lookup: takes what the directories know of bans.
  void use_disk(store::Disk&);
  // False: too many wait. With `count` the answer comes when the objects have been counted, or after two seconds; else as
  // soon as the bans are durable.
  bool add(std::vector<BanRequest>, bool count, Done);
  // In force when this returns, and kept soon after: what origins ask for. How many there was room for.
  unsigned enforce(std::vector<BanRequest>);
  // For tests: how old a ban must be to end, and how long a soft one waits before it is looked at again.
  void set_times(int64_t least_age_us, int64_t again_us);

 private:
  struct Job { std::vector<BanRequest> bans; bool count; Done done; };
  struct Waiting { std::vector<BanRef> bans; BanAnswer answer; int64_t deadline_us; Done done; };
  // One look through everything: a shard of memory after the other, then the disk's table in the same way.
  struct Sweep {
    enum class Where : uint8_t { arriving, memory, disk, over } where = Where::arriving;
    uint64_t target = 0;           // bans up to this one
    bool whole = true;             // the disk's table was
    size_t shard = 0;
    std::vector<store::Key> keys;
    uint64_t cursor = 0;
    std::vector<store::Disk::Listed> listed;
    boost::unordered_flat_map<const Ban*, uint64_t> stale;
    int64_t began_us = 0;
  };
  void begin();
  void run();
  void accept(std::vector<Job>);
  void answer_waiting();
  bool wants_sweep() const;
  void step();
  void step_memory();
  void step_disk();
  void sweep_arriving();
  void finish();
  void end_old();
  bool disk_loading() const;
  bool keep();

  Bans& bans_;
  store::Memory& memory_;
  Arriving& arriving_;
  store::Disk* disk_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool stopping_ = false, running_ = false, enforced_ = false;
  std::atomic<int64_t> least_age_us_{60'000'000}, again_us_{60'000'000};
  // The thread's own.
  std::vector<Waiting> waiting_;
  std::unique_ptr<Sweep> sweep_;
  uint64_t partly_swept_ = 0;      // bans up to this one were tried while the disk's table was loading
  int64_t look_again_us_ = 0;
  bool unkept_ = false;
  std::thread thread_;
};

}  // namespace loligo::cache
