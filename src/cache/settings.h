// What squid.conf says about caching: what may be stored, for how long it is
// fresh, and what is answered from the cache.
// Plain data, immutable once loaded; any thread. Sizes are bytes, -1 = unlimited.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"
#include "http/freshness.h"

namespace loligo::cache {

// One refresh_pattern line; the first whose expression matches the URL rules.
struct RefreshPattern {
  config::Place place;
  std::string regex;
  bool ignore_case = false;
  http::RefreshRule rule;
  std::string original;  // as typed, for mgr:config
};

// One range_offset_limit line: conditions are the statement's words from `first_acl` on.
struct RangeOffsetLimit {
  int64_t bytes = 0;  // -1 = fetch the whole object
  config::Statement statement;
  size_t first_acl = 1;
};

enum class Collapse : unsigned char { off, on, accel };   // accel: on ports of an accelerator
// What becomes of Set-Cookie where a reply is stored.
enum class StoredCookies : uint8_t { strip, keep, no_store };

struct Settings {
  using Statements = std::vector<config::Statement>;
  std::vector<RefreshPattern> refresh_pattern;
  Statements cache, send_hit, store_miss, collapsed_forwarding_access;
  base::Milliseconds max_stale{604'800'000}, negative_ttl{0}, minimum_expiry_time{60'000};
  bool offline_mode = false, reload_into_ims = false, refresh_all_ims = false;
  Collapse collapsed_forwarding = Collapse::accel;
  bool cache_miss_revalidate = true, vary_ignore_expire = false;
  StoredCookies stored_set_cookie = StoredCookies::strip;
  std::vector<RangeOffsetLimit> range_offset_limit;
};

std::span<const config::Directive> directives();

}  // namespace loligo::cache
