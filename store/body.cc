#include "store/body.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace loligo::store {

namespace {
constexpr uint64_t kFirstChunk = 4096, kLargeChunk = 64 * 1024;
constexpr uint64_t kFreeLag = Body::kMaxChunk + 4 * kLargeChunk;   // a record that is gathered, and some
constexpr int64_t kStalledMs = 2000, kLaggingMs = 5000;
}  // namespace

Body::Body(uint64_t expected, bool retained, uint64_t read_ahead)
    : expected_(expected), read_ahead_(std::max<uint64_t>(read_ahead, kFirstChunk)), retained_(retained) {}

Body::Body(base::Ref<BodySource> source, uint64_t length)
    : source_(std::move(source)), expected_(length), read_ahead_(kFirstChunk), length_(length), state_(State::complete), retained_(true) {}

Body::~Body() {
  for (auto& chunk : chunks_) std::free(chunk.data);
}

// ---- writer ------------------------------------------------------------------

void Body::attach_writer(Writer* writer) {
  std::lock_guard lock(mutex_);
  writer_ = writer;
  writer_waits_ = false;
}

// Room in the last chunk, or a new one: exactly the expected length for a retained body (its memory is then accounted
// to the byte), else growing pieces so that small bodies cost little and large ones few.
Body::Chunk* Body::space() {
  if (!chunks_.empty() && chunks_.back().used < chunks_.back().size) return &chunks_.back();
  release_behind_readers();   // what lies before a reader of a later part goes as it comes
  uint64_t have = length_.load(std::memory_order_relaxed);
  uint64_t size = std::clamp(std::bit_ceil(have), kFirstChunk, kLargeChunk);   // doubles: at most half is unused
  if (expected_ != kUnknownLength && expected_ > have && retained_.load(std::memory_order_relaxed))
    size = std::min(expected_ - have, kMaxChunk);
  char* data = static_cast<char*>(std::malloc(size));
  if (!data) throw std::bad_alloc();
  chunks_.push_back({data, uint32_t(size), 0});
  memory_.fetch_add(size, std::memory_order_relaxed);
  return &chunks_.back();
}

void Body::append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::lock_guard lock(mutex_);
  uint64_t length = length_.load(std::memory_order_relaxed);
  while (!bytes.empty()) {
    Chunk* chunk = space();
    size_t n = std::min<size_t>(bytes.size(), chunk->size - chunk->used);
    std::memcpy(chunk->data + chunk->used, bytes.data(), n);
    chunk->used += uint32_t(n);
    length += n;
    length_.store(length, std::memory_order_release);
    bytes.remove_prefix(n);
  }
  wake_readers();
}

void Body::append_owned(char* data, uint32_t size, uint32_t used) {
  std::lock_guard lock(mutex_);
  chunks_.push_back({data, size, used});
  memory_.fetch_add(size, std::memory_order_relaxed);
  length_.fetch_add(used, std::memory_order_release);
  wake_readers();
}

void Body::complete(std::string trailers) {
  std::lock_guard lock(mutex_);
  trailers_ = std::move(trailers);
  if (!chunks_.empty() && retained_.load(std::memory_order_relaxed)) {
    // A body of unknown length gives back what its last chunk does not use.
    Chunk& last = chunks_.back();
    if (last.size - last.used > 512 && last.used > 0) {
      if (char* smaller = readers_.empty() ? static_cast<char*>(std::realloc(last.data, last.used)) : nullptr) {
        memory_.fetch_sub(last.size - last.used, std::memory_order_relaxed);
        last.data = smaller;
        last.size = last.used;
      }
    }
  }
  state_.store(State::complete, std::memory_order_release);
  writer_ = nullptr;
  wake_readers();
}

void Body::fail() {
  std::lock_guard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::filling) return;
  state_.store(State::failed, std::memory_order_release);
  writer_ = nullptr;
  wake_readers();
}

uint64_t Body::slowest(bool background_too) const {
  uint64_t least = kUnknownLength;
  const bool followed = followed_locked();
  for (Reader* r : readers_) {
    // Nobody makes history any more: what comes after it must stay until those who are behind have caught up.
    if (r->behind() && !r->cut() && !followed) least = std::min(least, std::max(history_end_, first_offset_));
    bool in_memory = r->viewing_ || (!r->cut() && !r->behind());
    if (in_memory && (background_too || !r->background_)) least = std::min(least, r->holds_from_);
  }
  return least;
}

