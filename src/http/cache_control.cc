// Cache-Control = #( token [ "=" ( token / quoted-string ) ] ), RFC 9111 section 5.2.
// Of a directive given twice the first valid one counts. What is malformed is read in the direction that caches less.
#include "http/cache_control.h"

#include <algorithm>

#include "base/text.h"
#include "http/cache_control_rows.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

constexpr size_t kMaxQualified = 64;  // field names in no-cache="..." or private="..."; with more the whole response is meant

struct Directive {
  std::string_view name;   // trimmed; case as received
  std::string_view value;  // as received, quotes included
  bool has_value;
};

Directive split_directive(std::string_view member) {
  size_t equals = member.find('=');
  if (equals == member.npos) return {member, {}, false};
  return {base::trim_ows(member.substr(0, equals)), member.substr(equals + 1), true};
}

template <class F> void for_each_directive(const Head& head, const char* bytes, F&& f) {
  for_each_value(head, FieldId::cache_control, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view member) { f(split_directive(member)); });
  });
}

std::optional<std::string_view> unquote(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\"\\") != text.npos) return std::nullopt;
  return text;
}

// no-cache and private: without a value the whole response, with one the fields it names.
void qualify(const Directive& directive, bool& whole, std::vector<std::string_view>& fields) {
  std::string_view names = unquote(directive.value).value_or(directive.value);
  bool good = directive.has_value;
  size_t before = fields.size();
  for_each_list_member(names, [&](std::string_view name) {
    good = good && is_token(name) && fields.size() < kMaxQualified;
    if (good) fields.push_back(name);
  });
  if (!good || fields.size() == before) whole = true;
}

struct RequestSeconds { std::string_view name; int64_t RequestCacheControl::*member; int64_t without_value; };
constexpr RequestSeconds kRequestSeconds[] = {
    {"max-age", &RequestCacheControl::max_age, kAbsent},
    {"max-stale", &RequestCacheControl::max_stale, kDeltaMax},
    {"min-fresh", &RequestCacheControl::min_fresh, kAbsent},
    {"stale-if-error", &RequestCacheControl::stale_if_error, kAbsent},
};
struct RequestFlag { std::string_view name; bool RequestCacheControl::*member; };
constexpr RequestFlag kRequestFlags[] = {
    {"no-cache", &RequestCacheControl::no_cache},
    {"no-store", &RequestCacheControl::no_store},
    {"no-transform", &RequestCacheControl::no_transform},
    {"only-if-cached", &RequestCacheControl::only_if_cached},
};

template <class Rows> const auto* row_named(const Rows& rows, std::string_view name) {
  for (const auto& row : rows)
    if (base::iequals(row.name, name)) return &row;
  return static_cast<decltype(&rows[0])>(nullptr);
}

void read_response_directive(const Directive& d, ResponseCacheControl& out, bool& bad_max_age, bool& bad_s_maxage) {
  if (const ResponseFlag* row = row_named(kResponseFlags, d.name)) {
    out.*row->member = true;
  } else if (const ResponseSeconds* seconds = row_named(kResponseSeconds, d.name)) {
    int64_t value = parse_delta_seconds(d.value);
    if (value == kAbsent) {
      bad_max_age |= seconds->member == &ResponseCacheControl::max_age;
      bad_s_maxage |= seconds->member == &ResponseCacheControl::s_maxage;
    } else if (out.*seconds->member == kAbsent) {
      out.*seconds->member = value;
    }
  } else if (base::iequals(d.name, "no-cache")) {
    qualify(d, out.no_cache, out.no_cache_fields);
  } else if (base::iequals(d.name, "private")) {
    qualify(d, out.private_, out.private_fields);
  }
}

bool pragma_says_no_cache(const Head& head, const char* bytes) {
  bool found = false;
  for_each_value(head, FieldId::pragma, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view member) { found = found || base::iequals(member, "no-cache"); });
  });
  return found;
}

}  // namespace

int64_t parse_delta_seconds(std::string_view text) {
  text = unquote(text).value_or(text);
  if (text.empty()) return kAbsent;
  int64_t value = 0;
  for (char c : text) {
    if (!base::is_digit(c)) return kAbsent;
    value = std::min(value * 10 + (c - '0'), kDeltaMax);
  }
  return value;
}

RequestCacheControl request_cache_control(const Head& head, const char* bytes) {
  RequestCacheControl out;
  for_each_directive(head, bytes, [&](const Directive& d) {
    if (const RequestFlag* row = row_named(kRequestFlags, d.name)) {
      out.*row->member = true;
    } else if (const RequestSeconds* seconds = row_named(kRequestSeconds, d.name)) {
      int64_t value = d.has_value ? parse_delta_seconds(d.value) : seconds->without_value;
      if (out.*seconds->member == kAbsent) out.*seconds->member = value;
    }
  });
  out.pragma_no_cache = pragma_says_no_cache(head, bytes);
  if (out.pragma_no_cache && !head.has(FieldId::cache_control)) out.no_cache = out.by_pragma = true;  // RFC 9111 5.4
  return out;
}

ResponseCacheControl response_cache_control(const Head& head, const char* bytes) {
  ResponseCacheControl out;
  bool bad_max_age = false, bad_s_maxage = false;
  for_each_directive(head, bytes, [&](const Directive& d) { read_response_directive(d, out, bad_max_age, bad_s_maxage); });
  bool s_maxage = out.s_maxage != kAbsent;
  out.has_invalid_max_age = !s_maxage && (bad_s_maxage || (bad_max_age && out.max_age == kAbsent));
  return out;
}

}  // namespace loligo::http
