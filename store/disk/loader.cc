#include "store/disk/loader.h"

#include <algorithm>

#include "base/event_log.h"

namespace loligo::store::disk {

void Loader::start() { thread_ = std::thread([this] { run(); }); }

void Loader::join() {
  if (thread_.joinable()) thread_.join();
}

// Segments newer than those that are there now are this session's: the writer and the table know them.
void Loader::run() {
  std::vector<base::Ref<Segment>> old = core_.segments.all();
  uint32_t newest = old.empty() ? 0 : old.back()->number;
  bool whole = open_index();
  if (whole && core_.index()->indexed_to()) whole = read_tail(*core_.index()->indexed_to());
  core_.index_complete = whole;
  core_.set_stage(Core::Stage::ready);
  if (whole) whole = load_index();
  if (!whole && !core_.stopping()) rebuild(newest);
  if (core_.stopping()) return;
  core_.table.end_loading();
  core_.set_stage(Core::Stage::loaded);
}

// True: there is an index, and it was complete once (an empty directory's is).
bool Loader::open_index() {
  std::string error;
  std::shared_ptr<Index> index = Index::open(core_.files, core_.index_path(), core_.options.capacity, error);
  bool complete = index && (index->indexed_to() || core_.segments.count() == 0);
  if (!complete) {
    base::log_event(base::Section::storage, 1, "cache_dir {}: the index is {}; rebuilding it from {} segments", core_.options.path,
                    index ? "not there" : error, core_.segments.count());
    index.reset();   // a new one is made when there is something to write into it: nobody waits for that
  }
  if (complete && index->indexed_to()) core_.segments.reserve_numbers(index->indexed_to()->segment + 1);
  core_.set_index(std::move(index));
  return complete;
}

// ---- segments, read backwards --------------------------------------------------

bool Loader::stands(const Entry& e) const {
  base::Ref<Segment> segment = core_.segments.find(e.place.segment);
  // An object's entry says how long its record is; a head's how much there is altogether.
  return segment && e.place.offset() + (e.is_head ? kRecordHeaderBytes : e.bytes()) <= segment->end();
}

bool Loader::shadowed(const Key& key, Variant v) const {
  auto it = shadows_.find(key);
  if (it == shadows_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](Variant s) { return s.family != v.family || s.variant == v.variant; });
}

void Loader::replay_item(const SegmentScan::Item& item, bool count) {
  const RecordHeader& h = item.header;
  if (h.type == RecordType::erase) {
    if (h.id == 0) core_.table.touch(h.key);
    else erased_ids_.insert(h.id);
    tail_keys_.push_back(h.key);
    return;
  }
  if (h.type != RecordType::object && h.type != RecordType::head) return;
  if (shadowed(h.key, h.variant)) return;
  if (erased_ids_.contains(h.id)) {
    if (!core_.table.find(h.key, h.variant)) shadows_[h.key].push_back(h.variant);
    return;
  }
  Entry e = make_entry(h.key, h.variant, h.id, item.place, h.type == RecordType::object ? h.bytes() : h.length + h.bytes(), h.head_bytes, h.type == RecordType::head);
  unsigned added = core_.table.insert_older(&e, 1);
  if (count && added) core_.tally.add(&Disk::Counters::rebuilt_objects);
  tail_keys_.push_back(h.key);
}

// From the end to the beginning, so that what is found first is what counts, and nothing removed is ever seen.
bool Loader::replay(const base::Ref<Segment>& segment, uint64_t from, bool count) {
  std::vector<SegmentScan::Item> items;
  SegmentScan scan(segment, from, segment->end());
  for (SegmentScan::Item item; scan.next(item);) {
    if (item.header.type != RecordType::extent && item.header.type != RecordType::ban) items.push_back(item);
    if (core_.stopping()) return false;
  }
  for (auto it = items.rbegin(); it != items.rend(); ++it) replay_item(*it, count);
  if (scan.error()) core_.health.read_error(scan.error());
  return scan.whole();
}

// What was appended after the index was last written. For its keys the index is brought up to date before anybody asks.
bool Loader::read_tail(Place from) {
  std::vector<base::Ref<Segment>> segments = core_.segments.all();
  std::erase_if(segments, [&](auto& s) { return s->number < from.segment; });
  Place to = from;
  for (size_t i = segments.size(); i-- > 0;) {
    const base::Ref<Segment>& s = segments[i];
    uint64_t begin = s->number == from.segment ? from.offset() : 0;
    if (begin > s->end()) {   // bytes that the index knows are lost: it points to what is not there, and we see that
      tail_whole_ = false;
      continue;
    }
    bool whole = replay(s, begin, false);
    if (i + 1 == segments.size()) {
      to = {s->number, uint32_t(padded(s->end()) / kAlign)};
      tail_whole_ = whole;
      if (whole && s->end() % kAlign == 0 && s->end() >= kSegmentHeaderBytes) core_.append_to = s;
    }
  }
  if (!segments.empty() && !tail_whole_) core_.append_to.reset();
  std::shared_ptr<Index> index = core_.index();
  std::vector<Index::Name> names;
  for (const Key& key : std::exchange(tail_keys_, {})) {
    std::vector<Entry> entries;
    if (!index->find(key, entries)) return false;
    for (const Entry& e : entries) names.push_back({key, e.variant});
    std::erase_if(entries, [&](const Entry& e) { return !stands(e) || erased_ids_.contains(e.id()) || shadowed(key, e.variant); });
    core_.table.insert_older(entries.data(), entries.size());
    core_.table.touch(key);
    for (const Entry& e : core_.table.find(key)) names.push_back({key, e.variant});
  }
  if (to != from || !names.empty()) syncer_.changed(std::move(names), to);
  return true;
}

bool Loader::load_index() {
  std::string error = "closed";
  std::shared_ptr<Index> index = core_.index();
  std::vector<Index::Name> lost;
  std::vector<Entry> entries;
  bool fine = index && index->for_each_key([&](const Entry* first, size_t n) {
    entries.assign(first, first + n);
    std::erase_if(entries, [&](const Entry& e) {
      bool gone = !stands(e);
      if (gone) lost.push_back({e.key(), e.variant});
      return gone;
    });
    core_.table.insert_older(entries.data(), entries.size());
    return !core_.stopping();
  }, error);
  if (!lost.empty()) syncer_.changed(std::move(lost));
  if (!fine) base::log_event(base::Section::storage, 1, "cache_dir {}: the index is damaged ({}); rebuilding it", core_.options.path, error);
  return fine;
}

void Loader::rebuild(uint32_t newest) {
  core_.index_complete = false;
  core_.table.forget_older();
  erased_ids_.clear();
  shadows_.clear();
  int64_t began = now_ms();
  std::vector<base::Ref<Segment>> segments = core_.segments.all();
  for (size_t i = segments.size(); i-- > 0;) {
    if (segments[i]->number <= newest) replay(segments[i], 0, true);
    tail_keys_.clear();
    if (core_.stopping()) return;
  }
  base::log_event(base::Section::storage, 1, "cache_dir {}: {} objects found in {} segments, {} ms", core_.options.path, core_.table.objects(),
                  segments.size(), now_ms() - began);
  Place to = segments.empty() ? Place{newest, 0} : Place{segments.back()->number, 0};
  if (!segments.empty() && segments.back()->number <= newest) to.unit = uint32_t(padded(segments.back()->end()) / kAlign);
  syncer_.changed({}, to);
  syncer_.rewrite_index();
}

}  // namespace loligo::store::disk
