#include "store/disk/core.h"

#include <algorithm>
#include <cstring>

#include "base/event_log.h"

namespace loligo::store::disk {

Disk::Counters Tally::read() const {
  static_assert(sizeof(Disk::Counters) % sizeof(uint64_t) == 0);
  Disk::Counters copy;
  auto* from = reinterpret_cast<uint64_t*>(&counters_);
  auto* to = reinterpret_cast<uint64_t*>(&copy);
  for (size_t i = 0; i < sizeof copy / sizeof(uint64_t); ++i) to[i] = std::atomic_ref<uint64_t>(from[i]).load(std::memory_order_relaxed);
  return copy;
}

// ---- health --------------------------------------------------------------------

void Health::fail(const std::string& why) {
  if (failed_.exchange(true)) return;
  base::log_event(base::Section::storage, 0, "cache_dir {}: {}: out of service", path_, why);
}

void Health::wrote() {
  write_streak_.store(0, std::memory_order_relaxed);
  if (full_.load(std::memory_order_relaxed) && full_.exchange(false))
    base::log_event(base::Section::storage, 1, "cache_dir {}: there is space again", path_);
}

void Health::write_error(int error) {
  tally_.add(&Disk::Counters::write_errors);
  if (error == -ENOSPC || error == -EDQUOT || error == -EFBIG) {
    retry_at_ms_.store(now_ms() + kRetryFullMs, std::memory_order_relaxed);
    if (!full_.exchange(true)) base::log_event(base::Section::storage, 1, "cache_dir {}: {}: nothing is stored for now", path_, std::strerror(-error));
    return;
  }
  retry_at_ms_.store(now_ms() + kRetryErrorMs, std::memory_order_relaxed);
  if (write_streak_.fetch_add(1) + 1 >= kMostErrors) fail(std::strerror(-error));
}

void Health::read_error(int error) {
  tally_.add(&Disk::Counters::read_errors);
  if (read_streak_.fetch_add(1) + 1 >= kMostErrors) fail(std::strerror(-error));
}

// ---- core ----------------------------------------------------------------------

uint64_t segment_bytes_for(uint64_t capacity) {
  constexpr uint64_t MiB = 1 << 20;
  if (capacity < 256 * MiB) return std::clamp<uint64_t>(capacity / 16, 256 << 10, 4 * MiB);
  return std::min<uint64_t>(std::max(std::min(capacity / 64, 256 * MiB), capacity / 1024), 16384 * MiB);
}

Core::Core(std::shared_ptr<Shared> shared_, const DiskDirectoryOptions& options, Files& files, unsigned number)
    : shared(std::move(shared_)), options(options), number(number), files(files), health(options.path, tally),
      segments(files, options.path, segment_bytes_for(options.capacity)), reporter(*this, all.observer), room(options.capacity) {}

uint64_t Core::segment_bytes() const {
  return std::min(segments.segment_bytes(), std::max<uint64_t>(room.load(std::memory_order_relaxed) / 16, 256 << 10));
}

std::shared_ptr<Index> Core::index() const {
  std::lock_guard lock(mutex_);
  return index_;
}

void Core::set_index(std::shared_ptr<Index> index) {
  std::lock_guard lock(mutex_);
  index_.swap(index);
}

void Core::set_stage(Stage stage) {
  std::lock_guard lock(mutex_);
  stage_.store(stage, std::memory_order_release);
  changed_.notify_all();
}

bool Core::wait_for(Stage stage) {
  if (this->stage() >= stage) return true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping() || this->stage() >= stage; });
  return this->stage() >= stage;
}

void Core::stop() {
  std::lock_guard lock(mutex_);
  stopping_.store(true, std::memory_order_release);
  changed_.notify_all();
  room_.notify_all();
}

void Core::look_for_room(uint64_t wanted) {
  std::lock_guard lock(mutex_);
  wanted_ = std::max(wanted_, wanted);
  look_ = true;
  room_.notify_all();
}

bool Core::wait_to_look(int64_t most_ms, uint64_t& wanted) {
  std::unique_lock lock(mutex_);
  room_.wait_for(lock, std::chrono::milliseconds(most_ms), [&] { return look_ || stopping(); });
  look_ = false;
  wanted = std::exchange(wanted_, 0);
  return !stopping();
}

void Core::found_damaged(const Key& key, uint64_t id) {
  tally.add(&Disk::Counters::damaged);
  std::lock_guard lock(damage_mutex_);
  if (on_damage_) on_damage_(key, id);
}

void Core::on_damage(std::function<void(const Key&, uint64_t)> f) {
  std::lock_guard lock(damage_mutex_);
  on_damage_ = std::move(f);
}

void Core::load_key(const Key& key) {
  if (!loading() || table.touched(key) || !index_complete) return;
  std::vector<Entry> entries;
  std::shared_ptr<Index> index = this->index();
  if (!index || !index->find(key, entries)) return;
  std::erase_if(entries, [&](const Entry& e) { return !segments.find(e.place.segment); });
  table.insert_older(entries.data(), entries.size());
}

void Core::take_key(const Key& key) {
  load_key(key);
  table.touch(key);
}

}  // namespace loligo::store::disk
