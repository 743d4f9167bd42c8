// The end of a directory's last segment: records are gathered and written with
// one call. A write that fails leaves nothing behind.
//
// The writer's thread only.
#pragma once
#include <sys/uio.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "store/disk/core.h"

namespace loligo::store::disk {

class Appender {
 public:
  explicit Appender(Core& core) : core_(core) {}
  void resume() { segment_ = core_.append_to; }

  // Where the next record of this size will stand. Nothing when there is no segment for it (errors are counted). What
  // was gathered for the segment before must have been flushed: see fits().
  std::optional<Place> place_for(uint64_t record_bytes);
  // Whether a record can join those gathered.
  bool fits(uint64_t record_bytes, int parts) const;
  // The bytes must stay until flush(). Head and data follow the header; hashes and sizes are set by the caller.
  void add(const RecordHeader&, std::string_view head, const iovec* data, int parts);
  // True: all that was gathered is written.
  bool flush();
  bool empty() const { return headers_.empty(); }
  uint64_t gathered() const { return bytes_; }
  Place end() const { return {segment_->number, uint32_t(segment_->end() / kAlign)}; }
  const base::Ref<Segment>& segment() const { return segment_; }

  static constexpr uint64_t kMostBytes = 1 << 20;
  static constexpr size_t kMostParts = 1000;   // below IOV_MAX

 private:
  void add_part(const void* bytes, size_t n);
  void pad(uint64_t bytes);

  Core& core_;
  base::Ref<Segment> segment_;
  std::deque<std::array<char, kRecordHeaderBytes>> headers_;
  std::vector<iovec> parts_;
  uint64_t bytes_ = 0;
};

}  // namespace loligo::store::disk
