#include "store/disk/reporter.h"

#include <utility>

#include "store/disk/pending.h"
#include "store/disk/record_reader.h"

namespace loligo::store::disk {

void Reporter::never_stored(const Pending& p) {
  if (!wanted()) return;
  bool given_up = !p.cancelled && p.body->state() != Body::State::failed;
  push({given_up ? Kind::given_up : Kind::withdrawn, make_entry(p.key, p.variant, p.id, {}, 0, 0, false), p.head, p.body->length(), {}}, false);
}

void Reporter::removed(const Entry& entry, bool may_wait) {
  if (wanted()) push({Kind::removed, entry, {}, kUnknownLength, core_.segments.find(entry.place.segment)}, may_wait);
}

void Reporter::push(Report report, bool may_wait) {
  std::unique_lock lock(mutex_);
  auto full = [this] { return queued_bytes_ >= kMostBytes && !stop_; };
  if (may_wait) room_.wait(lock, [&] { return !full(); });
  if (stop_) return;
  if (full()) {
    ++lost_;
    return;
  }
  bool asleep = queue_.empty();
  queued_bytes_ += report.bytes();
  queue_.push_back(std::move(report));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  lock.unlock();
  if (asleep) wake_.notify_all();
}

void Reporter::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reporter::run() {
  for (;;) {
    std::deque<Report> some;
    uint64_t lost;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      some.swap(queue_);
      lost = std::exchange(lost_, 0);
    }
    if (lost) observer_->lost(lost);
    uint64_t bytes = 0;
    for (Report& report : some) {
      bytes += report.bytes();
      tell(report);
      report.segment.reset();   // its file may be gone: it keeps the space
    }
    std::lock_guard lock(mutex_);
    queued_bytes_ -= bytes;
    room_.notify_all();
  }
}

void Reporter::tell(Report& report) {
  const Entry& entry = report.entry;
  DiskObserver::Event event{entry.key(), core_.outer_id(entry.id())};
  if (report.kind == Kind::stored || report.kind == Kind::removed) {
    event.directory = int(core_.number);
    event.segment = entry.place.segment;
  }
  if (report.kind == Kind::removed && report.segment) {
    RecordReader reader(core_, entry, false, report.segment);
    if (reader.read_head() == RecordReader::Result::fine) {
      report.head = std::move(reader.head());
      report.length = reader.header().length;
    }
  }
  event.head = report.head;
  event.length = report.length;
  switch (report.kind) {
    case Kind::stored: return observer_->stored(event);
    case Kind::given_up: return observer_->given_up(event);
    case Kind::withdrawn: return observer_->withdrawn(event);
    case Kind::removed: return observer_->removed(event);
  }
}

}  // namespace loligo::store::disk
