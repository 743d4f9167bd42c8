#include "store/disk/format.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <cstring>

namespace loligo::store::disk {

namespace {

constexpr char kSegmentMagic[8] = {'L', 'O', 'L', 'I', 'G', 'O', 'S', 'G'};
constexpr uint32_t kRecordMagic = 0x3152674C;   // "LgR1"

template <class T> void put(char* out, size_t at, T value) { std::memcpy(out + at, &value, sizeof value); }
template <class T> T get(const char* in, size_t at) {
  T value;
  std::memcpy(&value, in + at, sizeof value);
  return value;
}
static_assert(std::endian::native == std::endian::little, "the format is little-endian");

}  // namespace

uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// ---- segments ------------------------------------------------------------------

void encode(const SegmentHeader& h, char* out) {
  std::memset(out, 0, kSegmentHeaderBytes);
  std::memcpy(out, kSegmentMagic, sizeof kSegmentMagic);
  put<uint32_t>(out, 8, h.version);
  put<uint32_t>(out, 12, h.number);
  put<uint64_t>(out, 16, h.salt);
  put<uint64_t>(out, 56, XXH3_64bits(out, 56));
}

bool decode(const char* in, SegmentHeader& h) {
  if (std::memcmp(in, kSegmentMagic, sizeof kSegmentMagic) != 0 || get<uint64_t>(in, 56) != XXH3_64bits(in, 56)) return false;
  h.version = get<uint32_t>(in, 8);
  h.number = get<uint32_t>(in, 12);
  h.salt = get<uint64_t>(in, 16);
  return true;
}

std::string segment_name(uint32_t number) { return fmt::format("segment-{:08x}", number); }

std::optional<uint32_t> segment_number(std::string_view name) {
  constexpr std::string_view prefix = "segment-";
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 8) return {};
  name.remove_prefix(prefix.size());
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || number > kMaxSegmentNumber) return {};
  return number;
}

// ---- records -------------------------------------------------------------------

uint64_t record_seed(uint64_t salt, Place place) { return salt ^ (number_of(place) * 0x9E3779B97F4A7C15u); }

void encode(const RecordHeader& h, uint64_t seed, char* out) {
  std::memset(out, 0, kRecordHeaderBytes);
  put<uint32_t>(out, 0, kRecordMagic);
  out[4] = char(h.type);
  put<uint16_t>(out, 8, h.variant.family);
  put<uint16_t>(out, 10, h.variant.variant);
  put<uint32_t>(out, 12, h.head_bytes);
  put<uint64_t>(out, 16, h.key.high);
  put<uint64_t>(out, 24, h.key.low);
  put<uint64_t>(out, 32, h.id);
  put<uint64_t>(out, 40, h.length);
  put<uint64_t>(out, 48, h.head_hash);
  put<uint64_t>(out, 56, h.data_hash);
  put<uint32_t>(out, 64, h.data_bytes);
  put<uint64_t>(out, 72, XXH3_64bits_withSeed(out, 72, seed));
}

bool looks_like_record(const char* in) { return get<uint32_t>(in, 0) == kRecordMagic; }

bool decode(const char* in, uint64_t seed, RecordHeader& h) {
  if (!looks_like_record(in) || get<uint64_t>(in, 72) != XXH3_64bits_withSeed(in, 72, seed)) return false;
  auto type = uint8_t(in[4]);
  if (type < uint8_t(RecordType::object) || type > uint8_t(RecordType::filler)) return false;
  h.type = RecordType(type);
  h.variant = {get<uint16_t>(in, 8), get<uint16_t>(in, 10)};
  h.head_bytes = get<uint32_t>(in, 12);
  h.key = {get<uint64_t>(in, 16), get<uint64_t>(in, 24)};
  h.id = get<uint64_t>(in, 32);
  h.length = get<uint64_t>(in, 40);
  h.head_hash = get<uint64_t>(in, 48);
  h.data_hash = get<uint64_t>(in, 56);
  h.data_bytes = get<uint32_t>(in, 64);
  if (h.head_bytes > kMaxHead || h.data_bytes > kMaxExtent || h.length > kMaxBody) return false;
  return h.type != RecordType::object || h.length == h.data_bytes;
}

// ---- extent lists --------------------------------------------------------------

std::string encode_extents(const std::vector<Extent>& extents) {
  std::string out(extents.size() * 16, '\0');
  size_t at = 0;
  for (const Extent& e : extents) {
    put<uint32_t>(out.data(), at, e.place.segment);
    put<uint32_t>(out.data(), at + 4, e.place.unit);
    put<uint32_t>(out.data(), at + 8, e.skip);
    put<uint32_t>(out.data(), at + 12, e.bytes);
    at += 16;
  }
  return out;
}

std::optional<std::vector<Extent>> decode_extents(std::string_view bytes, uint64_t length) {
  if (bytes.size() % 16 != 0) return {};
  std::vector<Extent> extents;
  extents.reserve(bytes.size() / 16);
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    Extent e{{get<uint32_t>(bytes.data(), at), get<uint32_t>(bytes.data(), at + 4)}, get<uint32_t>(bytes.data(), at + 8),
             get<uint32_t>(bytes.data(), at + 12)};
    if (e.bytes > kMaxExtent || e.skip < kRecordHeaderBytes || e.skip > kRecordHeaderBytes + padded(kMaxHead) || e.skip % kAlign != 0) return {};
    if (e.bytes == 0 && length != 0) return {};
    sum += e.bytes;
    extents.push_back(e);
  }
  if (sum != length) return {};
  return extents;
}

}  // namespace loligo::store::disk
