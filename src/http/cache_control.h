// Cache-Control, Pragma and the numbers of caching (RFC 9111 section 5.2).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "http/head.h"

namespace loligo::http {

inline constexpr int64_t kDeltaMax = int64_t(1) << 31;  // saturation (RFC 9111 1.2.2)
inline constexpr int64_t kAbsent = -1;

// delta-seconds: digits only, saturating at kDeltaMax; kAbsent if malformed. Quoted form is accepted ("60").
int64_t parse_delta_seconds(std::string_view);

struct RequestCacheControl {
  int64_t max_age = kAbsent, min_fresh = kAbsent;
  int64_t max_stale = kAbsent;        // kDeltaMax when given without a value
  int64_t stale_if_error = kAbsent;
  bool no_cache = false;              // also Pragma: no-cache where there is no Cache-Control
  bool no_store = false, no_transform = false, only_if_cached = false;
  bool pragma_no_cache = false;
  bool by_pragma = false;             // no_cache is Pragma's
};
RequestCacheControl request_cache_control(const Head&, const char* bytes);

struct ResponseCacheControl {
  int64_t max_age = kAbsent, s_maxage = kAbsent;
  int64_t stale_while_revalidate = kAbsent, stale_if_error = kAbsent;
  bool has_invalid_max_age = false;   // a malformed max-age or s-maxage: treat as stale
  bool no_cache = false;              // unqualified
  bool private_ = false;              // unqualified
  bool no_store = false, public_ = false, must_revalidate = false, proxy_revalidate = false;
  bool must_understand = false, no_transform = false, immutable = false;
  bool targeted = false;              // from a field that takes the place of Expires too (RFC 9213)
  std::vector<std::string_view> no_cache_fields, private_fields;  // qualified forms: field names
};
ResponseCacheControl response_cache_control(const Head&, const char* bytes);

// Splits a comma-separated list with respect to quoted strings; calls f(member) with OWS trimmed, empty members skipped.
template <class F> void for_each_list_member(std::string_view list, F&& f) {
  size_t start = 0;
  bool quoted = false;
  auto emit = [&](size_t end) {
    std::string_view m = list.substr(start, end - start);
    while (!m.empty() && (m.front() == ' ' || m.front() == '\t')) m.remove_prefix(1);
    while (!m.empty() && (m.back() == ' ' || m.back() == '\t')) m.remove_suffix(1);
    if (!m.empty()) f(m);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (quoted) {
      if (c == '\\') ++i;
      else if (c == '"') quoted = false;
    } else if (c == '"') quoted = true;
    else if (c == ',') { emit(i); start = i + 1; }
  }
  emit(list.size());
}

}  // namespace loligo::http
