// The writer's work on objects: a whole one in one record, a large one in extents
// while its body grows.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "store/disk/writer.h"

namespace loligo::store::disk {

namespace {

uint64_t hash_parts(const iovec* parts, int n) {
  if (n == 1) return XXH3_64bits(parts[0].iov_base, parts[0].iov_len);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int i = 0; i < n; ++i) XXH3_64bits_update(&state, parts[i].iov_base, parts[i].iov_len);
  return XXH3_64bits_digest(&state);
}

bool replaces(Variant a, Variant old) { return a.family != old.family || a.variant == old.variant; }

}  // namespace

// ---- any thread ----------------------------------------------------------------

bool Writer::within_limits(uint64_t length) const {
  return length >= core_.options.min_object && length <= core_.options.max_object && length <= kMaxBody && length <= core_.options.capacity / 4 * 3;
}

bool Writer::has_pending(const Key& key) const {
  std::lock_guard lock(pending_mutex_);
  auto [first, last] = pending_.equal_range(key);
  return std::any_of(first, last, [](auto& pair) { return !pair.second->cancelled; });
}

std::vector<Writer::Newer> Writer::ended_pending(const Key& key) const {
  std::vector<Newer> newer;
  std::lock_guard lock(pending_mutex_);
  auto [first, last] = pending_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    const Pending& p = *it->second;
    const Body::State state = p.body->state();
    // One that failed takes the older with it soon, or leaves it.
    if (p.cancelled || state == Body::State::filling || (state == Body::State::failed && p.keeps_older)) continue;
    newer.push_back({p.variant, p.id});
  }
  return newer;
}

void Writer::hide_superseded(const std::vector<Newer>& newer, std::vector<Entry>& entries) {
  for (const Newer& n : newer) std::erase_if(entries, [&](const Entry& e) { return replaces(n.variant, e.variant) && e.id() < n.id; });
}

bool Writer::has_pending(const Key& key, uint64_t id) const {
  std::lock_guard lock(pending_mutex_);
  auto [first, last] = pending_.equal_range(key);
  return std::any_of(first, last, [id](auto& pair) { return pair.second->id == id && !pair.second->cancelled; });
}

void Writer::list_pending(std::vector<Disk::Writing>& all) const {
  std::lock_guard lock(pending_mutex_);
  for (auto& [key, p] : pending_) {
    if (p->cancelled) continue;
    bool complete = p->body->state() == Body::State::complete;
    all.push_back({key, core_.outer_id(p->id), core_.number, p->body->reader_count(), p->body->length(), p->written_bytes.load(), complete, p->head});
  }
}

bool Writer::store(const Key& key, Variant variant, uint64_t id, std::string head, base::Ref<Body> body, uint64_t expected, bool keeps_older, bool* busy) {
  bool complete = body->state() == Body::State::complete;
  if (complete) expected = body->length();
  if (body->source() || head.size() > kMaxHead || (expected != kUnknownLength && !within_limits(expected))) {
    core_.tally.add(&Disk::Counters::not_stored_limits);
    erase_replaced(key, variant);
    return false;
  }
  PendingOwner& owner = *this;
  auto pending = base::make_ref<Pending>(owner, key, variant, id, std::move(head), std::move(body), expected, keeps_older);
  // What it will hold in memory until it is written. One that is followed holds what is not in an extent yet.
  uint64_t bytes = expected == kUnknownLength ? kUnknownCharge : pending->body->retained() ? expected : std::min(expected, kMaxExtent);
  if (!core_.health.may_write() || !charge(*pending, bytes) || !accept(key, variant, pending)) {
    queued_.give(pending->charged);
    core_.tally.add(&Disk::Counters::not_stored_busy);
    if (busy) *busy = true;
    erase_replaced(key, variant);
    return false;
  }
  // A body that fits into a record is awaited, a larger one followed.
  bool follow = complete || !pending->body->retained() || (expected != kUnknownLength && expected > kMaxExtent);
  if (follow || !pending->body->wait(pending.get(), kMaxExtent)) ready(*pending);
  return true;
}

bool Writer::charge(Pending& p, uint64_t bytes) {
  if (!queued_.take(bytes)) return false;
  p.charged = bytes;
  return true;
}

// Into the list, in the place of those that it replaces.
bool Writer::accept(const Key& key, Variant variant, const base::Ref<Pending>& pending) {
  std::vector<Variant> whole;
  {
    std::lock_guard lock(pending_mutex_);
    if (pending_.size() >= kMostPending || !pending->body->attach(pending.get(), 0, now_ms())) return false;
    auto [first, last] = pending_.equal_range(key);
    for (auto it = first; it != last; ++it)
      if (replaces(variant, it->second->variant) && !it->second->cancelled.exchange(true)) {
        if (it->second->body->state() == Body::State::complete) whole.push_back(it->second->variant);
        ready(*it->second);
      }
    pending_.emplace(key, pending);
  }
  // What those were to replace is older than what clients have seen.
  for (Variant v : whole) erase_older(key, v);
  return true;
}

