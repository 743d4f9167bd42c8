// Accept-Language (RFC 9110 section 12.5.4):
//   1#( ( alphanumeric *( "-" alphanumeric ) / "*" ) [ OWS ";" OWS "q=" qvalue ] )
#include <algorithm>

#include "base/text.h"
#include "client/error_page.h"

namespace loligo::client {
namespace {

constexpr size_t kMaxRanges = 32, kMaxTag = 35;

bool is_language_range(std::string_view s) {
  if (s == "*") return true;
  if (s.empty() || s.size() > kMaxTag || s.front() == '-' || s.back() == '-') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    c = base::ascii_lower(c);
    return base::is_digit(c) || (c >= 'a' && c <= 'z') || c == '-';
  });
}

// Thousandths; -1 when malformed. qvalue = "0" [ "." 0*3DIGIT ] / "1" [ "." 0*3"0" ]
int parse_weight(std::string_view s) {
  if (s.empty() || s.size() > 5 || (s[0] != '0' && s[0] != '1')) return -1;
  if (s.size() > 1 && s[1] != '.') return -1;
  int weight = (s[0] - '0') * 1000, unit = 100;
  for (char c : s.substr(std::min<size_t>(2, s.size()))) {
    if (!base::is_digit(c)) return -1;
    weight += (c - '0') * unit;
    unit /= 10;
  }
  return weight <= 1000 ? weight : -1;
}

}  // namespace

std::vector<std::string> preferred_languages(std::string_view text) {
  struct Range { std::string tag; int weight; };
  std::vector<Range> ranges;
  while (!text.empty() && ranges.size() < kMaxRanges) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view item = base::trim_ows(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t semicolon = std::min(item.find(';'), item.size());
    std::string_view tag = base::trim_ows(item.substr(0, semicolon));
    int weight = 1000;
    if (semicolon < item.size()) {
      std::string_view parameter = base::trim_ows(item.substr(semicolon + 1));
      weight = base::istarts_with(parameter, "q=") ? parse_weight(parameter.substr(2)) : -1;
    }
    if (weight > 0 && is_language_range(tag)) ranges.push_back({base::to_lower(tag), weight});
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.weight > b.weight; });
  std::vector<std::string> tags;
  for (Range& range : ranges) tags.push_back(std::move(range.tag));
  return tags;
}

}  // namespace loligo::client
