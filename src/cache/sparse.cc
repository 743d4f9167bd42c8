#include "cache/sparse.h"

#include <xxhash.h>

#include <algorithm>
#include <random>

namespace loligo::cache {

// ---- one representation ----------------------------------------------------------

Sparse::Sparse(const store::Key& whole, uint64_t epoch, base::Ref<Response> head, std::shared_ptr<store::Budget> budget)
    : whole(whole), epoch(epoch), length(head->content_length), budget_(std::move(budget)), head_(std::move(head)) {}

Sparse::~Sparse() { budget_->give(parts_.size()); }

base::Ref<Response> Sparse::head() const {
  std::lock_guard lock(mutex_);
  return head_;
}

void Sparse::set_head(const base::Ref<Response>& head) {
  std::lock_guard lock(mutex_);
  head_ = head;
  changed_ = true;
}

store::Key Sparse::part_key(const store::Key& whole, uint64_t epoch, uint64_t part) {
  const uint64_t words[] = {whole.high, whole.low, epoch, part};
  XXH128_hash_t h = XXH3_128bits(words, sizeof words);
  return {h.high64, h.low64};
}

// Would somebody who needs the body's byte `skip` wait for too much that he does not need?
bool Sparse::too_far(const Part& p, uint64_t skip) const {
  if (p.state == State::complete) return false;
  const uint64_t come = p.response ? p.response->body->length() : 0;
  return skip > come && skip - come > kFarthest;
}

Sparse::Place Sparse::next(uint64_t first, uint64_t end, Woken woken) {
  std::lock_guard lock(mutex_);
  Place place{Place::What::gap, 0, first, end, 0, {}};
  if (const PartMap::Piece* piece = map_.at(first)) {
    const uint64_t skip = piece->skip + (first - piece->first);
    auto it = parts_.find(piece->part);
    Part& part = it->second;
    if (!too_far(part, skip)) {
      place.part = piece->part;
      place.end = std::min(end, piece->end);
      place.skip = skip;
      place.response = part.response;
      place.what = part.response ? Place::What::arriving : part.state == State::complete ? Place::What::part : Place::What::awaited;
      if (place.what == Place::What::awaited) part.waiting.push_back(std::move(woken));
      return place;
    }
    place.end = std::min({end, piece->end, first + kLargestGap});
    map_.cut(first, place.end);
  }
  place.end = std::min(map_.gap_end(first, end), first + kLargestGap);
  place.part = claim(first, place.end);
  return place;
}

uint64_t Sparse::claim(uint64_t first, uint64_t end) {
  if (over() || !budget_->take(1)) return 0;
  if (!map_.add(first, end, last_part_ + 1)) {
    budget_->give(1);
    return 0;
  }
  Part& part = parts_[++last_part_];
  part.first = first;
  part.end = end;
  return last_part_;
}

uint64_t Sparse::begin(uint64_t first, uint64_t end) {
  std::lock_guard lock(mutex_);
  return end <= length ? claim(first, end) : 0;
}

void Sparse::wake(Part& part) {
  for (Woken& w : part.waiting) w();
  part.waiting.clear();
}

void Sparse::arrived(uint64_t part, const base::Ref<Response>& response) {
  std::lock_guard lock(mutex_);
  auto it = parts_.find(part);
  if (it == parts_.end()) return;
  it->second.state = State::arriving;
  it->second.response = response;
  // What was claimed may be more than what comes.
  const uint64_t end = response->part.end;
  if (end < it->second.end) {
    map_.remove(part, end, it->second.end);
    it->second.end = end;
  }
  wake(it->second);
}

void Sparse::ended(uint64_t part, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto it = parts_.find(part);
  if (it == parts_.end()) return;
  Part& p = it->second;
  if (bytes == 0) return remove(it);
  if (bytes < p.end - p.first) {
    map_.remove(part, p.first + bytes, p.end);
    p.end = p.first + bytes;
  }
  p.state = State::complete;
  changed_ = true;
  wake(p);
}

void Sparse::forget(uint64_t part) {
  std::lock_guard lock(mutex_);
  if (auto it = parts_.find(part); it != parts_.end()) remove(it);
}

void Sparse::remove(Parts::iterator it) {
  changed_ = changed_ || it->second.state == State::complete;
  map_.remove(it->first, it->second.first, it->second.end);
  wake(it->second);
  parts_.erase(it);
  budget_->give(1);
}

bool Sparse::let_go(uint64_t part, bool at_once) {
  base::Ref<Response> gone;   // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  auto it = parts_.find(part);
  if (it == parts_.end() || !it->second.response) return true;
  if (it->second.state != State::complete) return false;
  if (!at_once && it->second.response->body->followed()) return false;
  std::swap(gone, it->second.response);
  return true;
}

bool Sparse::covers(uint64_t first, uint64_t end, const std::function<bool(const store::Key&)>& exists) {
  std::lock_guard lock(mutex_);
  bool all = map_.covers(first, end);
  for (const PartMap::Piece& piece : map_.within(first, end)) {
    auto it = parts_.find(piece.part);
    if (it == parts_.end()) continue;   // forgotten with a piece before
    const Part& part = it->second;
    if (part.response) continue;
    if (part.state == State::complete && exists(part_key(piece.part))) continue;
    all = false;
    if (part.state == State::complete) remove(it);
  }
  return all;
}

std::vector<store::Key> Sparse::end() {
  std::vector<store::Key> keys;
  std::lock_guard lock(mutex_);
  over_.store(true, std::memory_order_release);
  keys.reserve(parts_.size());
  for (auto& [number, part] : parts_) {
    keys.push_back(part_key(number));
    wake(part);
  }
  budget_->give(parts_.size());
  parts_.clear();
  map_ = PartMap();
  return keys;
}

// ---- all of them -----------------------------------------------------------------

Sparses::Sparses() : budget_(std::make_shared<store::Budget>(kMostParts)) {}

uint64_t Sparses::new_epoch() {
  std::random_device random;
  const uint64_t epoch = uint64_t(random()) << 32 | random();
  return epoch ? epoch : 1;
}

bool Sparses::has(const store::Key& key) const {
  if (empty()) return false;
  std::lock_guard lock(mutex_);
  return map_.contains(key);
}

SparseRef Sparses::find(const store::Key& key, const Which& matches) {
  if (empty()) return {};
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return {};
  for (List::iterator one : it->second)
    if (matches(*(*one)->head())) {
      list_.splice(list_.begin(), list_, one);
      return *one;
    }
  return {};
}

SparseRef Sparses::find(const store::Key& key, uint64_t epoch) {
  if (empty()) return {};
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return {};
  for (List::iterator one : it->second)
    if ((*one)->epoch == epoch) return *one;
  return {};
}

void Sparses::unlink(const store::Key& key, List::iterator one) {
  auto it = map_.find(key);
  std::erase(it->second, one);
  if (it->second.empty()) map_.erase(it);
  list_.erase(one);
  count_.store(list_.size(), std::memory_order_release);
}

std::vector<SparseRef> Sparses::take(const store::Key& key, const Which& which) {
  std::vector<SparseRef> gone;
  if (empty()) return gone;
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return gone;
  for (List::iterator one : std::vector<List::iterator>(it->second)) {
    if (!which(*(*one)->head())) continue;
    gone.push_back(*one);
    unlink(key, one);
  }
  return gone;
}

std::vector<SparseRef> Sparses::all() const {
  std::lock_guard lock(mutex_);
  return {list_.begin(), list_.end()};
}

std::vector<SparseRef> Sparses::add(const SparseRef& sparse, const Which& replaces) {
  std::vector<SparseRef> gone = take(sparse->whole, replaces);
  std::lock_guard lock(mutex_);
  auto drop = [&](List::iterator one) {
    gone.push_back(*one);
    unlink(gone.back()->whole, one);
  };
  // Half of all parts may be those of one that nobody asks for any more.
  while (list_.size() >= kMost || (budget_->used() >= kMostParts / 4 * 3 && !list_.empty() && gone.size() < kMostVariants)) drop(std::prev(list_.end()));
  if (auto it = map_.find(sparse->whole); it != map_.end() && it->second.size() >= kMostVariants) drop(it->second.front());
  list_.push_front(sparse);
  map_[sparse->whole].push_back(list_.begin());
  count_.store(list_.size(), std::memory_order_release);
  return gone;
}

void Sparses::note_complete(const SparseRef& sparse, uint64_t part) {
  std::vector<std::pair<SparseRef, uint64_t>> gone;   // destroyed after the lock is released
  std::lock_guard lock(recent_mutex_);
  recent_.emplace_back(sparse, part);
  for (size_t n = recent_.size(); n-- > 0;) {
    auto one = std::move(recent_.front());
    recent_.pop_front();
    if (one.first->let_go(one.second, recent_.size() >= kMostRecent)) gone.push_back(std::move(one));
    else recent_.push_back(std::move(one));
  }
}

}  // namespace loligo::cache
