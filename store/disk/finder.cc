#include "store/disk/finder.h"

#include <algorithm>

#include "store/disk/record_reader.h"

namespace loligo::store::disk {

using Result = RecordReader::Result;

Finder::Answer Finder::find(const Key& key, uint64_t memory_limit, const Disk::Match& match, bool no_wait, Disk::Found& found) {
  found = {};
  if (core_.health.failed()) return Answer::done;
  memory_limit = std::max(memory_limit, kAlwaysInMemory);
  constexpr int kTries = 4;   // what moves while we look stands elsewhere the next time
  for (int i = 0; i < kTries; ++i) {
    bool unknown = core_.loading() && !core_.table.touched(key);   // asked before the table, which may be whole right after
    const std::vector<Writer::Newer> newer = writer_.ended_pending(key);
    std::vector<Entry> entries = core_.table.find(key);
    if (entries.empty() && unknown) {
      if (no_wait) return Answer::again;
      if (!core_.wait_for(Core::Stage::ready)) return Answer::done;
      core_.load_key(key);
      entries = core_.table.find(key);
    }
    Writer::hide_superseded(newer, entries);
    bool retry = false;
    for (const Entry& entry : entries) {
      Tried tried = attempt(entry, memory_limit, match, no_wait, entries.size() == 1, found);
      if (tried == Tried::again) return Answer::again;
      if (tried == Tried::mismatch) found.other_variant = true;
      if (tried == Tried::retry) retry = true;
      if (tried != Tried::found) continue;
      core_.table.used(key, entry.id(), core_.tick());
      found.other_variant = false;
      return Answer::done;
    }
    if (!retry) break;
  }
  return Answer::done;
}

// An entry that does not lead to its object: it has moved, or goes.
Finder::Tried Finder::lost(const Entry& entry, bool damaged) {
  auto now = core_.table.find(entry.key(), entry.id());
  if (now && now->place != entry.place) return Tried::retry;
  if (!now) return Tried::failed;
  if (damaged) core_.tally.add(&Disk::Counters::damaged);
  writer_.drop(entry.key(), entry.id(), entry.place);
  return Tried::failed;
}

Finder::Tried Finder::attempt(const Entry& entry, uint64_t memory_limit, const Disk::Match& match, bool no_wait, bool alone, Disk::Found& found) {
  RecordReader reader(core_, entry, no_wait);
  auto judged = [&](Result result) {
    if (result == Result::again) return Tried::again;
    if (result == Result::error) return Tried::failed;
    return lost(entry, result == Result::damaged);
  };
  // One of several variants: its head alone says whether it is wanted.
  if (Result r = reader.read_head(alone ? memory_limit : 0); r != Result::fine) return judged(r);
  if (!match(reader.head())) return Tried::mismatch;
  if (!alone && !entry.is_head && memory_limit > 0 && reader.header().length <= memory_limit)
    if (Result r = reader.read_head(memory_limit); r != Result::fine) return judged(r);
  found.id = entry.id();
  uint64_t length = reader.header().length;
  if (!reader.body()) {
    std::vector<Extent> extents{{entry.place, uint32_t(reader.header().data_offset()), reader.header().data_bytes}};
    if (entry.is_head) {
      std::string list;
      if (Result r = reader.read_data(list); r != Result::fine) return judged(r);
      auto decoded = decode_extents(list, length);
      if (!decoded) return lost(entry, true);
      extents = std::move(*decoded);
    }
    if (length > memory_limit || length == 0) {
      Tried tried = body_on_file(entry, std::move(extents), length, no_wait, found);
      if (tried != Tried::found) return tried;
    } else {
      if (no_wait) return Tried::again;
      if (Result r = reader.read_extents(extents, reader.body()); r != Result::fine) return judged(r);
    }
  }
  if (reader.body()) found.body = std::move(reader.body());
  found.head = std::move(reader.head());
  return Tried::found;
}

Finder::Tried Finder::body_on_file(const Entry& entry, std::vector<Extent> extents, uint64_t length, bool no_wait, Disk::Found& found) {
  if (length == 0) {
    found.body = base::make_ref<Body>(0, true, 0);
    found.body->complete();
    return Tried::found;
  }
  base::Ref<FileBody> body = FileBody::make(shared_core_, pool_, entry.key(), entry.id(), std::move(extents));
  if (!body) return lost(entry, false);
  if (!body->first_checked()) {
    if (no_wait) return Tried::again;
    Result r = body->check_first();
    if (r != Result::fine) return r == Result::damaged ? lost(entry, true) : Tried::failed;
  }
  found.body = base::make_ref<Body>(base::Ref<BodySource>(body), length);
  return Tried::found;
}

}  // namespace loligo::store::disk
