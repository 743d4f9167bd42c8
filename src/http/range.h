// Byte ranges (RFC 9110 section 14).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loligo::http {

struct ByteRange { uint64_t first, last; };  // inclusive
enum class RangeVerdict : uint8_t { ignore, satisfiable, unsatisfiable };
inline constexpr size_t kMaxRanges = 32;
struct Ranges { RangeVerdict verdict = RangeVerdict::ignore; std::vector<ByteRange> list; };
// Parses a Range value against a representation of `size` bytes. Malformed or other units = ignore; more than kMaxRanges or
// heavily overlapping = ignore. Unsatisfiable only when every valid range lies past the end. Order kept.
Ranges parse_ranges(std::string_view value, uint64_t size);

struct ContentRange { uint64_t first, last; std::optional<uint64_t> complete; };
std::optional<ContentRange> parse_content_range(std::string_view);
// A 206 that brings one part of a representation, all of it (`length` bytes), and says how long the whole is: what can be
// kept and joined. Positions stay below 2^63, so that sums of two do not wrap.
struct KnownPart { uint64_t first, end, complete; };   // [first, end)
std::optional<KnownPart> known_part(std::string_view content_range, uint64_t length);

// multipart/byteranges: the text before each part, and the end; `boundary` must not occur in the body (caller picks it at random).
std::string part_head(std::string_view boundary, std::string_view content_type, ByteRange, uint64_t size, bool first);
std::string parts_end(std::string_view boundary);

}  // namespace loligo::http
