// See RFC 9111 section 4.1. Two requests match if their selecting fields agree once white space is normalised and lines are joined;
// for Accept-Encoding and Accept-Language the members are a set whose order and case mean nothing (RFC 9110 12.5.3, 12.5.4).
#include "http/vary.h"

#include <algorithm>

#include "base/text.h"
#include "http/cache_control.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

constexpr size_t kMaxNames = 64;  // a Vary of more is as good as "*"

// Runs of blanks become one SP; blanks around ',' go (and around ';' where the field is known to have parameters), the comma then
// gets one back. Quoted strings stay as they are.
void append_normalised(std::string_view value, bool has_parameters, std::string& out) {
  bool quoted = false, blank = false;
  size_t start = out.size();
  for (size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (!quoted && base::is_ows(c)) {
      blank = true;
      continue;
    }
    bool separator = !quoted && (c == ',' || (c == ';' && has_parameters));
    bool after_separator = out.size() == start || out.back() == ' ' || (has_parameters && out.back() == ';');
    if (blank && !separator && !after_separator) out += ' ';
    blank = false;
    out += c;
    if (separator && c == ',') out += ' ';
    if (c == '"') quoted = !quoted;
    else if (quoted && c == '\\' && i + 1 < value.size()) out += value[++i];
  }
}

bool is_set_valued(std::string_view name) { return name == "accept-encoding" || name == "accept-language"; }

// A member in one spelling: lower case, ";q=1" left out as it says nothing, no zeros at the end of another weight
// (RFC 9110 12.4.2), and x-gzip for what it is (8.4.1.3). What is no weight stays as it is.
std::string plain_member(std::string_view text) {
  std::string member = base::to_lower(text);
  size_t q = member.rfind(";q=");
  if (q != member.npos && member.size() - q <= 8 && member.size() > q + 3) {
    std::string_view weight = std::string_view(member).substr(q + 3);
    bool digits = weight.find_first_not_of("0123456789.") == weight.npos && (weight[0] == '0' || weight[0] == '1') && (weight.size() == 1 || weight[1] == '.');
    if (digits) {
      size_t last = weight.size() > 1 ? weight.find_last_not_of('0') : 0;
      member.resize(q + 3 + (last == 1 ? 1 : last + 1));   // "1." is 1
      if (member.ends_with(";q=1")) member.resize(q);
    }
  }
  if (member == "x-gzip" || member.starts_with("x-gzip;")) member.erase(0, 2);
  return member;
}

std::string sorted_members(std::string_view combined) {
  std::vector<std::string> members;
  for_each_list_member(combined, [&](std::string_view member) { members.push_back(plain_member(member)); });
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::string out;
  for (const std::string& member : members) out.append(out.empty() ? "" : ", ").append(member);
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> vary_names(const Head& response, const char* bytes) {
  std::vector<std::string> names;
  bool good = true;
  for_each_value(response, FieldId::vary, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view name) {
      good = good && name != "*" && is_token(name);  // an unreadable name: no request can be shown to match
      if (good) names.push_back(base::to_lower(name));
    });
  });
  if (!good) return std::nullopt;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > kMaxNames) return std::nullopt;
  return names;
}

// One line per name: "name: value\n"; a field that is absent has no colon, so that absent and empty differ.
std::string selecting_key(const std::vector<std::string>& names, const Head& request, const char* bytes) {
  std::string out;
  for (const std::string& name : names) {
    std::string combined;
    bool found = false;
    for (const Field& field : request) {
      if (!base::iequals(field.name.in(bytes), name)) continue;
      if (found) combined += ", ";
      append_normalised(field.value.in(bytes), is_set_valued(name), combined);
      found = true;
    }
    out += name;
    if (found) out.append(": ").append(is_set_valued(name) ? sorted_members(combined) : combined);
    out += '\n';
  }
  return out;
}

}  // namespace loligo::http
