#include "log/writer.h"

#include <signal.h>

#include <algorithm>

#include "base/event_log.h"

namespace loligo::log {
namespace {

using namespace std::chrono_literals;

constexpr size_t kSpareBlocks = 16;
constexpr size_t kLargestSpare = 256 * 1024;
constexpr size_t kGatherBytes = 64 * 1024;
constexpr auto kReadinessPoll = 20ms;  // how often a full pipe or socket is tried again

uint32_t lines_in(std::string_view bytes) { return uint32_t(std::count(bytes.begin(), bytes.end(), '\n')); }

}  // namespace

Destination::Destination(Target target, const DestinationOptions& options)
    : target_(std::move(target)), options_(options), sink_(make_sink(target_, options.sink)) {}

Writer::Writer(WriterLimits limits) : limits_(limits) {}

void Writer::start() {
  if (thread_.joinable()) return;
  // Signals are main's business; and a pipe that closes shall be an error here, not the end of the process.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Writer::stop(std::chrono::milliseconds patience) {
  if (thread_.joinable()) {
    drain(patience);
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    stopping_ = false;
  }
  // Never started, or something came late: one try here.
  std::unique_lock lock(mutex_);
  if (pending_ > 0) work(lock);
  for (const DestinationPtr& d : destinations_) drop_all(*d);
}

DestinationPtr Writer::open(const Target& target, const DestinationOptions& options, std::string& why) {
  std::unique_lock lock(mutex_);
  for (const DestinationPtr& known : destinations_)
    if (known->target_.place == target.place && known->target_.kind == target.kind) {
      known->options_.rotate = options.rotate;
      known->options_.on_error = options.on_error;
      return known;
    }
  lock.unlock();
  auto fresh = std::make_shared<Destination>(target, options);
  fresh->sink_->open(why);
  lock.lock();
  destinations_.push_back(fresh);
  return fresh;
}

bool Writer::submit(const DestinationPtr& destination, Block& block) {
  if (block.bytes.empty()) return true;
  bool taken;
  {
    std::lock_guard lock(mutex_);
    taken = destination->queued_bytes_ + block.bytes.size() <= limits_.queue_bytes;
    if (taken) {
      destination->queued_bytes_ += block.bytes.size();
      destination->queue_.push_back(std::move(block));
      block.bytes = Buffer();
      if (!spares_.empty()) {
        block.bytes.swap(spares_.back());
        spares_.pop_back();
      }
      ++pending_;
      signalled_ = true;
    } else {
      count_dropped(*destination, block.lines);
    }
  }
  block.bytes.clear();
  block.lines = 0;
  if (taken) wake_.notify_one();
  return taken;
}

void Writer::append(const DestinationPtr& destination, std::string_view line) {
  {
    std::lock_guard lock(mutex_);
    Destination& d = *destination;
    if (d.queued_bytes_ + line.size() >= limits_.queue_bytes) return count_dropped(d, 1);
    d.queued_bytes_ += line.size() + 1;
    if (d.gathering_.bytes.empty()) ++pending_;
    d.gathering_.bytes.append(line);
    d.gathering_.bytes.push('\n');
    ++d.gathering_.lines;
    if (d.gathering_.bytes.size() >= kGatherBytes) {
      d.queue_.push_back(std::move(d.gathering_));
      d.gathering_ = Block();
    }
    signalled_ = true;
  }
  wake_.notify_one();
}

void Writer::rotate(int keep) {
  {
    std::lock_guard lock(mutex_);
    for (const DestinationPtr& d : destinations_) {
      if (!d->gathering_.bytes.empty()) {
        d->queue_.push_back(std::move(d->gathering_));
        d->gathering_ = Block();
      }
      Block order;
      order.rotate = d->options_.rotate >= 0 ? d->options_.rotate : keep;
      d->queue_.push_back(std::move(order));
      ++pending_;
    }
    signalled_ = true;
  }
  wake_.notify_one();
}

bool Writer::drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return drained_.wait_for(lock, patience, [this] { return pending_ == 0; });
}

void Writer::count_dropped(const Destination& destination, uint64_t lines) {
  using enum DestinationOptions::Counts;
  if (destination.options_.counts == access) counters_.lines_dropped.fetch_add(lines, std::memory_order_relaxed);
  if (destination.options_.counts == store) counters_.store_lines_dropped.fetch_add(lines, std::memory_order_relaxed);
  if (destination.options_.on_error == OnError::end && lines > 0) note_fatal(destination.target_.place + ": lines were lost");
}

void Writer::note_fatal(const std::string& why) {
  std::lock_guard lock(fatal_mutex_);
  if (!has_fatal_.exchange(true)) fatal_ = why;
}

std::string Writer::fatal() const {
  if (!has_fatal_.load(std::memory_order_relaxed)) return {};
  std::lock_guard lock(fatal_mutex_);
  return fatal_;
}

void Writer::recycle(Buffer&& buffer) {
  if (spares_.size() >= kSpareBlocks || buffer.capacity() > kLargestSpare) return;
  buffer.clear();
  spares_.push_back(std::move(buffer));
}