// Does anybody but the disk read it?
bool Body::wanted_locked() const {
  return std::any_of(readers_.begin(), readers_.end(), [](Reader* r) { return !r->background_ && !r->cut(); });
}

// Does anybody but the disk read what comes in?
bool Body::led_locked() const {
  return std::any_of(readers_.begin(), readers_.end(), [&](Reader* r) { return leads(*r); });
}

uint64_t Body::fastest() const {
  uint64_t most = 0;
  bool led = led_locked();
  for (Reader* r : readers_) if (led ? leads(*r) : r->background_ && !r->cut()) most = std::max(most, r->offset_);
  return most;
}

// What a background reader may make us hold, in steps: beyond what every body may hold for it, its budget decides.
bool Body::grant(Reader& r, uint64_t lag) {
  uint64_t wanted = lag > kFreeLag ? (lag - kFreeLag + kMaxChunk - 1) / kMaxChunk * kMaxChunk : 0;
  if (wanted > r.granted_ && !r.background_->take(wanted - r.granted_)) return false;
  if (wanted < r.granted_) r.background_->give(r.granted_ - wanted);
  r.granted_ = wanted;
  return true;
}

// Background readers for whose sake more would have to be held than may be are cut.
void Body::look_at_background() {
  uint64_t length = length_.load(std::memory_order_relaxed);
  bool cut = false;
  for (Reader* r : readers_) {
    if (!r->background_ || r->cut() || grant(*r, length - r->holds_from_)) continue;
    grant(*r, 0);
    r->cut_.store(true, std::memory_order_release);
    r->waiting_for_ = kUnknownLength;
    r->woken();
    cut = true;
  }
  if (cut) release_behind_readers();
}

// The fastest reader may have read_ahead bytes before it; the slowest may make us hold kHoldLimit. Background readers
// count when there are no others.
uint64_t Body::room_locked() const {
  if (retained_.load(std::memory_order_relaxed)) return kUnknownLength;
  uint64_t length = length_.load(std::memory_order_relaxed);
  uint64_t slow = slowest(!led_locked());
  if (slow == kUnknownLength) return read_ahead_;   // no reader: the fetch decides what to do
  // A reader of a part may stand beyond what has come.
  uint64_t fast = fastest();
  uint64_t ahead = length > fast ? length - fast : 0, held = length > slow ? length - slow : 0;
  uint64_t room = ahead < read_ahead_ ? read_ahead_ - ahead : 0;
  uint64_t limit = std::max(kHoldLimit, read_ahead_);
  return std::min(room, held < limit ? limit - held : 0);
}

uint64_t Body::room() {
  if (retained_.load(std::memory_order_relaxed)) return kUnknownLength;
  std::lock_guard lock(mutex_);
  if (led_locked()) look_at_background();
  uint64_t room = room_locked();
  if (room == 0) {
    // Who only lags need not be waited for where there is history.
    uint64_t lead = fastest(), length = length_.load(std::memory_order_relaxed);
    bool gone = false;
    for (Reader* r : readers_)
      if (leads(*r) && r->offset_ < lead && length - r->offset_ + kLargeChunk >= kHoldLimit) gone |= let_fall_behind(*r);
    if (gone) {
      release_behind_readers();
      room = room_locked();
    }
  }
  writer_waits_ = room == 0;
  return room;
}

// What it has not read is history, or is held for the disk until it is.
bool Body::let_fall_behind(Reader& r) {
  if (!r.by_file_ || !history_ || !followed_locked()) return false;
  r.behind_.store(true, std::memory_order_release);
  if (std::exchange(r.waiting_for_, kUnknownLength) != kUnknownLength) r.woken();
  return true;
}

void Body::keep_history(const base::Ref<BodySource>& history, uint64_t end) {
  std::lock_guard lock(mutex_);
  if (!history_) history_ = history;
  history_end_ = end;
}

bool Body::catch_up(Reader* reader, uint64_t offset) {
  std::lock_guard lock(mutex_);
  if (!reader->behind()) return true;
  if (offset < first_offset_) return false;
  reader->behind_.store(false, std::memory_order_release);
  reader->offset_ = reader->holds_from_ = offset;
  reader->lagging_since_ms_ = 0;
  if (writer_waits_ && room_locked() > 0) wake_writer();
  return true;
}

