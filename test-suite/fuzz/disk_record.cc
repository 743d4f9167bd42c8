// sources: store/disk/format.cc
// libs: -lfmt -lxxhash
// What is read from a segment is judged: whatever is accepted is within the limits, and is written back as the same bytes.
#include <cstring>
#include <string>

#include "store/disk/format.h"
#include "test-suite/fuzz/check.h"

using namespace loligo::store;
using namespace loligo::store::disk;

namespace {

// The fuzzer cannot guess a checksum: one that is right is put in.
void check_record(std::string bytes, uint64_t seed) {
  bytes.resize(kRecordHeaderBytes);
  RecordHeader h;
  if (decode(bytes.data(), seed, h)) FUZZ_CHECK(looks_like_record(bytes.data()));
  RecordHeader made;
  std::memcpy(&made.key, bytes.data(), sizeof made.key);
  made.type = RecordType(uint8_t(bytes[16]));
  std::memcpy(&made.head_bytes, bytes.data() + 17, 4);
  std::memcpy(&made.data_bytes, bytes.data() + 21, 4);
  std::memcpy(&made.length, bytes.data() + 25, 8);
  std::memcpy(&made.id, bytes.data() + 33, 8);
  char out[kRecordHeaderBytes];
  encode(made, seed, out);
  if (!decode(out, seed, h)) return;
  FUZZ_CHECK(h.head_bytes <= kMaxHead && h.data_bytes <= kMaxExtent && h.length <= kMaxBody);
  FUZZ_CHECK(h.bytes() % kAlign == 0 && h.bytes() <= kRecordHeaderBytes + padded(kMaxHead) + padded(kMaxExtent));
  FUZZ_CHECK(h.key == made.key && h.id == made.id && h.type == made.type && h.length == made.length);
  FUZZ_CHECK(!decode(out, seed + 1, h));
}

void check_extents(const std::string& bytes) {
  uint64_t length = 0;
  for (size_t at = 12; at + 4 <= bytes.size(); at += 16) {
    uint32_t n;
    std::memcpy(&n, bytes.data() + at, 4);
    length += n;
  }
  auto extents = decode_extents(bytes, length);
  if (!extents) return;
  FUZZ_CHECK(encode_extents(*extents) == bytes);
  for (const Extent& e : *extents) FUZZ_CHECK(e.bytes <= kMaxExtent && e.skip >= kRecordHeaderBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  uint64_t seed = size;
  check_record(bytes, seed);
  check_extents(bytes);
  std::string header = bytes;
  header.resize(kSegmentHeaderBytes);
  SegmentHeader s;
  decode(header.data(), s);
  if (auto number = segment_number(bytes)) FUZZ_CHECK(segment_name(*number).size() == bytes.size() && *number <= kMaxSegmentNumber);
  return 0;
}