void Writer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    signalled_ = false;
    bool waiting = work(lock);
    if (pending_ == 0) drained_.notify_all();
    if (signalled_ || stopping_) continue;
    auto ready = [this] { return signalled_ || stopping_; };
    if (waiting) wake_.wait_for(lock, kReadinessPoll, ready);
    else wake_.wait(lock, ready);
  }
}

// One turn over all destinations, without the lock. True when some have to be tried again soon.
bool Writer::work(std::unique_lock<std::mutex>& lock) {
  forget_unused();
  std::vector<DestinationPtr> round = destinations_;
  lock.unlock();
  bool waiting = false;
  for (const DestinationPtr& d : round) {
    if (d->failing_ && Clock::now() < d->retry_at_) waiting = true;
    else if (drive(*d) != Step::idle) waiting = true;
  }
  round.clear();
  lock.lock();
  return waiting;
}

// A destination that no configuration and no worker knows any more closes when its queue is empty.
void Writer::forget_unused() {
  std::erase_if(destinations_, [](const DestinationPtr& d) {
    return d.use_count() == 1 && !d->has_current_ && d->queue_.empty() && d->gathering_.bytes.empty();
  });
}

Writer::Step Writer::drive(Destination& d) {
  while (!stopping_ && (d.has_current_ || take_next(d))) {
    if (d.current_.rotate >= 0) {
      d.sink_->rotate(d.current_.rotate);
      counters_.rotations.fetch_add(1, std::memory_order_relaxed);
      finish_current(d);
      continue;
    }
    if (Step step = write_current(d); step != Step::idle) return step;
  }
  return Step::idle;
}

bool Writer::take_next(Destination& d) {
  std::lock_guard lock(mutex_);
  if (!d.queue_.empty()) {
    d.current_ = std::move(d.queue_.front());
    d.queue_.pop_front();
  } else if (!d.gathering_.bytes.empty()) {
    d.current_ = std::move(d.gathering_);
    d.gathering_ = Block();
  } else {
    return false;
  }
  d.offset_ = 0;
  d.has_current_ = true;
  return true;
}

Writer::Step Writer::write_current(Destination& d) {
  std::string why;
  if (!d.sink_->is_open() && !d.sink_->open(why)) return fail(d, why);
  std::string_view rest = d.current_.bytes.view().substr(d.offset_);
  Taken taken = d.sink_->write(rest, why);
  d.offset_ += taken.bytes;
  if (taken.lost_lines) {
    std::lock_guard lock(mutex_);
    count_dropped(d, taken.lost_lines);
    d.current_.lines -= std::min(d.current_.lines, taken.lost_lines);
  }
  if (taken.failed) {
    // What was cut within a line is sent again from that line's start.
    size_t line_end = d.offset_ ? d.current_.bytes.view().rfind('\n', d.offset_ - 1) : std::string_view::npos;
    d.offset_ = line_end == std::string_view::npos ? 0 : line_end + 1;
    return fail(d, why);
  }
  if (d.offset_ < d.current_.bytes.size()) return Step::waiting;
  if (d.failing_) {
    d.failing_ = false;
    base::log_event(base::Section::log, 1, "Logging to {} goes on", d.target_.place);
  }
  finish_current(d);
  return Step::idle;
}

void Writer::finish_current(Destination& d) {
  using enum DestinationOptions::Counts;
  if (d.options_.counts == access) counters_.lines_written.fetch_add(d.current_.lines, std::memory_order_relaxed);   // an order has none
  if (d.options_.counts == store) counters_.store_lines_written.fetch_add(d.current_.lines, std::memory_order_relaxed);
  counters_.bytes_written.fetch_add(d.current_.bytes.size(), std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  d.queued_bytes_ -= d.current_.bytes.size();
  d.has_current_ = false;
  d.offset_ = 0;
  recycle(std::move(d.current_.bytes));
  d.current_ = Block();
  --pending_;
}

Writer::Step Writer::fail(Destination& d, const std::string& why) {
  counters_.failures.fetch_add(1, std::memory_order_relaxed);
  bool first = !d.failing_;
  d.back_off_ = first ? limits_.shortest_back_off : std::min(d.back_off_ * 2, limits_.longest_back_off);
  d.failing_ = true;
  d.retry_at_ = Clock::now() + d.back_off_;
  bool fatal;
  {
    std::lock_guard lock(mutex_);
    fatal = d.options_.on_error != OnError::go_on && d.target_.kind == Target::Kind::file;
  }
  if (fatal) note_fatal(why);
  if (first) base::log_event(base::Section::log, 0, "Cannot log to {}{}", why, fatal ? "" : "; lines are dropped when too many wait");
  return Step::failed;
}

// Under the lock, when the thread has ended.
void Writer::drop_all(Destination& d) {
  if (d.has_current_) d.queue_.push_front(std::move(d.current_));
  d.has_current_ = false;
  if (!d.gathering_.bytes.empty()) d.queue_.push_back(std::move(d.gathering_));
  d.gathering_ = Block();
  for (const Block& block : d.queue_) {
    uint32_t lines = lines_in(block.bytes.view().substr(&block == &d.queue_.front() ? d.offset_ : 0));
    count_dropped(d, lines);
    --pending_;
  }
  d.queue_.clear();
  d.queued_bytes_ = d.offset_ = 0;
}

}  // namespace loligo::log
