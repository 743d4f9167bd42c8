// The event loop of one worker: epoll, edge-triggered, with timers and posts.
//
// Owner: the worker's thread; everything but post() and stop() is for that
// thread alone. Callbacks run one at a time and may add, remove or destroy
// anything, themselves included. Nothing here blocks but the one epoll_wait.
#pragma once
#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"

namespace loligo::net {

// Gets the events of a descriptor. Edge-triggered: read or write until EAGAIN (or a short count) before waiting again.
class Watcher {
 public:
  virtual void on_event(uint32_t epoll_events) = 0;

 protected:
  ~Watcher() = default;
};

// A deadline in the loop's coarse wheel (about 64 ms a slot up to 4 s, coarser beyond). Intrusive: no allocation to
// arm, and moving a deadline later costs a store. Destroying it disarms it.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { cancel(); }
  bool armed() const { return deadline_ms_ != 0; }
  int64_t deadline_ms() const { return deadline_ms_; }
  void cancel();

 protected:
  virtual void on_timer() = 0;

 private:
  friend class Loop;
  Timer* next_ = nullptr;
  Timer** previous_ = nullptr;   // linked when not null
  int64_t deadline_ms_ = 0;      // steady; 0 = not armed
  int64_t slot_ms_ = 0;
};

// A Timer that calls a function.
class FunctionTimer final : public Timer {
 public:
  std::function<void()> call;

 private:
  void on_timer() override { call(); }
};

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET unless `events` says otherwise. False with errno when the kernel refuses.
  bool add(int fd, Watcher*, uint32_t events = 0);
  void modify(int fd, Watcher*, uint32_t events);
  // Stops events at once, also those already fetched.
  void remove(int fd, Watcher*);
  // The same for a descriptor that is closed next anyway (the kernel then forgets it): saves a system call.
  void forget(Watcher*);

  // Arms or moves `timer` to `delay` from now; it fires once, never early.
  void arm(Timer& timer, base::Milliseconds delay);
  void defer(std::function<void()>);      // runs on this thread after the current events, before the next wait
  void post(std::function<void()>);       // the same, from any thread; wakes the loop
  void hand_over(std::function<void()>);  // defer() on this thread, post() from any other: never at once
  // The object's memory may be read by events of this turn: delete it when the turn is over.
  template <class T> void delete_later(std::unique_ptr<T> object) {
    garbage_.push_back({object.release(), [](void* p) { delete static_cast<T*>(p); }});
  }

  void run();    // until stop()
  void stop();   // any thread

  // Times read once per turn.
  int64_t now_ms() const { return now_ms_; }                        // steady
  int64_t now_us() const { return now_us_; }                        // steady
  base::WallMicroseconds wall_us() const { return wall_us_; }
  base::WallSeconds wall_seconds() const { return wall_us_ / 1'000'000; }

  base::Counters& counters() { return *counters_; }
  const base::Counters& counters() const { return *counters_; }
  bool in_this_thread() const;

 private:
  struct Garbage { void* object; void (*destroy)(void*); };
  void refresh_clocks();
  void fire_timers();
  void link(Timer&, int64_t slot);
  int wait_ms() const;
  void run_posted();

  int epoll_ = -1, wake_ = -1;
  std::unique_ptr<base::Counters> counters_ = std::make_unique<base::Counters>();
  int64_t now_ms_ = 0, now_us_ = 0;
  base::WallMicroseconds wall_us_ = 0;
  std::vector<std::function<void()>> deferred_, running_;
  std::vector<Garbage> garbage_;
  std::vector<epoll_event> events_;
  int event_count_ = 0, event_next_ = 0;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> wake_pending_{false}, stop_{false};
  std::atomic<unsigned long> thread_{0};   // others ask whose loop it is

  // Two wheels: 64 slots of 64 ms, and 256 slots of 4.096 s; later deadlines wait in the last slot and move on.
  static constexpr int kFineSlots = 64, kCoarseSlots = 256;
  static constexpr int64_t kFineMs = 64, kCoarseMs = kFineMs * kFineSlots;
  Timer* fine_[kFineSlots] = {};
  Timer* coarse_[kCoarseSlots] = {};
  int64_t fine_now_ = 0, coarse_now_ = 0;  // slot numbers handled so far
  size_t timers_ = 0;
};

}  // namespace loligo::net
