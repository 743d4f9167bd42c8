#include "store/disk/record_reader.h"

#include <cstdlib>

namespace loligo::store::disk {

using Result = RecordReader::Result;

Result RecordReader::read(const iovec* parts, int n, uint64_t bytes, uint64_t offset) {
  int64_t got = segment_->file->read(parts, n, offset, no_wait_);
  if (got == -EAGAIN && no_wait_) return Result::again;
  if (got < 0) {
    core_.health.read_error(int(got));
    return Result::error;
  }
  core_.health.did_read();
  if (!quiet_) {
    core_.tally.add(&Disk::Counters::reads);
    core_.tally.add(&Disk::Counters::read_bytes, uint64_t(got));
  }
  return uint64_t(got) == bytes ? Result::fine : Result::damaged;
}

Result RecordReader::judge_header(const char* bytes) {
  RecordType wanted = entry_.is_head ? RecordType::head : RecordType::object;
  bool sound = decode(bytes, segment_->seed(entry_.place), header_) && header_.type == wanted && header_.key == entry_.key() && header_.id == entry_.id();
  return sound ? Result::fine : Result::damaged;
}

// With what the table knows of sizes one call reads all: header, head and, straight into its place, the body.
Result RecordReader::read_head(uint64_t body_limit) {
  if (!segment_) segment_ = core_.segments.find(entry_.place.segment);
  if (!segment_) return Result::gone;
  char header[kRecordHeaderBytes];
  bool size_known = entry_.head_units != Entry::kBigHead;
  uint64_t head_room = size_known ? entry_.head_units * kAlign : 0, before = kRecordHeaderBytes + head_room;
  bool whole = size_known && !entry_.is_head && entry_.bytes() >= before && entry_.bytes() - before <= padded(std::min(body_limit, kMaxExtent)) && body_limit > 0;
  uint64_t body_room = whole ? entry_.bytes() - before : 0;
  head_.resize(head_room);
  struct Free { void operator()(char* p) const { std::free(p); } };
  std::unique_ptr<char, Free> body(body_room ? static_cast<char*>(std::malloc(body_room)) : nullptr);
  if (body_room && !body) return Result::error;
  iovec parts[3] = {{header, sizeof header}, {head_.data(), head_room}, {body.get(), body_room}};
  Result result = read(parts, 3, before + body_room, entry_.place.offset());
  if (result != Result::fine || (result = judge_header(header)) != Result::fine) return result;
  if (!size_known) {
    head_.resize(padded(header_.head_bytes));
    iovec part{head_.data(), head_.size()};
    result = read(&part, 1, head_.size(), entry_.place.offset() + kRecordHeaderBytes);
    if (result != Result::fine) return result;
  }
  if (padded(header_.head_bytes) != head_.size()) return Result::damaged;
  head_.resize(header_.head_bytes);
  if (hash_bytes(head_) != header_.head_hash) return Result::damaged;
  if (!whole) return Result::fine;
  if (padded(header_.data_bytes) != body_room || hash_bytes({body.get(), header_.data_bytes}) != header_.data_hash) return Result::damaged;
  body_ = base::make_ref<Body>(header_.length, true, 0);
  if (header_.data_bytes) body_->append_owned(body.release(), uint32_t(body_room), header_.data_bytes);
  body_->complete();
  return Result::fine;
}

Result RecordReader::read_data(std::string& data) {
  data.resize(header_.data_bytes);
  iovec part{data.data(), data.size()};
  Result result = read(&part, 1, data.size(), entry_.place.offset() + header_.data_offset());
  if (result == Result::fine && hash_bytes(data) != header_.data_hash) return Result::damaged;
  return result;
}

Result RecordReader::read_extents(const std::vector<Extent>& extents, base::Ref<Body>& body) {
  body = base::make_ref<Body>(header_.length, true, 0);
  uint64_t offset = 0;
  for (const Extent& e : extents) {
    base::Ref<Segment> segment = core_.segments.find(e.place.segment);
    if (!segment) return Result::gone;
    char* data = nullptr;
    Result result = check_extent(core_, *segment, entry_.key(), entry_.id(), e, offset, &data);
    if (result != Result::fine) return result;
    if (e.bytes) body->append_owned(data, e.bytes, e.bytes);
    else std::free(data);
    offset += e.bytes;
  }
  body->complete();
  return Result::fine;
}

Result RecordReader::check_extent(Core& core, Segment& segment, const Key& key, uint64_t id, const Extent& e, uint64_t body_offset, char** data) {
  char header[kRecordHeaderBytes];
  char* bytes = static_cast<char*>(std::malloc(std::max<uint32_t>(e.bytes, 1)));
  if (!bytes) return Result::error;
  iovec parts[2] = {{header, sizeof header}, {bytes, e.bytes}};
  // The head of an object record lies between; extents have none.
  int64_t got;
  if (e.skip == kRecordHeaderBytes) {
    got = segment.file->read(parts, 2, e.place.offset(), false);
  } else {
    got = segment.file->read(parts, 1, e.place.offset(), false);
    if (int64_t more = got < 0 ? got : segment.file->read(parts + 1, 1, e.place.offset() + e.skip, false); more < 0) got = more;
    else got += more;
  }
  Result result = Result::fine;
  RecordHeader h;
  if (got < 0) {
    core.health.read_error(int(got));
    result = Result::error;
  } else {
    core.health.did_read();
    core.tally.add(&Disk::Counters::reads);
    core.tally.add(&Disk::Counters::read_bytes, uint64_t(got));
    bool sound = uint64_t(got) == kRecordHeaderBytes + e.bytes && decode(header, segment.seed(e.place), h) && h.key == key && h.id == id &&
                 h.data_offset() == e.skip && h.data_bytes == e.bytes &&
                 (h.type == RecordType::object ? body_offset == 0 : h.type == RecordType::extent && h.length == body_offset) &&
                 hash_bytes({bytes, e.bytes}) == h.data_hash;
    if (sound) segment.set_checked(e.place.offset(), h.bytes());
    else result = Result::damaged;
  }
  if (data && result == Result::fine) *data = bytes;
  else std::free(bytes);
  return result;
}

}  // namespace loligo::store::disk
