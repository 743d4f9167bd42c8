// Why a request was not simply answered from the cache, why a reply was not
// stored, and why the client did not get what was there: each reason once, with
// the word in the access log (%loligo::reason), in Cache-Status (detail=, and the
// fwd= of RFC 9211 section 2.2 that goes with it), on the page mgr:reasons, and
// what it means.
//
// A transaction has at most one reason of the families miss, bypass, request and
// stale; one of served-stale or not-served; and one of not-stored. A fetch in the
// background has the last alone.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/counters.h"

namespace loligo::http {

enum class ReasonFamily : uint8_t {
  none,
  miss,           // nothing that could be selected
  bypass,         // the cache has no say
  request,        // selected and fresh, but the request wants more
  stale,          // selected, not fresh
  served_stale,   // not fresh, and served all the same
  not_stored,     // the reply passed and was not kept
  not_served,     // the client got something else than it asked for
};

//  X(enumerator, family, "word", "fwd", "what it means")
#define LOLIGO_CACHE_REASONS(X)                                                                                                                                   \
  X(none, none, "-", "", "a plain hit, or nothing that caching has to do with")                                                                                   \
  X(absent, miss, "miss.absent", "uri-miss", "nothing is stored of this URL")                                                                                     \
  X(other_variant, miss, "miss.variant", "vary-miss", "what is stored answers other values of the fields that its Vary names")                                    \
  X(purged, miss, "miss.purged", "uri-miss", "a purge by tag or by expression has taken what was stored")                                                         \
  X(arriving, miss, "miss.arriving", "miss", "it arrives for the disk alone, and cannot be joined: a range is asked for, or its beginning is gone")               \
  X(partial, miss, "miss.partial", "partial", "some of the ranges' bytes are stored, and the others are fetched")                                                   \
  X(method, bypass, "bypass.method", "method", "the method is neither GET nor HEAD")                                                                              \
  X(request_body, bypass, "bypass.request-body", "bypass", "the request has a body")                                                                              \
  X(cache_rule, bypass, "bypass.cache-rule", "bypass", "a line of the directive cache denies it")                                                                 \
  X(send_hit_rule, bypass, "bypass.send-hit-rule", "bypass", "a line of send_hit denies what is stored")                                                          \
  X(reload, request, "request.no-cache", "request", "the client says no-cache in Cache-Control")                                                                  \
  X(pragma, request, "request.pragma", "request", "the client says no-cache in Pragma, and has no Cache-Control")                                                 \
  X(request_max_age, request, "request.max-age", "request", "it is older than the client's max-age")                                                              \
  X(min_fresh, request, "request.min-fresh", "request", "it is not fresh for as long as the client's min-fresh asks")                                             \
  X(refresh_ims, request, "request.if-modified-since", "request", "the client validates, and refresh_all_ims or refresh-ims leaves the answer to the server")      \
  X(expired, stale, "stale.expired", "stale", "its lifetime is over")                                                                                             \
  X(must_revalidate, stale, "stale.must-revalidate", "stale", "its lifetime is over; must-revalidate, proxy-revalidate or s-maxage forbids what would let it be served stale") \
  X(beyond_max_stale, stale, "stale.max-stale", "stale", "its lifetime has been over for longer than the client's max-stale")                                     \
  X(always_validate, stale, "stale.no-cache", "stale", "its Cache-Control says no-cache")                                                                         \
  X(softly_purged, stale, "stale.purged", "stale", "a soft purge has ended its lifetime")                                                                         \
  X(while_revalidate, served_stale, "served-stale.while-revalidate", "", "stale-while-revalidate: it is validated in the background")                             \
  X(client_max_stale, served_stale, "served-stale.max-stale", "", "the client's max-stale allows it")                                                             \
  X(offline, served_stale, "served-stale.offline", "", "offline_mode")                                                                                            \
  X(if_error, served_stale, "served-stale.if-error", "", "the server failed; stale-if-error or max_stale allows it")                                              \
  X(request_method, not_stored, "not-stored.method", "", "replies to this method are not stored")                                                                 \
  X(request_with_body, not_stored, "not-stored.request-body", "", "the request had a body")                                                                       \
  X(request_no_store, not_stored, "not-stored.request-no-store", "", "the client says no-store")                                                                  \
  X(denied_by_cache_rule, not_stored, "not-stored.cache-rule", "", "a line of the directive cache denies the request")                                         \
  X(denied_by_store_miss, not_stored, "not-stored.store-miss-rule", "", "a line of store_miss denies it")                                                         \
  X(proxy_only, not_stored, "not-stored.proxy-only", "", "the peer that sent it keeps it (proxy-only)")                                                           \
  X(caching_off, not_stored, "not-stored.caching-off", "", "there is neither cache_mem nor a cache_dir")                                                          \
  X(response_no_store, not_stored, "not-stored.no-store", "", "its Cache-Control says no-store")                                                                  \
  X(response_private, not_stored, "not-stored.private", "", "its Cache-Control says private")                                                                     \
  X(authorization, not_stored, "not-stored.authorization", "", "the request had credentials, and no public, s-maxage or must-revalidate shares the reply")        \
  X(vary_star, not_stored, "not-stored.vary-star", "", "Vary: *")                                                                                                 \
  X(partial_content, not_stored, "not-stored.partial-content", "", "a part (206) that cannot be joined with others, or brings nothing new")                                                            \
  X(no_lifetime_or_validator, not_stored, "not-stored.no-lifetime-or-validator", "", "it has no validator, and no lifetime or one below minimum_expiry_time")     \
  X(status_not_understood, not_stored, "not-stored.status", "", "its status concerns one request alone, or must-understand stands beside one that we do not know") \
  X(negative, not_stored, "not-stored.negative", "", "an error without a lifetime, and negative_ttl gives none")                                                  \
  X(range_request, not_stored, "not-stored.range-not-satisfiable", "", "an answer to a range alone (416)")                                                        \
  X(set_cookie, not_stored, "not-stored.set-cookie", "", "it has Set-Cookie, and stored_set_cookie says no-store")                                                \
  X(too_large, not_stored, "not-stored.too-large", "", "beyond maximum_object_size, maximum_object_size_in_memory or the cache_dir's max-size")                   \
  X(too_small, not_stored, "not-stored.too-small", "", "below minimum_object_size")                                                                               \
  X(disk_busy, not_stored, "not-stored.disk-busy", "", "too large for memory, and the disk has too much to write, or is failing")                                 \
  X(purged_meanwhile, not_stored, "not-stored.purged-meanwhile", "", "it was purged while it was fetched")                                                        \
  X(body_cut, not_stored, "not-stored.body-cut", "", "its body broke off")                                                                                        \
  X(abandoned, not_stored, "not-stored.abandoned", "", "nobody reads it any more, and quick_abort_* gives it up")                                                 \
  X(vary_changed, not_stored, "not-stored.vary-changed", "", "a 304 came with another Vary than what is stored")                                                  \
  X(only_if_cached, not_served, "not-served.only-if-cached", "", "the client wants no fetch: 504")                                                                \
  X(miss_access, not_served, "not-served.miss-access", "", "a line of miss_access denies the fetch: 403")                                                         \
  X(no_path, not_served, "not-served.no-path", "", "no peer may be asked, nor may the origin: 503")                                                               \
  X(old_no_cache, not_served, "not-served.no-cache", "", "the server failed, and what is stored says no-cache")                                                   \
  X(old_reload, not_served, "not-served.reload", "", "the server failed, and the client says no-cache")                                                           \
  X(old_must_revalidate, not_served, "not-served.must-revalidate", "", "the server failed; must-revalidate, proxy-revalidate or s-maxage forbids the stale copy") \
  X(old_too_stale, not_served, "not-served.too-stale", "", "the server failed, and stale-if-error or max_stale allows no copy that old")                          \
  X(reply_rule, not_served, "not-served.reply-rule", "", "a line of http_reply_access denies the reply: 403")                                                     \
  X(reply_too_large, not_served, "not-served.reply-too-large", "", "beyond reply_body_max_size: 403")

enum class CacheReason : uint8_t {
#define X(id, family, word, forward, meaning) id,
  LOLIGO_CACHE_REASONS(X)
#undef X
};

struct CacheReasonRow { ReasonFamily family; std::string_view word, forward, meaning; };
inline constexpr CacheReasonRow kCacheReasonRows[] = {
#define X(id, family, word, forward, meaning) {ReasonFamily::family, word, forward, meaning},
    LOLIGO_CACHE_REASONS(X)
#undef X
};
inline constexpr unsigned kCacheReasons = sizeof kCacheReasonRows / sizeof kCacheReasonRows[0];
inline constexpr const CacheReasonRow& describe(CacheReason reason) { return kCacheReasonRows[unsigned(reason)]; }
inline constexpr std::string_view text(CacheReason reason) { return describe(reason).word; }

// How often each was the reason. One writer, as base::Counters.
struct alignas(64) ReasonCounts {
  base::Counter of[kCacheReasons];
  void add(CacheReason reason) {
    if (reason != CacheReason::none) of[unsigned(reason)].add();
  }
};

}  // namespace loligo::http