bool Body::followed() const {
  std::lock_guard lock(mutex_);
  return followed_locked();
}

bool Body::followed_locked() const {
  return std::any_of(readers_.begin(), readers_.end(), [](Reader* r) { return r->background_ && !r->cut(); });
}

void Body::detach_writer() {
  std::lock_guard lock(mutex_);
  writer_ = nullptr;
}

void Body::stop_retaining() {
  std::lock_guard lock(mutex_);
  retained_.store(false, std::memory_order_release);
  if (!readers_.empty()) release_behind_readers();
}

// A reader that keeps others waiting (it is the reason that the hold limit is reached, and is not the only one) has
// kLaggingMs to catch up, or kStalledMs if it takes nothing at all.
unsigned Body::cut_laggards(int64_t now_ms) {
  std::lock_guard lock(mutex_);
  if (retained_.load(std::memory_order_relaxed) || readers_.size() < 2) return 0;
  uint64_t lead = fastest(), length = length_.load(std::memory_order_relaxed);
  unsigned cut = 0;
  for (Reader* r : readers_) {
    bool holds_back = !r->cut() && !(r->behind() && followed_locked()) && !(r->background_ && led_locked()) && r->offset_ < lead && length - r->offset_ + kLargeChunk >= kHoldLimit;
    if (!holds_back) { r->lagging_since_ms_ = 0; continue; }
    if (r->lagging_since_ms_ == 0) r->lagging_since_ms_ = now_ms;
    if (now_ms - r->moved_ms_ < kStalledMs && now_ms - r->lagging_since_ms_ < kLaggingMs) continue;
    r->cut_.store(true, std::memory_order_release);
    r->waiting_for_ = kUnknownLength;
    r->woken();
    ++cut;
  }
  if (cut) {
    release_behind_readers();
    wake_writer();
  }
  return cut;
}

// ---- readers -----------------------------------------------------------------

bool Body::attach(Reader* reader, uint64_t offset, int64_t now_ms, bool by_file) {
  std::lock_guard lock(mutex_);
  bool behind = offset < first_offset_;
  if (behind && !(by_file && history_ && history_end_ >= first_offset_)) return false;
  if (!retained_.load(std::memory_order_relaxed) && !start_held_ && offset == 0 && first_offset_ == 0 && slowest() != kUnknownLength &&
      slowest() > 0)
    return false;   // its first chunk may go at any moment
  if (!reader->background_) start_held_ = false;
  start_over(*reader, offset, now_ms);
  reader->by_file_ = by_file;
  reader->behind_.store(behind, std::memory_order_relaxed);
  readers_.push_back(reader);
  return true;
}

void Body::start_over(Reader& r, uint64_t offset, int64_t now_ms) {
  r.offset_ = r.holds_from_ = offset;
  r.viewing_ = false;
  r.moved_ms_ = now_ms;
  r.lagging_since_ms_ = 0;
  r.waiting_for_ = kUnknownLength;
  r.cut_.store(false, std::memory_order_relaxed);
}

void Body::detach(Reader* reader) {
  std::lock_guard lock(mutex_);
  auto it = std::find(readers_.begin(), readers_.end(), reader);
  if (it == readers_.end()) return;
  readers_.erase(it);
  reader->viewing_ = false;
  if (reader->background_) grant(*reader, 0);
  if (state_.load(std::memory_order_relaxed) != State::filling) {
    // Nobody joins what is over and not retained, except by file.
    if (history_ && !readers_.empty()) release_behind_readers();
    else if (history_) release_all();
    return;
  }
  if (!readers_.empty()) release_behind_readers();
  if (!wanted_locked() || writer_waits_) wake_writer();
}

unsigned Body::reader_count() const {
  std::lock_guard lock(mutex_);
  unsigned n = 0;
  for (Reader* r : readers_) n += !r->cut() && !r->background_;
  return n;
}

