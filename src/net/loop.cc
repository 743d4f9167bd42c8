#include "net/loop.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <ctime>

namespace loligo::net {

namespace {
constexpr int kEventsPerTurn = 512;
constexpr uint32_t kDefaultEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr uint64_t kWakeTag = 0;
}  // namespace

void Timer::cancel() {
  deadline_ms_ = 0;
  if (!previous_) return;
  *previous_ = next_;
  if (next_) next_->previous_ = previous_;
  next_ = nullptr;
  previous_ = nullptr;
}

Loop::Loop() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeTag;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  events_.resize(kEventsPerTurn);
  refresh_clocks();
  fine_now_ = now_ms_ / kFineMs;
  coarse_now_ = now_ms_ / kCoarseMs;
}

Loop::~Loop() {
  for (auto& slot : fine_) while (slot) slot->cancel();
  for (auto& slot : coarse_) while (slot) slot->cancel();
  for (size_t i = 0; i < garbage_.size(); ++i) garbage_[i].destroy(garbage_[i].object);   // may add to it
  ::close(wake_);
  ::close(epoll_);
}

bool Loop::add(int fd, Watcher* watcher, uint32_t events) {
  epoll_event event{};
  event.events = events ? events : kDefaultEvents;
  event.data.ptr = watcher;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Loop::modify(int fd, Watcher* watcher, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = watcher;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::remove(int fd, Watcher* watcher) {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  forget(watcher);
}

void Loop::forget(Watcher* watcher) {
  for (int i = event_next_; i < event_count_; ++i)
    if (events_[i].data.ptr == watcher) events_[i].data.ptr = nullptr, events_[i].events = 0;
}

void Loop::refresh_clocks() {
  timespec steady{}, wall{};
  ::clock_gettime(CLOCK_MONOTONIC, &steady);
  ::clock_gettime(CLOCK_REALTIME, &wall);
  now_us_ = int64_t(steady.tv_sec) * 1'000'000 + steady.tv_nsec / 1000;
  now_ms_ = now_us_ / 1000;
  wall_us_ = int64_t(wall.tv_sec) * 1'000'000 + wall.tv_nsec / 1000;
}

// ---- timers ------------------------------------------------------------------

// A timer waits in the slot after its deadline. Moving a deadline later leaves it
// where it is; when its slot comes it is moved on. So a busy connection pays a
// store per request, not a list operation.
void Loop::arm(Timer& timer, base::Milliseconds delay) {
  int64_t deadline = now_ms_ + (delay.count() > 0 ? delay.count() : 0);
  if (deadline <= 0) deadline = 1;
  bool linked = timer.previous_ != nullptr;
  timer.deadline_ms_ = deadline;
  if (linked && timer.slot_ms_ <= deadline + kFineMs) return;
  if (linked) {
    timer.cancel();
    timer.deadline_ms_ = deadline;
  }
  int64_t slot = deadline / kFineMs + 1;
  if (slot <= fine_now_) slot = fine_now_ + 1;
  link(timer, slot);
}

void Loop::link(Timer& timer, int64_t slot) {
  Timer** head;
  if (slot - fine_now_ < kFineSlots) {
    head = &fine_[slot % kFineSlots];
    timer.slot_ms_ = slot * kFineMs;
  } else {
    int64_t coarse = slot * kFineMs / kCoarseMs;
    if (coarse <= coarse_now_) coarse = coarse_now_ + 1;
    if (coarse - coarse_now_ >= kCoarseSlots) coarse = coarse_now_ + kCoarseSlots - 1;
    head = &coarse_[coarse % kCoarseSlots];
    timer.slot_ms_ = coarse * kCoarseMs;
  }
  timer.next_ = *head;
  timer.previous_ = head;
  if (*head) (*head)->previous_ = &timer.next_;
  *head = &timer;
}

void Loop::fire_timers() {
  const int64_t coarse_until = now_ms_ / kCoarseMs, fine_until = now_ms_ / kFineMs;
  auto take = [this](Timer*& slot) {
    Timer* due = slot;
    slot = nullptr;
    if (due) due->previous_ = &due;
    while (due) {
      Timer* timer = due;
      due = timer->next_;
      if (due) due->previous_ = &due;
      timer->next_ = nullptr;
      timer->previous_ = nullptr;
      if (timer->deadline_ms_ > now_ms_) {
        int64_t next = timer->deadline_ms_ / kFineMs + 1;
        link(*timer, next <= fine_now_ ? fine_now_ + 1 : next);
      } else if (timer->deadline_ms_) {
        timer->deadline_ms_ = 0;
        timer->on_timer();   // may destroy it, or any other timer in the list
      }
    }
  };
  if (fine_until - fine_now_ > kFineSlots) fine_now_ = fine_until - kFineSlots;
  // Fine slots first: what comes out of a coarse one is then placed by the present time, not by that of the last turn
  // (an idle loop sleeps a whole coarse slot, and everything would move on to the next).
  while (fine_now_ < fine_until) { ++fine_now_; take(fine_[fine_now_ % kFineSlots]); }
  while (coarse_now_ < coarse_until) { ++coarse_now_; take(coarse_[coarse_now_ % kCoarseSlots]); }
}

int Loop::wait_ms() const {
  if (!deferred_.empty() || !garbage_.empty()) return 0;
  for (int64_t i = 1; i < kFineSlots; ++i)
    if (fine_[(fine_now_ + i) % kFineSlots]) return int((fine_now_ + i) * kFineMs - now_ms_ > 0 ? (fine_now_ + i) * kFineMs - now_ms_ : 0);
  int64_t next_coarse = (coarse_now_ + 1) * kCoarseMs - now_ms_;
  for (int64_t i = 1; i < kCoarseSlots; ++i)
    if (coarse_[(coarse_now_ + i) % kCoarseSlots]) return int(next_coarse > 0 ? next_coarse : 0);
  return 1000;
}

// ---- turns -------------------------------------------------------------------

void Loop::defer(std::function<void()> call) { deferred_.push_back(std::move(call)); }

void Loop::post(std::function<void()> call) {
  {
    std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(call));
  }
  if (!wake_pending_.exchange(true)) {
    uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(wake_, &one, sizeof one);
  }
}

void Loop::hand_over(std::function<void()> call) {
  if (in_this_thread()) defer(std::move(call));
  else post(std::move(call));
}

void Loop::stop() {
  stop_.store(true);
  post([] {});
}

bool Loop::in_this_thread() const { return thread_.load(std::memory_order_relaxed) == (unsigned long)::pthread_self(); }

void Loop::run_posted() {
  if (wake_pending_.exchange(false)) {
    std::lock_guard lock(posted_mutex_);
    for (auto& call : posted_) deferred_.push_back(std::move(call));
    posted_.clear();
  }
  // What deferred calls defer runs in the next turn, so that no chain of them starves the sockets.
  running_.swap(deferred_);
  for (auto& call : running_) call();
  running_.clear();
  for (size_t i = 0; i < garbage_.size(); ++i) garbage_[i].destroy(garbage_[i].object);
  garbage_.clear();
}

void Loop::run() {
  thread_.store((unsigned long)::pthread_self(), std::memory_order_relaxed);
  while (!stop_.load(std::memory_order_relaxed)) {
    event_next_ = 0;
    event_count_ = ::epoll_wait(epoll_, events_.data(), kEventsPerTurn, wait_ms());
    if (event_count_ < 0) event_count_ = 0;
    refresh_clocks();
    counters_->select_loops.add();
    counters_->select_events.add(uint64_t(event_count_));
    while (event_next_ < event_count_) {
      epoll_event& event = events_[event_next_++];
      if (event.data.u64 == kWakeTag) {
        if (event.events & EPOLLIN) {
          uint64_t drained;
          [[maybe_unused]] auto n = ::read(wake_, &drained, sizeof drained);
        }
        continue;
      }
      static_cast<Watcher*>(event.data.ptr)->on_event(event.events);
    }
    event_count_ = 0;
    fire_timers();
    run_posted();
  }
  stop_.store(false, std::memory_order_relaxed);   // it may run again
}

}  // namespace loligo::net
