// Reads one object's record and judges every byte: header, key, head, body.
//
// For one thread at a time. With no_wait nothing is read that is not in the page
// cache: `again` then means that a thread which may wait should try.
#pragma once
#include <string>
#include <vector>

#include "store/disk/core.h"

namespace loligo::store::disk {

class RecordReader {
 public:
  enum class Result : uint8_t { fine, again, damaged, error, gone };   // gone: its segment is no more
  // `segment`: the entry's, if it is held already: it may have been removed.
  RecordReader(Core& core, const Entry& entry, bool no_wait, base::Ref<Segment> segment = {})
      : core_(core), entry_(entry), no_wait_(no_wait), segment_(std::move(segment)) {}
  // Its reads do not count: for those who only look.
  void be_quiet() { quiet_ = true; }

  // Header and head; of an object record the body as well when it takes at most `body_limit` bytes: then body() is there.
  Result read_head(uint64_t body_limit = 0);
  const RecordHeader& header() const { return header_; }
  std::string& head() { return head_; }
  base::Ref<Body>& body() { return body_; }
  const base::Ref<Segment>& segment() const { return segment_; }
  // The record's data, after read_head(): an extent list, or the body.
  Result read_data(std::string& data);
  // The body of a head record into memory.
  Result read_extents(const std::vector<Extent>&, base::Ref<Body>& body);

  // One part of a body: reads and checks its record. `data`, if not null, gets the bytes (malloc; the caller's).
  static Result check_extent(Core&, Segment&, const Key&, uint64_t id, const Extent&, uint64_t body_offset, char** data = nullptr);

 private:
  Result read(const iovec* parts, int n, uint64_t bytes, uint64_t offset);
  Result judge_header(const char* bytes);

  Core& core_;
  const Entry entry_;
  const bool no_wait_;
  bool quiet_ = false;
  base::Ref<Segment> segment_;
  RecordHeader header_;
  std::string head_;
  base::Ref<Body> body_;
};

}  // namespace loligo::store::disk
