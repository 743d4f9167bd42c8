#include "store/disk/reclaimer.h"

#include <algorithm>

namespace loligo::store::disk {

void Reclaimer::start() { thread_ = std::thread([this] { run(); }); }

void Reclaimer::join() {
  if (thread_.joinable()) thread_.join();
}

void Reclaimer::run() {
  if (!core_.wait_for(Core::Stage::loaded)) return;
  uint64_t wanted = 0;
  while (core_.wait_to_look(kLookMs, wanted))
    while (!core_.stopping() && must_reclaim(wanted)) reclaim(core_.segments.oldest());
}

// The segment that is written to stays, whatever happens.
bool Reclaimer::must_reclaim(uint64_t wanted) const {
  if (core_.segments.count() < 2 || core_.health.failed()) return false;
  if (core_.segments.count() > kMostSegments) return true;
  uint64_t used = core_.used(), room = core_.room.load(std::memory_order_relaxed);
  // Room for what comes while a segment is being reclaimed: two segments, or what the marks say.
  uint64_t high = std::min(core_.options.capacity / 100 * std::min(core_.all.high_percent, 100u), room - std::min(room / 4, 2 * core_.segment_bytes()));
  if (core_.full_at.load(std::memory_order_relaxed)) high = std::min(high, core_.full_at.load(std::memory_order_relaxed));
  return used > high || !core_.has_room(wanted);
}

void Reclaimer::reclaim(const base::Ref<Segment>& segment) {
  std::vector<Carried> bans;
  Objects objects = objects_in(segment, bans);
  writer_.give_up_in(segment->number);
  if (!bans.empty()) writer_.carry(bans);
  unsigned carried = carry(segment, objects);
  drop_all(segment->number, objects);
  // What was carried must be safe before its origin goes; and segments must go in order, so that no removal is lost
  // before what it removed.
  if (carried || !bans.empty()) syncer_.sync_now();
  if (int error = core_.segments.remove(segment->number)) core_.health.write_error(error);
  else core_.tally.add(&Disk::Counters::segments_reclaimed);
  writer_.room_made();
  if (int error = core_.files.sync_directory(core_.options.path)) core_.health.write_error(error);
}

// Everything in the segment that the table still knows, by its records; bans are kept without being understood.
Reclaimer::Objects Reclaimer::objects_in(const base::Ref<Segment>& segment, std::vector<Carried>& bans) {
  Objects objects;
  SegmentScan scan(segment, 0, segment->end());
  for (SegmentScan::Item item; scan.next(item) && !core_.stopping();) {
    const RecordHeader& h = item.header;
    if (h.type == RecordType::ban) {
      Carried ban{h};
      ban.head.resize(h.head_bytes);
      ban.data.resize(h.data_bytes);
      segment->file->read(ban.head.data(), ban.head.size(), item.place.offset() + kRecordHeaderBytes, false);
      segment->file->read(ban.data.data(), ban.data.size(), item.place.offset() + h.data_offset(), false);
      if (hash_bytes(ban.head) == h.head_hash && hash_bytes(ban.data) == h.data_hash) bans.push_back(std::move(ban));
      continue;
    }
    if (h.type == RecordType::erase) continue;
    auto entry = core_.table.find(h.key, h.id);
    if (!entry) continue;
    bool its_record = entry->place == item.place;
    if (!its_record && !entry->is_head) continue;               // an older copy
    if (h.type == RecordType::head && !its_record) continue;    // an older head
    Object& o = objects[h.id];
    o.entry = *entry;
    o.bytes_here += h.bytes();
    o.simple = !entry->is_head;
  }
  if (scan.error()) core_.health.read_error(scan.error());
  return objects;
}

unsigned Reclaimer::carry(const base::Ref<Segment>& segment, const Objects& objects) {
  std::vector<const Object*> all;
  std::vector<CarryOver::Candidate> candidates;
  uint32_t now = core_.tick();
  for (auto& [id, o] : objects) {
    bool in_memory = core_.all.in_memory && core_.all.in_memory(o.entry.key());
    all.push_back(&o);
    candidates.push_back({o.bytes_here, o.entry.uses, (now - o.entry.tick) & 0x7FFF, in_memory});
  }
  unsigned carried = 0;
  std::vector<Carried> batch;
  uint64_t batch_bytes = 0;
  auto flush = [&] {
    if (!batch.empty() && writer_.carry(batch))
      for (const Carried& c : batch) carried += c.to.segment != 0;
    batch.clear();
    batch_bytes = 0;
  };
  uint64_t allowance = uint64_t(double(segment->end()) * CarryOver::kShare) + saved_;
  std::vector<uint32_t> chosen = carry_over_.choose(candidates, uint64_t(double(allowance) / CarryOver::kShare));
  uint64_t spent = 0;
  for (uint32_t i : chosen) spent += all[i]->bytes_here;
  saved_ = std::min(allowance - std::min(allowance, spent), most_saved_);
  for (uint32_t i : chosen) {
    if (core_.stopping() || !core_.health.may_write()) break;
    if (!all[i]->simple) {
      carried += carry_parts(*all[i], segment->number);
      continue;
    }
    carry_record(*all[i], batch);
    batch_bytes += all[i]->bytes_here;
    if (batch_bytes >= kBatchBytes) flush();
  }
  flush();
  core_.tally.add(&Disk::Counters::carried, carried);
  return carried;
}

// The whole record of an entry, checked.
std::optional<Carried> Reclaimer::whole_record(const Entry& entry, bool keep_uses) {
  RecordReader reader(core_, entry, false);
  Carried c;
  if (reader.read_head() != RecordReader::Result::fine || reader.read_data(c.data) != RecordReader::Result::fine) return {};
  c.header = reader.header();
  c.head = std::move(reader.head());
  c.from = entry.place;
  c.object_bytes = entry.bytes();
  c.keep_uses = keep_uses;
  return c;
}

void Reclaimer::carry_record(const Object& o, std::vector<Carried>& batch) {
  if (auto c = whole_record(o.entry, false)) batch.push_back(std::move(*c));
}

// An object whose head and body lie apart: its parts in this segment are written again, then a head that knows where.
// A body of one part becomes one record with its head.
bool Reclaimer::carry_parts(const Object& o, uint32_t segment) {
  auto head = whole_record(o.entry, true);
  if (!head) return false;
  auto extents = decode_extents(head->data, head->header.length);
  if (!extents) return false;
  bool last_part = !extents->empty() && extents->back().place.segment == segment;
  head->keep_uses = !last_part;   // otherwise its other parts, in the segments that go next, would not be carried
  uint64_t offset = 0;
  for (Extent& e : *extents) {
    uint64_t at = std::exchange(offset, offset + e.bytes);
    if (e.place.segment != segment) continue;
    base::Ref<Segment> from = core_.segments.find(segment);
    char* data = nullptr;
    if (!from || RecordReader::check_extent(core_, *from, o.entry.key(), o.entry.id(), e, at, &data) != RecordReader::Result::fine) return false;
    std::vector<Carried> part(1);
    part[0].data.assign(data, e.bytes);
    std::free(data);
    part[0].header = head->header;
    part[0].header.data_bytes = e.bytes;
    part[0].header.data_hash = hash_bytes(part[0].data);
    if (extents->size() == 1) {
      part[0].header.type = RecordType::object;
      part[0].head = head->head;
      part[0].from = head->from;
      part[0].object_bytes = part[0].header.bytes();
      return writer_.carry(part) && part[0].to.segment != 0;
    }
    part[0].header.type = RecordType::extent;
    part[0].header.head_bytes = 0;
    part[0].header.head_hash = hash_bytes({});
    part[0].header.length = at;
    if (!writer_.carry(part) || part[0].to.segment == 0) return false;
    e.place = part[0].to;
    e.skip = kRecordHeaderBytes;
  }
  head->data = encode_extents(*extents);
  head->header.data_hash = hash_bytes(head->data);
  std::vector<Carried> one;
  one.push_back(std::move(*head));
  return writer_.carry(one) && one[0].to.segment != 0;
}

// What still stands in the segment has not been carried: also what the scan did not see, for damage.
void Reclaimer::drop_all(uint32_t segment, const Objects& objects) {
  std::vector<Index::Name> names;
  auto dropped = [&](const Entry& e) {
    names.push_back({e.key(), e.variant});
    core_.tally.add(&Disk::Counters::evicted);
    core_.reporter.removed(e, true);
  };
  for (auto& [id, o] : objects) {
    if (o.simple) continue;
    auto now = core_.table.find(o.entry.key(), id);
    if (now && now->place == o.entry.place && core_.table.erase_at(now->key(), now->place)) dropped(*now);
  }
  std::vector<Entry> rest;
  for (unsigned shard = 0; shard < Table::kShards; ++shard)
    core_.table.for_each_in(shard, [&](const Entry& e) {
      if (e.place.segment == segment) rest.push_back(e);
    });
  for (const Entry& e : rest)
    if (core_.table.erase_at(e.key(), e.place)) dropped(e);
  syncer_.changed(std::move(names));
}

}  // namespace loligo::store::disk
