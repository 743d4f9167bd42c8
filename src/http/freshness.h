// How long a stored response may be reused (RFC 9111 section 4.2), with the
// administrator's refresh_pattern. Pure arithmetic over seconds; the clock is an argument.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "http/cache_control.h"
#include "http/cache_reason.h"
#include "http/head.h"

namespace loligo::http {

using base::WallSeconds;

// One refresh_pattern line without its regular expression (seconds; percent of age).
struct RefreshRule {
  int64_t min = 0, max = 3 * 86400;
  int percent = 10;
  int64_t max_stale = kAbsent;  // option max-stale=N
  bool override_expire = false, override_lastmod = false, reload_into_ims = false, ignore_reload = false;
  bool ignore_no_store = false, ignore_private = false, refresh_ims = false, store_stale = false;
};

// What a response's head says about time, extracted once when it is stored and kept with the object.
struct Lifetimes {
  WallSeconds response_time = 0;       // when its head arrived
  WallSeconds date = 0;                // Date, or response_time if absent or malformed
  int64_t initial_age = 0;             // corrected initial age (RFC 9111 4.2.3), seconds
  int64_t freshness = 0;               // lifetime in seconds, explicit or heuristic; 0 = stale at once
  bool explicit_lifetime = false;
  bool heuristic = false;
  bool must_revalidate = false;        // must-revalidate, proxy-revalidate or s-maxage: never served stale
  bool no_cache = false;               // always validate
  int64_t stale_while_revalidate = 0, stale_if_error = kAbsent;
};

// `vary_ignore_expire`: an Expires that equals Date, on a response with Vary, says nothing (some servers send that to
// whom they take for an HTTP/1.0 client). `shared` is always true for this proxy. `ignore_cc` = http_port's ignore-cc is about requests and has no part here.
Lifetimes lifetimes(const Head& response, const char* bytes, const ResponseCacheControl&, const RefreshRule&,
                    WallSeconds request_time, WallSeconds response_time, bool vary_ignore_expire = false);

// Which rule gives a response its lifetime; `none` = it has none.
enum class LifetimeSource : uint8_t { none, invalid_max_age, s_maxage, max_age, expires, heuristic };
LifetimeSource lifetime_source(const Head& response, const char* bytes, const ResponseCacheControl&, const Lifetimes&, bool vary_ignore_expire);

// Gives an error response without a lifetime of its own the administrator's negative_ttl (0 = none). Before may_store.
void apply_negative_ttl(Lifetimes&, int status, int64_t negative_ttl);
// 200 203 204 206 300 301 308 404 405 410 414 501: a lifetime may be guessed (RFC 9110 15.1).
bool is_heuristically_cacheable(int status);

inline int64_t current_age(const Lifetimes& l, WallSeconds now) {
  int64_t resident = now - l.response_time;
  return l.initial_age + (resident > 0 ? resident : 0);
}

enum class FreshnessVerdict : uint8_t {
  fresh,
  stale,             // validate first
  stale_allowed,     // stale, and the client's max-stale or an administrator's rule allows it
  stale_revalidate,  // stale, within stale-while-revalidate: serve, and validate in the background
};
struct FreshnessLimits {
  int64_t max_stale = 7 * 86400;   // directive max_stale
  bool offline = false;            // offline_mode
  bool reload_into_ims = false;    // directive
  bool ignore_client_reload = false;  // http_port ignore-cc: request Cache-Control has no say
  bool if_modified_since = false;  // the client validates a copy of its own ...
  bool refresh_all_ims = false;    // ... and its server is to answer that (or by the rule's refresh-ims)
};
// Why it is not simply fresh: of the families request (fresh but for the client), stale and served-stale.
struct Judgement { FreshnessVerdict verdict; CacheReason why = CacheReason::none; };
Judgement judge(const Lifetimes&, const RequestCacheControl&, const RefreshRule&, const FreshnessLimits&, WallSeconds now);
// Why this may not be served although validation failed (origin down or 5xx); none = it may. RFC 5861 section 4, RFC 9111
// 4.2.4, max_stale.
CacheReason forbids_on_error(const Lifetimes&, const RequestCacheControl&, const RefreshRule&, const FreshnessLimits&, WallSeconds now);
inline bool may_serve_on_error(const Lifetimes& l, const RequestCacheControl& request, const RefreshRule& rule, const FreshnessLimits& limits, WallSeconds now) {
  return forbids_on_error(l, request, rule, limits, now) == CacheReason::none;
}

// Why a response may not be stored (RFC 9111 section 3): of the family not-stored.
using StoreVerdict = CacheReason;
inline constexpr StoreVerdict kStore = StoreVerdict::none;
struct StoreQuestion {
  Method request_method = Method::get;
  bool request_has_authorization = false;
  bool request_has_range = false;
  RequestCacheControl request;
  bool understands_part = false;  // a 206 that brings one part of a representation with a strong validator
  bool refuses_cookies = false;   // the administrator keeps nothing that comes with Set-Cookie
  int64_t negative_ttl = 0;
  int64_t minimum_expiry_time = 60;
  // POST only: the answer's Content-Location resolves to the request's own URI (RFC 9110 9.3.3); the caller knows URIs.
  bool content_location_is_target = false;
};
StoreVerdict may_store(const Head& response, const char* bytes, const ResponseCacheControl&, const Lifetimes&, const RefreshRule&, const StoreQuestion&);

}  // namespace loligo::http
