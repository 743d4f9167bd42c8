#include "store/disk/file_body.h"

#include <algorithm>

namespace loligo::store::disk {

base::Ref<FileBody> FileBody::make(std::shared_ptr<Core> core, std::shared_ptr<ReadPool> pool, const Key& key, uint64_t id, std::vector<Extent> extents) {
  base::Ref<FileBody> body(new FileBody(std::move(core), std::move(pool), key, id));
  uint64_t offset = 0;
  for (const Extent& e : extents) {
    base::Ref<Segment> segment = body->core_->segments.find(e.place.segment);
    if (!segment) return {};
    body->parts_.push_back({e, offset, std::move(segment), false, State::unknown});
    offset += e.bytes;
  }
  return body;
}

void FileBody::append(const Extent& e, base::Ref<Segment> segment) {
  std::lock_guard lock(mutex_);
  uint64_t offset = parts_.empty() ? 0 : parts_.back().offset + parts_.back().extent.bytes;
  parts_.push_back({e, offset, std::move(segment), true, State::unknown});
}

size_t FileBody::part_at(uint64_t offset) const {
  auto it = std::upper_bound(parts_.begin(), parts_.end(), offset, [](uint64_t o, const Part& p) { return o < p.offset; });
  return size_t(it - parts_.begin()) - 1;
}

bool FileBody::checked(const Part& p) { return p.segment->checked(p.extent.place.offset(), p.extent.skip + padded(p.extent.bytes)); }

// A byte here and there, without waiting: whole extents come and go together as a rule.
bool FileBody::in_page_cache(const Part& p) {
  constexpr uint64_t kStep = 128 << 10;
  uint64_t begin = p.extent.place.offset() + p.extent.skip, end = begin + p.extent.bytes;
  char byte;
  for (uint64_t at = begin; at < end; at = at + 1 == end ? end : std::min(at + kStep, end - 1))
    if (p.segment->file->read(&byte, 1, at, true) != 1) return false;
  return true;
}

FileBody::State FileBody::look(Part& p) {
  if (p.state == State::unknown && (p.trusted || checked(p)) && in_page_cache(p)) p.state = State::ready;
  return p.state;
}

BodySource::Ready FileBody::piece(uint64_t offset, Piece& piece) {
  std::lock_guard lock(mutex_);
  if (parts_.empty()) return Ready::damaged;
  size_t i = part_at(offset);
  Part& p = parts_[i];
  if (offset >= p.offset + p.extent.bytes) return Ready::damaged;
  State state = look(p);
  if (state == State::unknown) request(i);
  // The next one is made ready while this one is sent.
  if (i + 1 < parts_.size() && look(parts_[i + 1]) == State::unknown) request(i + 1);
  if (p.state == State::damaged) return Ready::damaged;
  if (state != State::ready) return p.state == State::ready ? Ready::now : Ready::later;
  piece = {p.segment->file->fd(), p.extent.place.offset() + p.extent.skip + (offset - p.offset), p.extent.bytes - (offset - p.offset)};
  return Ready::now;
}

bool FileBody::wait(Reader* reader, uint64_t offset) {
  std::lock_guard lock(mutex_);
  if (parts_.empty()) return false;
  size_t i = part_at(offset);
  if (parts_[i].state != State::reading) return false;
  waiting_.push_back({reader, i});
  return true;
}

void FileBody::leave(Reader* reader) {
  std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Waiting& w) { return w.reader == reader; });
}

void FileBody::request(size_t i) {
  parts_[i].state = State::reading;
  std::function<void()> job = [self = base::Ref<FileBody>(this), i] { self->read(i); };
  if (!pool_->post(job)) parts_[i].state = State::damaged;
}

void FileBody::read(size_t i) {
  std::unique_lock part_lock(mutex_);
  Part& p = parts_[i];   // the extent and the segment do not change
  part_lock.unlock();
  auto result = RecordReader::check_extent(*core_, *p.segment, key_, id_, p.extent, p.offset);
  core_->tally.add(&Disk::Counters::pool_reads);
  if (result == RecordReader::Result::damaged) core_->found_damaged(key_, id_);   // so that the next request fetches it anew
  std::lock_guard lock(mutex_);
  p.state = result == RecordReader::Result::fine ? State::ready : State::damaged;
  for (size_t w = 0; w < waiting_.size();) {
    if (waiting_[w].part != i) {
      ++w;
      continue;
    }
    Reader* reader = waiting_[w].reader;
    waiting_[w] = waiting_.back();
    waiting_.pop_back();
    reader->woken();
  }
}

bool FileBody::first_checked() const { return parts_.empty() || checked(parts_[0]); }

RecordReader::Result FileBody::check_first() {
  if (first_checked()) return RecordReader::Result::fine;
  auto result = RecordReader::check_extent(*core_, *parts_[0].segment, key_, id_, parts_[0].extent, 0);
  if (result == RecordReader::Result::fine) parts_[0].state = State::ready;
  return result;
}

}  // namespace loligo::store::disk