void Writer::erase_replaced(const Key& key, Variant variant) {
  {
    std::lock_guard lock(pending_mutex_);
    auto [first, last] = pending_.equal_range(key);
    for (auto it = first; it != last; ++it)
      if (replaces(variant, it->second->variant) && !it->second->cancelled.exchange(true)) ready(*it->second);
  }
  erase_older(key, variant);
}

void Writer::erase_older(const Key& key, Variant variant) {
  if (core_.loading() && !core_.table.touched(key)) {
    Operation o{Operation::Kind::erase_replaced, key};
    o.variant = variant;
    push(std::move(o));
  }
  erase_replaced_in_table(key, variant);
}

void Writer::erase_replaced_in_table(const Key& key, Variant variant) {
  for (const Entry& e : core_.table.find(key))
    if (replaces(variant, e.variant)) erase(key, e.id());
}

void Writer::ready(Pending& pending) {
  std::unique_lock lock(queue_mutex_);
  if (pending.queued || stop_) return;
  pending.queued = true;
  Operation o{Operation::Kind::store, pending.key};
  o.pending = base::Ref<Pending>(&pending);
  // A stream goes on only as we take it.
  enqueue(lock, std::move(o), !pending.body->retained() || pending.expected > kMaxExtent);
}

// ---- the writer's thread -------------------------------------------------------

void Writer::work_on(Pending& p) {
  if (p.ended) return;
  if (p.cancelled) return finish(p);
  Body::State state = p.body->state();
  uint64_t length = p.body->length();
  if (state == Body::State::failed || !within_limits(std::max(length, state == Body::State::complete ? length : core_.options.min_object)))
    return give_up(p);
  if (!p.streams && state == Body::State::complete && length <= kMaxExtent && p.body->retained()) return write_whole(p);
  bool large = length > kMaxExtent || (p.expected != kUnknownLength && p.expected > kMaxExtent);
  if (p.streams || large || !p.body->retained()) return stream(p);
  if (!p.body->wait(&p, kMaxExtent)) ready(p);
}

void Writer::write_whole(Pending& p) {
  Room room = room_for(p, p.body->length());
  if (room == Room::awaited) return;
  if (room == Room::none) return give_up(p);
  std::vector<iovec> parts(16);
  Body::View view;
  for (;;) {
    view = p.body->view(0, parts.data(), int(parts.size()), kMaxExtent);
    if (view.bytes == p.body->length()) break;
    if (parts.size() > 4096) return give_up(p);
    parts.resize(parts.size() * 4);
  }
  write_object(p, parts.data(), view.parts, view.bytes);
}

void Writer::write_object(Pending& p, const iovec* parts, int n, uint64_t bytes) {
  RecordHeader h;
  h.type = RecordType::object;
  h.variant = p.variant;
  h.key = p.key;
  h.id = p.id;
  h.length = bytes;
  const std::string& head = take_head(p);
  h.head_bytes = uint32_t(head.size());
  h.data_bytes = uint32_t(bytes);
  h.head_hash = hash_bytes(head);
  h.data_hash = hash_parts(parts, n);
  Written w{Operation::Kind::store};
  w.pending = base::Ref<Pending>(&p);
  append(h, head, parts, n, std::move(w));
}

const std::string& Writer::take_head(Pending& p) {
  std::lock_guard lock(pending_mutex_);
  p.head_taken = true;
  return p.head;
}

// Takes what there is; the rest will wake us.
void Writer::stream(Pending& p) {
  if (!p.streams) {
    p.streams = true;
    p.block.reset(new char[kMaxExtent]);
  }
  for (;;) {
    Body::View view = p.body->copy(&p, p.taken, p.block.get() + p.block_bytes, kMaxExtent - p.block_bytes);
    if (p.cut()) return give_up(p);
    p.taken += view.bytes;
    p.block_bytes += uint32_t(view.bytes);
    if (view.bytes) p.body->advance(&p, p.taken, now_ms(), p.taken - p.block_bytes);
    if (!within_limits(std::max(p.taken, core_.options.min_object))) return give_up(p);
    bool more = view.state == Body::State::filling || p.taken < p.body->length();
    bool end = view.bytes == 0 && view.state == Body::State::complete;
    if ((p.block_bytes == kMaxExtent && more) || end) {
      Room room = room_for(p, p.block_bytes);
      if (room == Room::awaited) return;
      if (room == Room::none) return give_up(p);
    }
    if (p.block_bytes == kMaxExtent && more && !write_extent(p)) return give_up(p);
    if (view.bytes) continue;
    if (view.state == Body::State::failed) return give_up(p);
    if (end) return end_stream(p);
    // Kept bodies wait for a good part of an extent; the others go on only as we take.
    uint64_t wake_at = p.body->retained() ? p.taken + std::min<uint64_t>(kMaxExtent - p.block_bytes, 256 << 10) - 1 : p.taken;
    if (p.body->wait(&p, wake_at)) return;
  }
}

