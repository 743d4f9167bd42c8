#include "store/disk/syncer.h"

#include <algorithm>
#include <utility>

#include "base/event_log.h"

namespace loligo::store::disk {

void Syncer::start() { thread_ = std::thread([this] { run(); }); }

void Syncer::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Syncer::changed(std::vector<Index::Name> names, std::optional<Place> to, const base::Ref<Segment>& written) {
  std::lock_guard lock(mutex_);
  bool was_small = next_.names.size() < kFlushNames;
  if (next_.names.empty()) next_.names = std::move(names);
  else next_.names.insert(next_.names.end(), names.begin(), names.end());
  if (next_.names.size() > kMostNames) {   // the index does not keep up: it is written as a whole later
    next_.rewrite = true;
    next_.names.clear();
  }
  if (to && (!next_.to || *to > *next_.to)) next_.to = to;
  if (written && (next_.dirty.empty() || next_.dirty.back() != written)) next_.dirty.push_back(written);
  if (was_small && next_.names.size() >= kFlushNames) wake_.notify_all();
}

void Syncer::when_synced(std::function<void()> done) {
  std::lock_guard lock(mutex_);
  next_.waiting.push_back(std::move(done));
  wake_.notify_all();
}

bool Syncer::sync_now() {
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  when_synced([&] {
    std::lock_guard lock(mutex);
    done = true;
    wake.notify_all();
  });
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return done; });
  return !core_.health.failed();
}

void Syncer::rewrite_index() {
  std::lock_guard lock(mutex_);
  next_.rewrite = true;
  wake_.notify_all();
}

// The rhythm: sleep until there is a reason, take all there is, bytes first, then those who wait, then the index.
void Syncer::run() {
  int64_t next_sync = now_ms() + core_.all.sync_interval_ms, next_space = 0;
  for (bool last = false; !last;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::milliseconds(std::min<int64_t>(kFlushMs, core_.all.sync_interval_ms)),
                     [&] { return stop_ || !next_.waiting.empty() || next_.rewrite || next_.names.size() >= kFlushNames; });
      last = stop_;
      std::swap(work, next_);
    }
    bool due = last || now_ms() >= next_sync;
    for (auto& segment : work.dirty)
      if (std::find(kept_.dirty.begin(), kept_.dirty.end(), segment) == kept_.dirty.end()) kept_.dirty.push_back(segment);
    work.dirty.clear();
    std::erase_if(kept_.dirty, [](const auto& segment) { return segment->removed.load(std::memory_order_relaxed); });
    if (!work.waiting.empty() || due) sync_segments(kept_);
    else begin_sync(kept_);
    for (auto& done : work.waiting) done();
    if (kept_.names.empty()) kept_.names = std::move(work.names);
    else kept_.names.insert(kept_.names.end(), work.names.begin(), work.names.end());
    if (work.to && (!kept_.to || *work.to > *kept_.to)) kept_.to = work.to;
    kept_.rewrite |= work.rewrite;
    write_index(kept_, due);
    if (due) {
      next_sync = now_ms() + core_.all.sync_interval_ms;
    }
    if (now_ms() >= next_space) {
      next_space = now_ms() + kSpaceMs;
      measure_index();
      look_for_space();
    }
  }
  core_.set_index(nullptr);
}

// What is written goes on its way at once. Were all of it left to the next sync, writing would stand still for as long as
// that takes, seconds on a busy disk: large bodies would be given up, and a kill would cost what waits to be written.
void Syncer::begin_sync(Work& work) {
  for (auto& segment : work.dirty) {
    uint64_t from = std::exchange(segment->sync_begun, segment->end());
    if (segment->sync_begun > from) segment->file->begin_sync(from, segment->sync_begun - from);
  }
}

bool Syncer::sync_segments(Work& work) {
  if (work.dirty.empty() || core_.health.failed()) return true;
  bool fine = true;
  for (auto& segment : work.dirty) {
    if (segment->number > newest_known_) {
      int error = core_.files.sync_directory(core_.options.path);
      if (error) core_.health.write_error(error), fine = false;
      else newest_known_ = segment->number;
    }
    if (int error = segment->file->sync()) core_.health.write_error(error), fine = false;
  }
  core_.tally.add(&Disk::Counters::syncs);
  if (fine) work.dirty.clear();
  return fine;
}

// ---- the index -----------------------------------------------------------------

