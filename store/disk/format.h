// The bytes of a segment file (doc/store-format.md says each of them):
//
//   segment = segment-header *( record )          ; all numbers little-endian
//   record  = record-header head pad16 data pad16
//
// A record header carries a checksum keyed by the directory's secret salt and the
// record's own place, so that a body which imitates a record is never taken for
// one, and neither is a record copied elsewhere.
//
// Pure functions, any thread. Bytes that come from disk are judged, never trusted.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/disk/disk.h"

namespace loligo::store::disk {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kAlign = 16;
inline constexpr uint64_t kSegmentHeaderBytes = 64;
inline constexpr uint64_t kRecordHeaderBytes = 80;
inline constexpr uint64_t kMaxExtent = 1 << 20;      // of a body in one record
inline constexpr uint64_t kMaxHead = 512 << 10;
inline constexpr uint64_t kMaxBody = uint64_t(60) << 30;   // of the extent list at most 1 MiB, of sizes in units 32 bits
inline constexpr uint32_t kMaxSegmentNumber = 0x03FFFFFF;   // 26 bits: ids have room for the directory

constexpr uint64_t padded(uint64_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }

// Where a record begins. Segments are numbered from 1: places grow with time.
struct Place {
  uint32_t segment = 0, unit = 0;    // unit: of kAlign bytes
  uint64_t offset() const { return unit * kAlign; }
  friend auto operator<=>(const Place&, const Place&) = default;
};
constexpr uint64_t number_of(Place p) { return uint64_t(p.segment) << 32 | p.unit; }

struct SegmentHeader {
  uint32_t version = kFormatVersion, number = 0;
  uint64_t salt = 0;
};
void encode(const SegmentHeader&, char* out);
// False: not a segment of any version.
bool decode(const char* in, SegmentHeader&);

enum class RecordType : uint8_t {
  object = 1,   // head and whole body
  extent = 2,   // a part of a body; `length` is its offset in the body
  head = 3,     // head of a body that lies elsewhere; the data is its extent list
  erase = 4,    // of the object with `id`, or (0) of all of the key, that stand before it
  ban = 5,      // reserved: kept, not understood
  filler = 6,   // nothing
};

struct RecordHeader {
  RecordType type = RecordType::filler;
  Variant variant;
  Key key;
  uint64_t id = 0;                           // of the object: all its records and their copies have it
  uint64_t length = 0;                       // of the whole body; extent: see above
  uint32_t head_bytes = 0, data_bytes = 0;
  uint64_t head_hash = 0, data_hash = 0;     // XXH3-64
  uint64_t data_offset() const { return kRecordHeaderBytes + padded(head_bytes); }
  uint64_t bytes() const { return data_offset() + padded(data_bytes); }
};

// Of the keyed checksum; `salt` is the segment's.
uint64_t record_seed(uint64_t salt, Place);
void encode(const RecordHeader&, uint64_t seed, char* out);
// False: no record of ours stands here.
bool decode(const char* in, uint64_t seed, RecordHeader&);
// Whether it may be a record; cheap, for searching.
bool looks_like_record(const char* in);

// A part of a body, as head records list it.
struct Extent {
  Place place;             // of the record that holds it (extent or object)
  uint32_t skip = 0;       // from there to the data
  uint32_t bytes = 0;
};
std::string encode_extents(const std::vector<Extent>&);
// Nothing when the list is malformed or does not make up `length` bytes.
std::optional<std::vector<Extent>> decode_extents(std::string_view, uint64_t length);

std::string segment_name(uint32_t number);
std::optional<uint32_t> segment_number(std::string_view name);

uint64_t hash_bytes(std::string_view);

}  // namespace loligo::store::disk