bool Writer::write_extent(Pending& p) {
  if (p.cancelled) return false;
  RecordHeader h;
  h.type = RecordType::extent;
  h.variant = p.variant;
  h.key = p.key;
  h.id = p.id;
  h.length = p.taken - p.block_bytes;
  h.data_bytes = p.block_bytes;
  h.head_hash = hash_bytes({});
  h.data_hash = hash_bytes({p.block.get(), p.block_bytes});
  iovec part{p.block.get(), p.block_bytes};
  auto place = append(h, {}, &part, 1, Written{Operation::Kind::store});
  if (!place || !flush()) return false;   // the block is used again
  if (p.extents.empty()) {
    p.first_segment.store(place->segment, std::memory_order_release);
  }
  p.extents.push_back({*place, uint32_t(h.data_offset()), p.block_bytes});
  p.disk_bytes += h.bytes();
  p.written_bytes.store(p.taken, std::memory_order_relaxed);
  p.block_bytes = 0;
  if (!p.body->retained()) tell_history(p);
  p.body->advance(&p, p.taken, now_ms());
  return true;
}

// What is on file need not be in memory for those who come late or lag.
void Writer::tell_history(Pending& p) {
  if (p.history) p.history->append(p.extents.back(), appender_.segment());
  else p.history = FileBody::make(core_.shared_from_this(), pool_, p.key, p.id, p.extents);
  if (p.history) p.body->keep_history(p.history, p.taken);
}

void Writer::end_stream(Pending& p) {
  iovec part{p.block.get(), p.block_bytes};
  if (!within_limits(p.taken)) return give_up(p);
  if (p.extents.empty()) return write_object(p, &part, 1, p.block_bytes);
  if (p.block_bytes && !write_extent(p)) return give_up(p);
  std::string list = encode_extents(p.extents);
  RecordHeader h;
  h.type = RecordType::head;
  h.variant = p.variant;
  h.key = p.key;
  h.id = p.id;
  h.length = p.taken;
  const std::string& head = take_head(p);
  h.head_bytes = uint32_t(head.size());
  h.data_bytes = uint32_t(list.size());
  h.head_hash = hash_bytes(head);
  h.data_hash = hash_bytes(list);
  Written w{Operation::Kind::store};
  w.pending = base::Ref<Pending>(&p);
  part = {list.data(), list.size()};
  append(h, head, &part, 1, std::move(w));
  flush();   // the list ends with this call
}

// The record is there. An object that was erased meanwhile stays out of the table: its removal stands behind it.
void Writer::committed(Written& w) {
  Pending& p = *w.pending;
  core_.take_key(p.key);
  std::vector<Entry> gone;
  bool taken = false;
  {
    std::lock_guard lock(pending_mutex_);
    if (!p.cancelled) {
      core_.reporter.stored(w.entry, p.head, p.body->length());   // before anybody can remove it
      core_.table.insert(w.entry, gone);
      taken = p.written = true;
    }
  }
  if (taken) {
    for (const Entry& e : gone) changed(p.key, e.variant), core_.reporter.removed(e);
    changed(p.key, p.variant);
    core_.tally.add(&Disk::Counters::stored);
    core_.tally.add(&Disk::Counters::stored_bytes, p.head.size() + p.body->length());
  } else {
    push({Operation::Kind::erase_id, p.key, w.entry.id()});
  }
  finish(p);
}

// Clients have seen a newer one than those it would have replaced, unless it was cut.
void Writer::give_up(Pending& p) {
  if (!p.cancelled) {
    core_.tally.add(&Disk::Counters::given_up);
    core_.take_key(p.key);
    if (!p.keeps_older || p.body->state() != Body::State::failed) erase_replaced_in_table(p.key, p.variant);
  }
  finish(p);
}

void Writer::finish(Pending& p) {
  base::Ref<Pending> hold(&p);
  p.body->detach(&p);
  p.block.reset();
  p.ended = true;
  queued_.give(p.charged);
  p.charged = 0;
  std::lock_guard lock(pending_mutex_);
  auto [first, last] = pending_.equal_range(p.key);
  for (auto it = first; it != last; ++it)
    if (it->second.get() == &p) {
      pending_.erase(it);
      break;
    }
  if (!p.written) core_.reporter.never_stored(p);
}

// Its first records go with the segment: what is left of it would be no object.
void Writer::give_up_in(uint32_t segment) {
  std::lock_guard lock(pending_mutex_);
  for (auto& [key, pending] : pending_) {
    // `first_segment` is the writer's; the caller is the reclaiming thread.
    if (pending->first_segment.load(std::memory_order_acquire) != segment) continue;
    if (!pending->cancelled.exchange(true)) ready(*pending);
  }
}

}  // namespace loligo::store::disk
