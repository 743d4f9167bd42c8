#include "store/disk/appender.h"

namespace loligo::store::disk {

bool Appender::fits(uint64_t record_bytes, int parts) const {
  if (empty()) return true;
  return bytes_ + record_bytes <= kMostBytes && parts_.size() + size_t(parts) + 4 <= kMostParts &&
         segment_->end() + bytes_ + record_bytes <= core_.segment_bytes();
}

std::optional<Place> Appender::place_for(uint64_t record_bytes) {
  bool full = !segment_ || (segment_->end() + bytes_ + record_bytes > core_.segment_bytes() && segment_->end() > kSegmentHeaderBytes);
  if (full) {
    int error = 0;
    base::Ref<Segment> next = core_.segments.create(error);
    if (!next) {
      core_.health.write_error(error);
      return {};
    }
    core_.tally.add(&Disk::Counters::written_bytes, kSegmentHeaderBytes);
    segment_ = std::move(next);
    core_.look_for_room();
  }
  return Place{segment_->number, uint32_t((segment_->end() + bytes_) / kAlign)};
}

void Appender::add_part(const void* bytes, size_t n) {
  if (n) parts_.push_back({const_cast<void*>(bytes), n});
  bytes_ += n;
}

void Appender::pad(uint64_t bytes) {
  static constexpr char zeros[kAlign] = {};
  add_part(zeros, padded(bytes) - bytes);
}

void Appender::add(const RecordHeader& header, std::string_view head, const iovec* data, int parts) {
  Place place{segment_->number, uint32_t((segment_->end() + bytes_) / kAlign)};
  auto& bytes = headers_.emplace_back();
  encode(header, segment_->seed(place), bytes.data());
  add_part(bytes.data(), bytes.size());
  add_part(head.data(), head.size());
  pad(head.size());
  uint64_t data_bytes = 0;
  for (int i = 0; i < parts; ++i) {
    add_part(data[i].iov_base, data[i].iov_len);
    data_bytes += data[i].iov_len;
  }
  pad(data_bytes);
}

// What an error may have left is cut off, so that it is never taken for records; if not even that works, the segment
// ends where it was sound, and a new one is begun.
bool Appender::flush() {
  if (empty()) return true;
  int64_t n = segment_->file->write(parts_.data(), int(parts_.size()), segment_->end());
  bool fine = n == int64_t(bytes_);
  if (fine) {
    segment_->set_end(segment_->end() + bytes_);
    core_.segments.grew(bytes_);
    core_.tally.add(&Disk::Counters::written_bytes, bytes_);
    core_.health.wrote();
  } else {
    core_.health.write_error(n < 0 ? int(n) : -EIO);
    if (segment_->file->truncate(segment_->end()) != 0) segment_.reset();
  }
  headers_.clear();
  parts_.clear();
  bytes_ = 0;
  return fine;
}

}  // namespace loligo::store::disk
