#include "store/disk/segment.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <random>

namespace loligo::store::disk {

Segment::Segment(uint32_t number, uint64_t salt, base::Ref<File> file, uint64_t end, uint64_t capacity)
    : number(number), salt(salt), file(std::move(file)), end_(end), marks_(std::max(end, capacity) / kMarkBytes / 64 + 1) {}

bool Segment::checked(uint64_t offset, uint64_t bytes) const {
  uint64_t mark = (offset + kMarkBytes - 1) / kMarkBytes;
  if (mark * kMarkBytes >= offset + bytes || mark / 64 >= marks_.size()) return false;
  return marks_[mark / 64].load(std::memory_order_acquire) >> (mark % 64) & 1;
}

void Segment::set_checked(uint64_t offset, uint64_t bytes) {
  uint64_t mark = (offset + kMarkBytes - 1) / kMarkBytes;
  if (mark * kMarkBytes >= offset + bytes || mark / 64 >= marks_.size()) return;
  marks_[mark / 64].fetch_or(uint64_t(1) << (mark % 64), std::memory_order_release);
}

// ---- the segments of a directory -----------------------------------------------

int Segments::open(unsigned& other_version) {
  std::vector<std::string> names;
  if (int error = files_.list(path_, names)) return error;
  struct Found { uint32_t number; base::Ref<File> file; uint64_t salt, size; };
  std::vector<Found> found;
  std::unique_lock lock(mutex_);
  for (const std::string& name : names) {
    auto number = segment_number(name);
    if (!number) continue;
    next_number_ = std::max(next_number_, *number + 1);
    int error = 0;
    base::Ref<File> file = files_.open(path_ + "/" + name, OpenMode::write, error);
    if (!file) file = files_.open(path_ + "/" + name, OpenMode::read, error);
    if (!file) continue;
    char bytes[kSegmentHeaderBytes];
    SegmentHeader header;
    bool sound = file->read(bytes, sizeof bytes, 0, false) == int64_t(sizeof bytes) && decode(bytes, header) && header.number == *number;
    if (sound && header.version != kFormatVersion) {
      ++other_version;
      files_.remove(path_ + "/" + name);
      continue;
    }
    if (sound && !salt_) salt_ = header.salt;
    int64_t size = file->size();
    found.push_back({*number, std::move(file), sound ? header.salt : 0, uint64_t(std::max<int64_t>(size, 0))});
  }
  // All segments of a directory have the same salt, so that one whose header is damaged can be read by the others'.
  if (!salt_) {
    std::random_device random;
    salt_ = uint64_t(random()) << 32 | random() | 1;
  }
  for (Found& f : found) {
    grew(f.size);
    map_.emplace(f.number, base::make_ref<Segment>(f.number, f.salt ? f.salt : salt_, std::move(f.file), f.size, segment_bytes_));
  }
  return 0;
}

base::Ref<Segment> Segments::find(uint32_t number) const {
  std::shared_lock lock(mutex_);
  auto it = map_.find(number);
  return it == map_.end() ? base::Ref<Segment>() : it->second;
}

base::Ref<Segment> Segments::create(int& error) {
  uint32_t number;
  {
    std::unique_lock lock(mutex_);
    if (next_number_ > kMaxSegmentNumber) {
      error = -EOVERFLOW;
      return {};
    }
    number = next_number_++;
  }
  std::string path = path_ + "/" + segment_name(number);
  base::Ref<File> file = files_.open(path, OpenMode::create, error);
  if (!file) return {};
  char bytes[kSegmentHeaderBytes];
  encode(SegmentHeader{kFormatVersion, number, salt_}, bytes);
  iovec part{bytes, sizeof bytes};
  if (int64_t n = file->write(&part, 1, 0); n < 0) {
    error = int(n);
    files_.remove(path);
    return {};
  }
  auto segment = base::make_ref<Segment>(number, salt_, std::move(file), kSegmentHeaderBytes, segment_bytes_);
  grew(kSegmentHeaderBytes);
  std::unique_lock lock(mutex_);
  map_.emplace(number, segment);
  return segment;
}

int Segments::remove(uint32_t number) {
  {
    std::unique_lock lock(mutex_);
    auto it = map_.find(number);
    if (it == map_.end()) return 0;
    bytes_.fetch_sub(it->second->end(), std::memory_order_relaxed);
    it->second->removed.store(true, std::memory_order_relaxed);
    map_.erase(it);
  }
  return files_.remove(path_ + "/" + segment_name(number));
}

std::vector<base::Ref<Segment>> Segments::all() const {
  std::shared_lock lock(mutex_);
  std::vector<base::Ref<Segment>> all;
  for (auto& [number, segment] : map_) all.push_back(segment);
  return all;
}

base::Ref<Segment> Segments::oldest() const {
  std::shared_lock lock(mutex_);
  return map_.empty() ? base::Ref<Segment>() : map_.begin()->second;
}

void Segments::reserve_numbers(uint32_t below) {
  std::unique_lock lock(mutex_);
  if (below <= kMaxSegmentNumber) next_number_ = std::max(next_number_, below);
}

size_t Segments::count() const {
  std::shared_lock lock(mutex_);
  return map_.size();
}

// ---- scanning ------------------------------------------------------------------

SegmentScan::SegmentScan(base::Ref<Segment> segment, uint64_t from, uint64_t to)
    : segment_(std::move(segment)), at_(std::max(padded(from), kSegmentHeaderBytes)), to_(to), buffer_(new char[kBufferBytes]) {}

// `need` bytes at `offset`, or null at the end. Reads far ahead only when the last record was small: otherwise most of
// it would be bodies that nobody looks at.
const char* SegmentScan::bytes_at(uint64_t offset, uint64_t need) {
  if (offset + need > to_) return nullptr;
  if (offset < buffer_offset_ || offset + need > buffer_offset_ + buffer_bytes_) {
    uint64_t bytes = std::min(last_need_ > kBufferBytes / 4 ? std::max<uint64_t>(need, 4096) : kBufferBytes, to_ - offset);
    int64_t n = segment_->file->read(buffer_.get(), bytes, offset, false);
    if (n < 0) error_ = int(n);
    buffer_offset_ = offset;
    buffer_bytes_ = n > 0 ? uint64_t(n) : 0;
    if (buffer_bytes_ < need) return nullptr;
  }
  return buffer_.get() + (offset - buffer_offset_);
}

bool SegmentScan::next(Item& item) {
  for (;;) {
    const char* bytes = bytes_at(at_, kRecordHeaderBytes);
    if (!bytes) {
      whole_ = whole_ && at_ == to_;
      return false;
    }
    item.place = {segment_->number, uint32_t(at_ / kAlign)};
    if (!decode(bytes, segment_->seed(item.place), item.header)) {
      whole_ = false;
      if (!resynchronise()) return false;
      continue;
    }
    last_need_ = item.header.bytes();
    if (at_ + last_need_ > to_) {   // its end is missing
      whole_ = false;
      return false;
    }
    at_ += last_need_;
    if (item.header.type != RecordType::filler) return true;
  }
}

// Goes to the next place where a record may stand.
bool SegmentScan::resynchronise() {
  last_need_ = 0;
  for (at_ += kAlign; const char* bytes = bytes_at(at_, kRecordHeaderBytes); at_ += kAlign)
    if (looks_like_record(bytes)) return true;
  return false;
}

}  // namespace loligo::store::disk