void Syncer::write_index(Work& work, bool sync) {
  bool nothing = work.names.empty() && !work.to && !work.rewrite;
  bool later = core_.stage() == Core::Stage::opening || (core_.loading() && !core_.index_complete);   // while it is rebuilt
  if (nothing || later) return;
  if (work.names.size() > kMostNames) {
    work.rewrite = true;
    work.names.clear();
  }
  std::string error = "closed";
  std::shared_ptr<Index> index = core_.index();
  bool fine = false;
  // Not over what it holds: that may name objects which have gone.
  if (work.rewrite) index.reset(), index = open_index(true, error);
  if (index) fine = work.rewrite ? write_all(*index, work.to, error) : write_names(*index, work.names, work.to, sync, error);
  if (fine) {
    work.names.clear();
    work.to.reset();
    work.rewrite = false;
    index_failed_ = false;
    return;
  }
  if (now_ms() < reopen_at_ms_ || core_.health.failed()) return;
  index.reset();
  reopen_index(error);
}

bool Syncer::write_names(Index& index, const std::vector<Index::Name>& names, std::optional<Place> to, bool sync, std::string& error) {
  if (!core_.index_complete) to.reset();
  for (size_t at = 0; at == 0 || at < names.size(); at += kBatchNames) {
    Index::Batch batch;
    size_t end = std::min(names.size(), at + kBatchNames);
    for (size_t i = at; i < end; ++i) {
      if (auto entry = core_.table.find(names[i].key, names[i].variant)) batch.put(*entry);
      else batch.erase(names[i]);
    }
    bool last = end == names.size();
    if (!index.write(batch, last ? to : std::nullopt, sync && last, error)) return false;
  }
  return true;
}

// Into an index that is empty, or lists less than there is.
bool Syncer::write_all(Index& index, std::optional<Place> to, std::string& error) {
  std::vector<Entry> some;
  for (unsigned shard = 0; shard < Table::kShards; ++shard) {
    some.clear();
    core_.table.copy_from(shard, 0, SIZE_MAX, some);
    for (size_t at = 0; at < some.size(); at += kBatchNames) {
      Index::Batch batch;
      for (size_t i = at; i < std::min(some.size(), at + kBatchNames); ++i) batch.put(some[i]);
      if (!index.write(batch, {}, false, error)) return false;
    }
  }
  core_.index_complete = true;
  Index::Batch end;
  return index.write(end, to, true, error);
}

// Closes the index and opens it, or an empty one. Null when it cannot be had now.
std::shared_ptr<Index> Syncer::open_index(bool empty, std::string& error) {
  std::weak_ptr<Index> old = core_.index();
  core_.set_index(nullptr);
  for (int i = 0; i < 200 && !old.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (std::shared_ptr<Index> busy = old.lock()) {
    core_.set_index(busy);
    error = "busy";
    return nullptr;
  }
  if (empty) Index::discard(core_.files, core_.index_path());
  std::shared_ptr<Index> index = Index::open(core_.files, core_.index_path(), core_.options.capacity, error);
  core_.set_index(index);
  return index;
}

// LevelDB's errors are sticky. What it holds may lack what failed; that is written again.
void Syncer::reopen_index(const std::string& why) {
  core_.tally.add(&Disk::Counters::index_reopened);
  reopen_at_ms_ = now_ms() + kReopenMs;
  std::string error;
  std::shared_ptr<Index> index = open_index(false, error);
  if (!index || !index->indexed_to()) kept_.rewrite = true;
  if (std::exchange(index_failed_, true)) return;   // said already
  base::log_event(base::Section::storage, 1, "cache_dir {}: index: {}; {}", core_.options.path, why, index ? "opened again" : error);
}

// The file system may have less than the directory's line says, now or later. Where it does not tell (quotas), writes do:
// then the store shrinks by a segment to have something to write into, and stays there for as long as
// writes find no space.
void Syncer::look_for_space() {
  const uint64_t capacity = core_.options.capacity;
  int64_t free = core_.files.free_space(core_.options.path);
  uint64_t room = free < 0 ? capacity : std::min(capacity, core_.used() + uint64_t(free));
  core_.room.store(room, std::memory_order_relaxed);
  if (room < capacity && !std::exchange(said_small_, true))
    base::log_event(base::Section::storage, 1, "cache_dir {}: its file system has room for {} of {} MB", core_.options.path, room >> 20, capacity >> 20);
  if (core_.health.full()) {
    uint64_t used = core_.used(), step = core_.segments.segment_bytes();
    if (!core_.full_at.load(std::memory_order_relaxed)) core_.full_at.store(used > step ? used - step : 1, std::memory_order_relaxed);
    full_until_ms_ = now_ms() + kFullMs;
  } else if (now_ms() >= full_until_ms_) {
    core_.full_at.store(0, std::memory_order_relaxed);
  }
}

void Syncer::measure_index() {
  std::vector<std::string> names;
  if (core_.files.list(core_.index_path(), names) != 0) return;
  uint64_t bytes = 0;
  for (const std::string& name : names) bytes += uint64_t(std::max<int64_t>(core_.files.size(core_.index_path() + "/" + name), 0));
  core_.index_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace loligo::store::disk
