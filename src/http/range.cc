// Range = "bytes=" 1#( first "-" [ last ] / "-" suffix-length ), RFC 9110 section 14.1.2 and 14.2.
// Positions saturate at 2^64 - 1, so that no digit string wraps. A Range that cannot be read is ignored, as if absent.
#include "http/range.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "http/cache_control.h"

namespace loligo::http {
namespace {

constexpr uint64_t kMaxPosition = std::numeric_limits<uint64_t>::max();
constexpr unsigned kMaxOverlaps = 2;  // RFC 9110 14.2: more than two overlapping ranges are a broken or hostile client's

// 1*DIGIT, saturating; nullopt if malformed.
std::optional<uint64_t> position(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (!base::is_digit(c)) return std::nullopt;
    uint64_t digit = uint64_t(c - '0');
    value = value > (kMaxPosition - digit) / 10 ? kMaxPosition : value * 10 + digit;
  }
  return value;
}

enum class Spec : uint8_t { malformed, past_the_end, good };

Spec read_spec(std::string_view text, uint64_t size, ByteRange& out) {
  size_t dash = text.find('-');
  if (dash == text.npos) return Spec::malformed;
  std::optional<uint64_t> last = position(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) return Spec::malformed;
    if (*last == 0 || size == 0) return Spec::past_the_end;
    out = {size - std::min(*last, size), size - 1};
    return Spec::good;
  }
  std::optional<uint64_t> first = position(text.substr(0, dash));
  if (!first || (!last && dash + 1 != text.size()) || (last && *last < *first)) return Spec::malformed;
  if (*first >= size) return Spec::past_the_end;
  out = {*first, std::min(last.value_or(kMaxPosition), size - 1)};
  return Spec::good;
}

// Would the answer be larger than the whole, or made of overlapping parts?
bool is_wasteful(const std::vector<ByteRange>& list, uint64_t size) {
  uint64_t left = size;
  unsigned overlaps = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    uint64_t length = list[i].last - list[i].first + 1;
    if (length > left) return true;
    left -= length;
    for (size_t j = 0; j < i; ++j) overlaps += list[i].first <= list[j].last && list[j].first <= list[i].last;
  }
  return overlaps > kMaxOverlaps;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!base::istarts_with(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<uint64_t> exact_position(std::string_view text) { return base::parse_decimal<uint64_t>(text); }

}  // namespace

Ranges parse_ranges(std::string_view value, uint64_t size) {
  Ranges out;
  if (!take(value, "bytes=")) return out;
  bool good = true;
  size_t members = 0;
  for_each_list_member(value, [&](std::string_view member) {
    if (!good || ++members > kMaxRanges) {
      good = false;
      return;
    }
    ByteRange range;
    Spec spec = read_spec(member, size, range);
    good = spec != Spec::malformed;
    if (spec == Spec::good) out.list.push_back(range);
  });
  if (!good || members == 0 || is_wasteful(out.list, size)) return Ranges();
  out.verdict = out.list.empty() ? RangeVerdict::unsatisfiable : RangeVerdict::satisfiable;
  return out;
}

// Content-Range = "bytes" SP first "-" last "/" ( complete-length / "*" ), RFC 9110 14.4. "bytes */N" names no range.
std::optional<ContentRange> parse_content_range(std::string_view value) {
  if (!take(value, "bytes ")) return std::nullopt;
  size_t dash = value.find('-'), slash = value.find('/');
  if (dash == value.npos || slash == value.npos || dash > slash) return std::nullopt;
  std::optional<uint64_t> first = exact_position(value.substr(0, dash));
  std::optional<uint64_t> last = exact_position(value.substr(dash + 1, slash - dash - 1));
  std::string_view complete = value.substr(slash + 1);
  if (!first || !last || *last < *first || *last == kMaxPosition) return std::nullopt;
  ContentRange out{*first, *last, std::nullopt};
  if (complete == "*") return out;
  out.complete = exact_position(complete);
  if (!out.complete || *out.complete <= *last) return std::nullopt;
  return out;
}

std::optional<KnownPart> known_part(std::string_view value, uint64_t length) {
  std::optional<ContentRange> range = parse_content_range(value);
  if (!range || !range->complete || *range->complete > kMaxPosition / 2 || range->last - range->first + 1 != length) return std::nullopt;
  return KnownPart{range->first, range->last + 1, *range->complete};
}

std::string part_head(std::string_view boundary, std::string_view content_type, ByteRange range, uint64_t size, bool first) {
  std::string out(first ? "--" : "\r\n--");
  out.append(boundary).append("\r\n");
  if (!content_type.empty()) out.append("Content-Type: ").append(content_type).append("\r\n");
  out.append("Content-Range: bytes ").append(std::to_string(range.first)).append("-").append(std::to_string(range.last));
  return out.append("/").append(std::to_string(size)).append("\r\n\r\n");
}

std::string parts_end(std::string_view boundary) { return std::string("\r\n--").append(boundary).append("--\r\n"); }

}  // namespace loligo::http