Body::View Body::view(uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const {
  // A complete, retained body no longer changes: no lock on the hit path.
  if (state_.load(std::memory_order_acquire) != State::filling && retained_.load(std::memory_order_acquire))
    return view_locked(offset, parts, max_parts, max_bytes);
  std::lock_guard lock(mutex_);
  return view_locked(offset, parts, max_parts, max_bytes);
}

Body::View Body::view(const Reader* reader, uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const {
  std::lock_guard lock(mutex_);
  if (reader->cut() || reader->behind()) return {};
  View view = view_locked(offset, parts, max_parts, max_bytes);
  reader->viewing_ = view.bytes > 0;
  return view;
}

Body::View Body::view_locked(uint64_t offset, iovec* parts, int max_parts, uint64_t max_bytes) const {
  View view;
  if (offset < first_offset_) return view;   // gone
  view.state = state_.load(std::memory_order_acquire);
  uint64_t at = first_offset_;
  for (const Chunk& chunk : chunks_) {
    if (view.parts == max_parts || view.bytes == max_bytes) break;
    if (offset < at + chunk.used) {
      uint64_t skip = offset > at ? offset - at : 0;
      uint64_t n = std::min<uint64_t>(chunk.used - skip, max_bytes - view.bytes);
      parts[view.parts++] = {chunk.data + skip, size_t(n)};
      view.bytes += n;
    }
    at += chunk.used;
  }
  return view;
}

Body::View Body::copy(const Reader* reader, uint64_t offset, char* to, uint64_t most) const {
  constexpr int kParts = 64;
  iovec parts[kParts];
  std::lock_guard lock(mutex_);
  if (reader->cut()) return {};
  View view = view_locked(offset, parts, kParts, most);
  for (int i = 0; i < view.parts; to += parts[i++].iov_len) std::memcpy(to, parts[i].iov_base, parts[i].iov_len);
  return view;
}

void Body::advance(Reader* reader, uint64_t offset, int64_t now_ms, uint64_t holds_from) {
  if (retained_.load(std::memory_order_acquire) && state_.load(std::memory_order_acquire) == State::complete) {
    reader->offset_ = reader->holds_from_ = offset;
    return;
  }
  std::lock_guard lock(mutex_);
  reader->offset_ = offset;
  reader->holds_from_ = std::min(offset, holds_from);
  reader->viewing_ = false;
  reader->moved_ms_ = now_ms;
  if (retained_.load(std::memory_order_relaxed)) return;
  if (reader->granted_) grant(*reader, length_.load(std::memory_order_relaxed) - reader->holds_from_);
  release_behind_readers();
  if (writer_waits_ && room_locked() > 0) wake_writer();
}

void Body::end_view(Reader* reader) {
  std::lock_guard lock(mutex_);
  reader->viewing_ = false;
  if (!reader->cut() && !reader->behind()) return;
  release_behind_readers();
  if (writer_waits_ && room_locked() > 0) wake_writer();
}

bool Body::wait(Reader* reader, uint64_t offset) {
  std::lock_guard lock(mutex_);
  if (length_.load(std::memory_order_relaxed) > offset || state_.load(std::memory_order_relaxed) != State::filling || reader->cut() || reader->behind())
    return false;
  reader->viewing_ = false;
  reader->waiting_for_ = offset;
  return true;
}

void Body::wake_readers() {
  uint64_t length = length_.load(std::memory_order_relaxed);
  bool ended = state_.load(std::memory_order_relaxed) != State::filling;
  for (Reader* r : readers_) {
    if (r->waiting_for_ == kUnknownLength || (length <= r->waiting_for_ && !ended)) continue;
    r->waiting_for_ = kUnknownLength;
    r->woken();
  }
}

void Body::wake_writer() {
  writer_waits_ = false;
  if (writer_) writer_->writer_woken();
}

void Body::release_start() {
  std::lock_guard lock(mutex_);
  if (!std::exchange(start_held_, false)) return;
  release_behind_readers();
}

void Body::release_all() {
  for (Chunk& chunk : chunks_) {
    first_offset_ += chunk.used;
    std::free(chunk.data);
  }
  chunks_.clear();
  memory_.store(0, std::memory_order_relaxed);
}

void Body::release_behind_readers() {
  if (retained_.load(std::memory_order_relaxed) || start_held_) return;
  uint64_t slow = slowest();
  if (slow == kUnknownLength) return;
  size_t gone = 0;
  // The last chunk stays while it can still be filled.
  while (gone < chunks_.size() && first_offset_ + chunks_[gone].used <= slow && chunks_[gone].used == chunks_[gone].size) {
    first_offset_ += chunks_[gone].used;
    memory_.fetch_sub(chunks_[gone].size, std::memory_order_relaxed);
    std::free(chunks_[gone].data);
    ++gone;
  }
  if (gone) chunks_.erase(chunks_.begin(), chunks_.begin() + long(gone));
}

}  // namespace loligo::store
