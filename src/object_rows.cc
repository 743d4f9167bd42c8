#include "object_rows.h"

#include "cache/stored_form.h"
#include "http/date.h"

namespace loligo {
namespace {

using mgr::ObjectRow;

constexpr size_t kRowsAtATime = 32;

void describe(const cache::Response& r, base::WallSeconds now, ObjectRow& row) {
  row.described = true;
  row.url = r.url;
  row.negative = r.negative;
  row.must_validate = r.lifetimes.no_cache;
  row.validated = r.lifetimes.response_time;
  if (auto t = http::parse_date(r.last_modified, now); t && !r.last_modified.empty()) row.last_modified = *t;
  if (r.lifetimes.freshness > 0) row.expires = r.lifetimes.response_time + r.lifetimes.freshness - r.lifetimes.initial_age;
}

void place(const store::Disk::Listed& l, ObjectRow& row) {
  row.on_disk = ObjectRow::OnDisk::done;
  row.directory = int(l.directory);
  row.file = uint32_t(l.segment);
  row.disk_bytes = l.bytes;
}

// Memory, then the disk without what memory had.
class StoredRows final : public mgr::ObjectRows {
 public:
  StoredRows(const cache::Cache& cache, bool disk_too) : memory_(cache.memory()), disk_(cache.disk()), disk_too_(disk_too && disk_) {}
  bool next(std::vector<ObjectRow>& rows) override {
    now_ = base::wall_now_microseconds() / 1'000'000;
    if (!memory_done_) {
      memory_done_ = !of_memory(rows);
      return !memory_done_ || disk_too_;
    }
    return disk_too_ && of_disk(rows);
  }

 private:
  bool of_memory(std::vector<ObjectRow>& rows) {
    std::vector<store::Memory::Listed> some;
    bool more = memory_.list(memory_cursor_, kRowsAtATime, some);
    for (auto& [object, uses] : some) {
      auto& r = static_cast<const cache::Response&>(*object);
      ObjectRow row{.key_high = r.key.high, .key_low = r.key.low};
      describe(r, now_, row);
      row.in_memory = true;
      row.complete = r.body->state() == store::Body::State::complete;
      row.locks = object->references() - 2;   // the cache's, ours
      row.clients = r.body->reader_count();
      row.uses = uses;
      row.arrived_bytes = r.body->length();
      if (row.complete) row.body_bytes = int64_t(row.arrived_bytes);
      store::Disk::Listed listed;
      if (r.disk_id && disk_ && disk_->where(r.key, r.disk_id, listed)) {
        place(listed, row);
      } else if (r.disk_id && disk_ && disk_->is_writing(r.key, r.disk_id)) {
        row.on_disk = ObjectRow::OnDisk::writing;
        row.queued_bytes = row.arrived_bytes;
      }
      rows.push_back(std::move(row));
    }
    return more;
  }

  bool of_disk(std::vector<ObjectRow>& rows) {
    std::vector<store::Disk::Listed> some;
    bool more = disk_->list(disk_cursor_, kRowsAtATime, some);
    for (const store::Disk::Listed& l : some) {
      if (memory_.peek(l.key, [&](const store::Object& o) { return static_cast<const cache::Response&>(o).disk_id == l.id; })) continue;
      ObjectRow row{.key_high = l.key.high, .key_low = l.key.low};
      place(l, row);
      row.uses = l.uses;
      if (l.idle_seconds >= 0) row.last_used = now_ - l.idle_seconds;
      std::string head;
      uint64_t length = 0;
      if (disk_->head_in_reach(l, head, length)) {
        row.body_bytes = int64_t(length);
        if (auto r = cache::read_stored_head(l.key, head)) describe(*r, now_, row);
      }
      rows.push_back(std::move(row));
    }
    return more;
  }

  const store::Memory& memory_;
  const store::Disk* const disk_;
  const bool disk_too_;
  store::Memory::Cursor memory_cursor_;
  uint64_t disk_cursor_ = 0;
  bool memory_done_ = false;
  base::WallSeconds now_ = 0;
};

class WritingRows final : public mgr::ObjectRows {
 public:
  explicit WritingRows(const store::Disk* disk) { if (disk) all_ = disk->writing(); }
  bool next(std::vector<ObjectRow>& rows) override {
    base::WallSeconds now = base::wall_now_microseconds() / 1'000'000;
    for (size_t end = std::min(all_.size(), at_ + kRowsAtATime); at_ < end; ++at_) {
      const store::Disk::Writing& w = all_[at_];
      ObjectRow row{.key_high = w.key.high, .key_low = w.key.low};
      if (auto r = cache::read_stored_head(w.key, w.head)) describe(*r, now, row);
      row.complete = w.complete;
      row.on_disk = ObjectRow::OnDisk::writing;
      row.directory = int(w.directory);
      row.clients = w.readers;
      row.arrived_bytes = w.arrived;
      row.queued_bytes = w.arrived - w.written;
      if (w.complete) row.body_bytes = int64_t(w.arrived);
      rows.push_back(std::move(row));
    }
    return at_ < all_.size();
  }

 private:
  std::vector<store::Disk::Writing> all_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<mgr::ObjectRows> object_rows(const cache::Cache& cache, mgr::Objects which) {
  if (which == mgr::Objects::being_written) return std::make_unique<WritingRows>(cache.disk());
  return std::make_unique<StoredRows>(cache, which == mgr::Objects::all);
}

}  // namespace loligo
