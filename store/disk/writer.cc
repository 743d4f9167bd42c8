#include "store/disk/writer.h"

#include <algorithm>

#include "store/disk/record_reader.h"

namespace loligo::store::disk {

void Writer::start() { thread_ = std::thread([this] { run(); }); }

void Writer::stop() {
  {
    std::lock_guard lock(queue_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // What is left is not stored; bodies must not wake what is no more.
  std::vector<base::Ref<Pending>> rest;
  {
    std::lock_guard lock(pending_mutex_);
    for (auto& [key, pending] : pending_) rest.push_back(pending);
    pending_.clear();
  }
  for (auto& pending : rest) pending->body->detach(pending.get());
  std::deque<Operation> queue = std::exchange(backlog_, {});
  {
    std::lock_guard lock(queue_mutex_);
    for (Operation& o : queue_) queue.push_back(std::move(o));
    queue_.clear();
  }
  for (Operation& o : queue) {
    not_durable(o);
    if (o.done) o.done();
  }
}

// ---- what others ask for -------------------------------------------------------

void Writer::push(Operation operation) {
  std::unique_lock lock(queue_mutex_);
  enqueue(lock, std::move(operation));
}

// Whatever comes first wakes the writer, which then lets more come for a moment, unless somebody waits for it.
void Writer::enqueue(std::unique_lock<std::mutex>& lock, Operation operation, bool urgent) {
  urgent |= operation.kind == Operation::Kind::erase_key || operation.kind == Operation::Kind::carry || operation.kind == Operation::Kind::rehead;
  const bool wake = queue_.empty() || (urgent && !urgent_) || queue_.size() + 1 == kGather;
  urgent_ |= urgent;
  queue_.push_back(std::move(operation));
  lock.unlock();
  if (wake) wake_.notify_all();
}

bool Writer::rehead(const Key& key, uint64_t id, std::string head) {
  bool there = core_.table.find(key, id).has_value() || (core_.loading() && !core_.table.touched(key));
  if (head.size() > kMaxHead || (there && !core_.health.may_write())) {   // an old head must not outlive the new
    erase(key, id);
    return false;
  }
  {
    std::lock_guard lock(pending_mutex_);
    auto [first, last] = pending_.equal_range(key);
    for (auto it = first; it != last; ++it) {
      Pending& p = *it->second;
      if (p.id != id || p.cancelled) continue;
      there = true;
      if (p.head_taken) break;
      p.head = std::move(head);
      return true;
    }
  }
  if (!there) return false;
  Operation o{Operation::Kind::rehead, key, id};
  o.head = std::move(head);
  push(std::move(o));
  return true;
}

bool Writer::erase(const Key& key, Disk::Erased durable) {
  Operation o{Operation::Kind::erase_key, key};
  o.until_ms = now_ms() + kEraseMs;
  std::vector<Entry> gone;
  {
    std::lock_guard lock(pending_mutex_);
    auto [first, last] = pending_.equal_range(key);
    for (auto it = first; it != last; ++it)
      if (!it->second->cancelled.exchange(true)) {
        ++o.count;
        ready(*it->second);
      }
    o.ask_index = core_.table.touch(key);
    o.count += core_.table.erase(key, gone);
  }
  if (o.count == 0 && !o.ask_index) return false;
  core_.tally.add(&Disk::Counters::erased, gone.size());
  std::vector<Index::Name> names;
  for (const Entry& e : gone) names.push_back({key, e.variant}), core_.reporter.removed(e);
  syncer_.changed(std::move(names));
  o.durable = std::move(durable);
  push(std::move(o));
  return true;
}

void Writer::erase(const Key& key, uint64_t id) {
  std::optional<Variant> variant;
  {
    std::lock_guard lock(pending_mutex_);
    auto [first, last] = pending_.equal_range(key);
    for (auto it = first; it != last; ++it)
      if (it->second->id == id && !it->second->cancelled.exchange(true)) {
        variant = it->second->variant;
        ready(*it->second);
      }
  }
  // What it would have replaced is older still, and must not come back.
  if (variant) erase_older(key, *variant);
  Entry gone;
  bool was_there = core_.table.erase(key, id, &gone);
  if (was_there) {
    core_.tally.add(&Disk::Counters::erased);
    core_.reporter.removed(gone);
    syncer_.changed({{key, gone.variant}});
  }
  if (was_there || core_.loading()) push({Operation::Kind::erase_id, key, id});
}

void Writer::drop(const Key& key, uint64_t id, Place place) {
  auto entry = core_.table.find(key, id);
  if (!entry || !core_.table.erase_at(key, place)) return;
  core_.reporter.removed(*entry);
  syncer_.changed({{key, entry->variant}});
  push({Operation::Kind::erase_id, key, id});
}

bool Writer::carry(std::vector<Carried>& carried) {
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  Operation o{Operation::Kind::carry, {}};
  o.carried = &carried;
  o.done = [&] {
    std::lock_guard lock(mutex);
    done = true;
    wake.notify_all();
  };
  {
    std::lock_guard lock(queue_mutex_);
    if (stop_) return false;
    queue_.push_back(std::move(o));
  }
  wake_.notify_all();
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return done; });
  return true;
}

// ---- the thread ----------------------------------------------------------------

void Writer::run() {
  if (!core_.wait_for(Core::Stage::ready)) return;
  appender_.resume();
  int64_t next_look = now_ms() + kTickMs, give_up_at = INT64_MAX;
  for (;;) {
    std::deque<Operation> todo;
    {
      std::unique_lock lock(queue_mutex_);
      if (backlog_.empty()) wake_.wait_for(lock, std::chrono::milliseconds(kTickMs), [&] { return stop_ || room_made_ || !queue_.empty(); });
      // One turn for many objects: fewer changes between this thread and those that it takes from.
      if (!queue_.empty()) wake_.wait_for(lock, std::chrono::milliseconds(kGatherMs), [&] { return stop_ || room_made_ || urgent_ || queue_.size() >= kGather; });
      todo.swap(queue_);
      room_made_ = urgent_ = false;
      if (stop_ && give_up_at == INT64_MAX) give_up_at = now_ms() + kStopMs;
    }
    if (core_.health.may_write()) {
      auto again = std::move(unwritten_);
      unwritten_.clear();
      for (auto& o : again) write_erase(std::move(o));
    }
    bool ending = todo.empty() && backlog_.empty() && give_up_at != INT64_MAX;
    // First what makes room, and removals: somebody waits for them, and of what stands before them in the queue nothing that
    // they remove is written any more. Then what waits for room, then the others in their order, some at a time.
    for (Operation& o : todo) {
      if (o.kind == Operation::Kind::carry || o.kind == Operation::Kind::erase_key) work(o);
      else backlog_.push_back(std::move(o));
    }
    for (Operation& o : std::exchange(waiting_, {})) work(o);
    for (int64_t until = now_ms() + kTurnMs; !backlog_.empty() && now_ms() < until;) {
      Operation o = std::move(backlog_.front());
      backlog_.pop_front();
      work(o);
    }
    flush();
    if (now_ms() >= next_look) {
      look_at_all_pending();
      answer_late_removals();
      next_look = now_ms() + kTickMs;
    }
    if (ending || now_ms() >= give_up_at) break;
  }
  for (auto& o : unwritten_) not_durable(*o);
  unwritten_.clear();
}

// Nobody finds the objects; but they may be there again after the next start.
void Writer::not_durable(Operation& o) {
  if (auto durable = std::exchange(o.durable, {})) durable(std::nullopt);
}

void Writer::answer_late_removals() {
  for (auto& o : unwritten_)
    if (now_ms() >= o->until_ms) not_durable(*o);
}

void Writer::work(Operation& o) {
  switch (o.kind) {
    case Operation::Kind::store: {
      {
        std::lock_guard lock(queue_mutex_);
        o.pending->queued = false;
      }
      work_on(*o.pending);
      break;
    }
    case Operation::Kind::erase_key:
      if (o.ask_index) {
        std::vector<Entry> entries;
        std::shared_ptr<Index> index = core_.index();
        if (index && index->find(o.key, entries))
          for (const Entry& e : entries)
            if (core_.segments.find(e.place.segment)) changed(o.key, e.variant), core_.reporter.removed(e), ++o.count;
        o.ask_index = false;
      }
      write_erase(std::make_unique<Operation>(std::move(o)));
      break;
    case Operation::Kind::erase_id:
      if (core_.loading()) {
        core_.take_key(o.key);
        Entry gone;
        if (core_.table.erase(o.key, o.id, &gone)) changed(o.key, gone.variant), core_.reporter.removed(gone);
      }
      write_erase(std::make_unique<Operation>(std::move(o)));
      break;
    case Operation::Kind::erase_replaced:
      core_.take_key(o.key);
      erase_replaced_in_table(o.key, o.variant);
      break;
    case Operation::Kind::rehead: write_rehead(o); break;
    case Operation::Kind::carry:
      for (Carried& c : *o.carried) write_carried(c);
      flush();
      o.done();
      break;
  }
}

void Writer::room_made() {
  std::lock_guard lock(queue_mutex_);
  room_made_ = true;
  wake_.notify_all();
}

// Reclaiming is a little behind: the queue is there for that. What is wanted is said each time: the index grows as well,
// and may have taken what was made.
Writer::Room Writer::room_for(Pending& p, uint64_t bytes) {
  bytes += appender_.gathered();
  if (core_.has_room(bytes)) {
    p.waits_until_ms = 0;
    return Room::there;
  }
  if (!p.waits_until_ms) p.waits_until_ms = now_ms() + kRoomMs;
  if (p.cancelled || core_.health.failed() || core_.stopping() || now_ms() >= p.waits_until_ms) return Room::none;
  flush();
  core_.look_for_room(bytes);
  std::lock_guard lock(queue_mutex_);
  if (std::exchange(p.queued, true)) return Room::awaited;   // its turn comes anyway, and must not come twice
  Operation o{Operation::Kind::store, p.key};
  o.pending = base::Ref<Pending>(&p);
  waiting_.push_back(std::move(o));
  return Room::awaited;
}

// A body that was to be kept and is not any more, or waits for bytes that come only when we take some, says nothing.
void Writer::look_at_all_pending() {
  std::vector<base::Ref<Pending>> some;
  {
    std::lock_guard lock(pending_mutex_);
    for (auto& [key, pending] : pending_)
      if (!pending->body->retained() || pending->cancelled) some.push_back(pending);
  }
  for (auto& pending : some) ready(*pending);
}

// ---- records -------------------------------------------------------------------

std::optional<Place> Writer::append(RecordHeader& header, std::string_view head, const iovec* data, int parts, Written written) {
  if (!appender_.fits(header.bytes(), parts)) flush();
  std::optional<Place> place = core_.health.failed() ? std::nullopt : appender_.place_for(header.bytes());
  if (!place) {
    failed(written);
    return {};
  }
  written.entry = make_entry(header.key, header.variant, header.id, *place, header.bytes(), header.head_bytes, header.type == RecordType::head);
  if (written.pending && written.pending->disk_bytes) {
    uint64_t bytes = written.pending->disk_bytes + header.bytes();
    written.entry.units = uint32_t(std::min<uint64_t>(bytes / kAlign, UINT32_MAX));
  }
  appender_.add(header, head, data, parts);
  batch_.push_back(std::move(written));
  return place;
}

// True: all that was gathered is on file, and in the table.
bool Writer::flush() {
  if (appender_.empty()) {
    if (!names_.empty()) syncer_.changed(std::exchange(names_, {}));
    return true;
  }
  base::Ref<Segment> segment = appender_.segment();
  bool fine = appender_.flush();
  auto batch = std::exchange(batch_, {});
  std::vector<std::unique_ptr<Operation>> synced;
  for (Written& w : batch) {
    if (!fine) failed(w);
    else if (w.kind == Operation::Kind::erase_key) synced.push_back(std::move(w.operation));
    else commit(w);
  }
  if (fine) syncer_.changed(std::exchange(names_, {}), appender_.end(), segment);
  for (auto& o : synced)
    if (o->durable) syncer_.when_synced([durable = std::move(o->durable), count = o->count] { durable(count); });
  return fine;
}

void Writer::commit(Written& w) {
  switch (w.kind) {
    case Operation::Kind::store:
      if (w.pending) committed(w);
      break;
    case Operation::Kind::rehead:
      if (core_.table.move(w.entry.key(), w.entry.id(), &w.from, w.entry)) {
        core_.tally.add(&Disk::Counters::reheads);
        changed(w.entry.key(), w.entry.variant);
      }
      break;
    case Operation::Kind::carry:
      w.carried->to = w.entry.place;
      core_.tally.add(&Disk::Counters::carried_bytes, w.carried->header.bytes());
      if (w.carried->header.type == RecordType::extent || w.carried->header.type == RecordType::ban) break;
      if (core_.table.move(w.entry.key(), w.entry.id(), &w.from, w.entry)) changed(w.entry.key(), w.entry.variant);
      else w.carried->to = {};
      break;
    default: break;
  }
}

void Writer::failed(Written& w) {
  if (w.kind == Operation::Kind::store && w.pending) give_up(*w.pending);
  if (w.kind == Operation::Kind::rehead) erase(w.entry.key(), w.entry.id());
  if (!w.operation) return;
  // Removals are not given up while there is hope.
  if (!core_.health.failed() && unwritten_.size() < kMostUnwritten) unwritten_.push_back(std::move(w.operation));
  else not_durable(*w.operation);
}

void Writer::write_erase(std::unique_ptr<Operation> o) {
  RecordHeader h;
  h.type = RecordType::erase;
  h.key = o->key;
  h.id = o->kind == Operation::Kind::erase_id ? o->id : 0;
  h.head_hash = h.data_hash = hash_bytes({});
  if (!o->until_ms) o->until_ms = now_ms() + kEraseMs;
  Written w{Operation::Kind::erase_key};
  w.operation = std::move(o);
  append(h, {}, nullptr, 0, std::move(w));
}

// A new head record over the old body: one extent which is the old object record, or the old list.
void Writer::write_rehead(Operation& o) {
  flush();   // the object may be among what was gathered
  core_.take_key(o.key);
  auto entry = core_.table.find(o.key, o.id);
  if (!entry) return;
  RecordHeader h;
  std::string list;
  RecordReader reader(core_, *entry, false);
  if (reader.read_head() != RecordReader::Result::fine) return erase(o.key, o.id);
  if (entry->is_head) {
    if (reader.read_data(list) != RecordReader::Result::fine) return erase(o.key, o.id);
  } else {
    list = encode_extents({{entry->place, uint32_t(reader.header().data_offset()), reader.header().data_bytes}});
  }
  h = reader.header();
  h.type = RecordType::head;
  h.head_bytes = uint32_t(o.head.size());
  h.head_hash = hash_bytes(o.head);
  h.data_bytes = uint32_t(list.size());
  h.data_hash = hash_bytes(list);
  Written w{Operation::Kind::rehead};
  w.from = entry->place;
  w.entry = *entry;
  iovec part{list.data(), list.size()};
  if (append(h, o.head, &part, 1, std::move(w))) {
    Entry& e = batch_.back().entry;
    e.units = entry->units;
    e.uses = entry->uses;
    e.tick = entry->tick;
  }
  flush();   // o.head and list end with this call
}

void Writer::write_carried(Carried& c) {
  bool has_entry = c.header.type == RecordType::object || c.header.type == RecordType::head;
  std::optional<Entry> entry;
  if (has_entry) {
    entry = core_.table.find(c.header.key, c.header.id);
    if (!entry || entry->place != c.from) return;
  }
  Written w{Operation::Kind::carry};
  w.carried = &c;
  w.from = c.from;
  iovec part{c.data.data(), c.data.size()};
  if (!append(c.header, c.head, &part, 1, std::move(w)) || !entry) return;
  Entry& e = batch_.back().entry;
  e.units = uint32_t(std::min<uint64_t>(c.object_bytes / kAlign, UINT32_MAX));
  e.tick = entry->tick;
  e.uses = c.keep_uses ? entry->uses : entry->uses / 2;
}

}  // namespace loligo::store::disk
