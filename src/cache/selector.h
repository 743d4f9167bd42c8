// The choice of one variant in a lookup: same URL, not banned, and its selecting
// fields match those of the request. Private to the cache room.
#pragma once
#include "cache/cache.h"
#include "http/vary.h"

namespace loligo::cache {

// Do they answer the same requests?
inline bool same_selection(const Response& a, const Response& b) {
  return a.url == b.url && a.vary_names == b.vary_names && a.selecting_key == b.selecting_key;
}

struct Selector {
  const Question& q;
  const Bans& bans;
  bool other_variant = false, banned = false;
  const std::vector<std::string>* computed_for = nullptr;
  std::string key;

  bool operator()(const store::Object& object) {
    return object.usable() && matches(static_cast<const Response&>(object));
  }

  bool matches(const Response& r) {
    if (r.url != q.url) return false;
    if (!bans.allows(r)) {
      banned = true;
      return false;
    }
    if (r.vary_names.empty()) return true;
    if (!computed_for || *computed_for != r.vary_names) {
      key = http::selecting_key(r.vary_names, *q.request, q.bytes);
      computed_for = &r.vary_names;
    }
    if (key == r.selecting_key) return true;
    other_variant = true;
    return false;
  }
};

// The part that a 206 brings, if parts of its representation may be joined at all. Of cache_parts.cc.
std::optional<http::KnownPart> understood_part(const http::Head&, const char* bytes, const Arrival&, const http::Lifetimes&);

}  // namespace loligo::cache
