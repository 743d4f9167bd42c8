// The arithmetic of RFC 9111 section 4.2, with refresh_pattern's say:
//
//   lifetime = s-maxage, else max-age, else Expires - Date            (explicit; override-expire: at least min)
//            = percent of (Date - Last-Modified), at most max         (heuristic; override-lastmod: at least min)
//            = min                                                     (neither; 0 unless the administrator says so)
//   age      = max(response_time - Date, Age + response delay) + time here
//   fresh    = lifetime > age
#include "http/freshness.h"

#include <algorithm>

#include "base/text.h"
#include "http/date.h"

namespace loligo::http {
namespace {

constexpr int kHeuristicStatuses[] = {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501};
// Statuses whose caching rules this code implements, for must-understand (RFC 9111 5.2.2.3).
constexpr int kUnderstoodStatuses[] = {200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405,
                                       406, 408, 409, 410, 411, 413, 414, 415, 421, 429, 451, 500, 501, 502, 503, 504};

// Answers to conditions or credentials that are no part of the cache's key.
constexpr int kAboutOneRequest[] = {304, 407, 412};

template <size_t N> bool contains(const int (&list)[N], int status) { return std::find(list, list + N, status) != list + N; }

// The first member of Age, digits only; what is malformed counts as absent (RFC 9111 5.1). Empty members are none (RFC 9110 5.6.1).
int64_t age_field(const Head& response, const char* bytes) {
  std::string_view first;
  for_each_value(response, FieldId::age, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view member) { first = first.empty() ? member : first; });
  });
  if (first.empty() || !base::is_digit(first.front())) return 0;
  return std::max<int64_t>(parse_delta_seconds(first), 0);
}

// Differences of dates from years 0 to 9999 fit easily; saturated so that sums of several do too.
int64_t clamp_seconds(int64_t seconds) { return std::clamp<int64_t>(seconds, 0, kDeltaMax); }

// Expires that cannot be read means already expired (RFC 9111 5.3).
int64_t expires_lifetime(const Head& response, const char* bytes, const Lifetimes& l) {
  std::optional<WallSeconds> expires = parse_date(response.value(FieldId::expires, bytes), l.response_time);
  return expires ? clamp_seconds(*expires - l.date) : 0;
}

// Expires = Date beside Vary, for vary_ignore_expire.
bool expires_says_nothing(const Head& response, const char* bytes, const Lifetimes& l) {
  return response.has(FieldId::vary) && parse_date(response.value(FieldId::expires, bytes), l.response_time) == l.date;
}

void set_explicit(const Head& response, const char* bytes, const ResponseCacheControl& cc, LifetimeSource source, Lifetimes& l) {
  l.explicit_lifetime = true;
  switch (source) {
    case LifetimeSource::invalid_max_age: l.freshness = 0; break;
    case LifetimeSource::s_maxage: l.freshness = cc.s_maxage; break;
    case LifetimeSource::max_age: l.freshness = cc.max_age; break;
    case LifetimeSource::expires: l.freshness = expires_lifetime(response, bytes, l); break;
    case LifetimeSource::none: case LifetimeSource::heuristic: l.explicit_lifetime = false; break;
  }
}

void set_heuristic(const Head& response, const char* bytes, const RefreshRule& rule, Lifetimes& l) {
  l.heuristic = true;
  std::optional<WallSeconds> modified = parse_date(response.value(FieldId::last_modified, bytes), l.response_time);
  if (!modified || *modified >= l.date) {
    l.freshness = clamp_seconds(rule.min);
    return;
  }
  int64_t unchanged = clamp_seconds(l.date - *modified);
  l.freshness = std::min(clamp_seconds(unchanged * rule.percent / 100), clamp_seconds(rule.max));
  if (rule.override_lastmod) l.freshness = std::max(l.freshness, clamp_seconds(rule.min));
}

// What a client's request asks beyond the lifetime; none = nothing.
CacheReason client_wish(const RequestCacheControl& request, const RefreshRule& rule, int64_t age, int64_t freshness) {
  if (!rule.ignore_reload) {
    if (request.no_cache) return request.by_pragma ? CacheReason::pragma : CacheReason::reload;
    if (request.max_age == 0) return CacheReason::request_max_age;
  }
  if (request.max_age > 0 && age > request.max_age) return CacheReason::request_max_age;
  if (request.min_fresh != kAbsent && freshness - age < request.min_fresh) return CacheReason::min_fresh;
  return CacheReason::none;
}

// What is not fresh waits for the server: is there anything that would have let it be served, but for a rule?
CacheReason why_stale(const Lifetimes& l, const RequestCacheControl& request, int64_t staleness) {
  if (l.no_cache) return CacheReason::always_validate;
  bool tolerated = staleness <= request.max_stale || staleness < l.stale_while_revalidate;
  if (l.must_revalidate && tolerated) return CacheReason::must_revalidate;
  return request.max_stale != kAbsent && !tolerated ? CacheReason::beyond_max_stale : CacheReason::expired;
}

bool has_validator(const Head& response) { return response.has(FieldId::etag) || response.has(FieldId::last_modified); }

bool vary_is_star(const Head& response, const char* bytes) {
  bool star = false;
  for_each_value(response, FieldId::vary, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view name) { star = star || name == "*"; });
  });
  return star;
}

StoreVerdict judge_request(const StoreQuestion& q) {
  bool method_stores = q.request_method == Method::get || (q.request_method == Method::post && q.content_location_is_target);
  if (!method_stores) return StoreVerdict::request_method;
  return q.request.no_store ? StoreVerdict::request_no_store : kStore;
}

StoreVerdict judge_status(int status, const StoreQuestion& q) {
  if (status < 200 || contains(kAboutOneRequest, status)) return StoreVerdict::status_not_understood;
  if (status == 206 && !q.understands_part) return StoreVerdict::partial_content;
  return status == 416 ? StoreVerdict::range_request : kStore;
}

// RFC 9111 section 3: no-store, private, must-understand and section 3.5.
StoreVerdict judge_directives(int status, const ResponseCacheControl& cc, const RefreshRule& rule, const StoreQuestion& q) {
  bool understood = contains(kUnderstoodStatuses, status);
  if (cc.must_understand && !understood) return StoreVerdict::status_not_understood;
  if (cc.no_store && !cc.must_understand && !rule.ignore_no_store) return StoreVerdict::response_no_store;
  if (cc.private_ && !rule.ignore_private) return StoreVerdict::response_private;
  bool shared_allowed = cc.public_ || cc.s_maxage != kAbsent || cc.must_revalidate;
  if (q.request_has_authorization && !shared_allowed) return StoreVerdict::authorization;
  return kStore;
}

// Worth storing: it can be served for a while, or validated.
StoreVerdict judge_use(const Head& response, const Lifetimes& l, const RefreshRule& rule, const StoreQuestion& q) {
  bool error = response.status() >= 400;
  bool has_lifetime = l.explicit_lifetime || l.heuristic || l.freshness > 0;  // the last: negative_ttl
  bool negative = error && !l.explicit_lifetime && l.freshness == 0;
  if (!has_lifetime || (negative && !has_validator(response)))
    return error ? StoreVerdict::negative : StoreVerdict::no_lifetime_or_validator;
  // RFC 9110 9.3.3: an answer to POST is stored only with explicit freshness.
  if (q.request_method == Method::post && !(l.explicit_lifetime && l.freshness > 0)) return StoreVerdict::no_lifetime_or_validator;
  if (has_validator(response) || rule.store_stale) return kStore;
  int64_t left = l.freshness - l.initial_age;
  bool administrators = error && !l.explicit_lifetime;  // negative_ttl may be shorter than minimum_expiry_time
  // Its lifetime as given: a second on the way must not decide whether a reply of max-age=60 is ever kept.
  bool worthwhile = left > 0 && (administrators || l.freshness >= q.minimum_expiry_time);
  return worthwhile ? kStore : StoreVerdict::no_lifetime_or_validator;
}

}  // namespace

LifetimeSource lifetime_source(const Head& response, const char* bytes, const ResponseCacheControl& cc, const Lifetimes& l, bool vary_ignore_expire) {
  if (cc.has_invalid_max_age) return LifetimeSource::invalid_max_age;
  if (cc.s_maxage != kAbsent) return LifetimeSource::s_maxage;
  if (cc.max_age != kAbsent) return LifetimeSource::max_age;
  if (!cc.targeted && response.has(FieldId::expires) && !(vary_ignore_expire && expires_says_nothing(response, bytes, l))) return LifetimeSource::expires;
  return is_heuristically_cacheable(response.status()) || cc.public_ ? LifetimeSource::heuristic : LifetimeSource::none;
}

bool is_heuristically_cacheable(int status) { return contains(kHeuristicStatuses, status); }

Lifetimes lifetimes(const Head& response, const char* bytes, const ResponseCacheControl& cc, const RefreshRule& rule,
                    WallSeconds request_time, WallSeconds response_time, bool vary_ignore_expire) {
  Lifetimes l;
  l.response_time = response_time;
  l.date = parse_date(response.value(FieldId::date, bytes), response_time).value_or(response_time);
  int64_t apparent_age = clamp_seconds(response_time - l.date);
  int64_t corrected_age = age_field(response, bytes) + clamp_seconds(response_time - request_time);
  l.initial_age = clamp_seconds(std::max(apparent_age, corrected_age));
  const LifetimeSource source = lifetime_source(response, bytes, cc, l, vary_ignore_expire);
  set_explicit(response, bytes, cc, source, l);
  if (source == LifetimeSource::heuristic) set_heuristic(response, bytes, rule, l);
  else if (l.explicit_lifetime && rule.override_expire) l.freshness = std::max(l.freshness, clamp_seconds(rule.min));
  l.must_revalidate = cc.must_revalidate || cc.proxy_revalidate || cc.s_maxage != kAbsent;
  l.no_cache = cc.no_cache;
  l.stale_while_revalidate = std::max<int64_t>(cc.stale_while_revalidate, 0);
  l.stale_if_error = cc.stale_if_error;
  return l;
}

void apply_negative_ttl(Lifetimes& l, int status, int64_t negative_ttl) {
  if (status >= 400 && !l.explicit_lifetime && negative_ttl > 0) l.freshness = std::max(l.freshness, clamp_seconds(negative_ttl));
}

Judgement judge(const Lifetimes& l, const RequestCacheControl& client, const RefreshRule& rule, const FreshnessLimits& limits, WallSeconds now) {
  RequestCacheControl request = limits.ignore_client_reload ? RequestCacheControl() : client;
  int64_t age = current_age(l, now);
  bool fresh = l.freshness > age && !l.no_cache;
  if (limits.offline) return fresh ? Judgement{FreshnessVerdict::fresh} : Judgement{FreshnessVerdict::stale_allowed, CacheReason::offline};
  CacheReason wish = client_wish(request, rule, age, l.freshness);
  if (limits.if_modified_since && (rule.refresh_ims || limits.refresh_all_ims)) wish = CacheReason::refresh_ims;
  if (fresh) return {wish == CacheReason::none ? FreshnessVerdict::fresh : FreshnessVerdict::stale, wish};
  // Stale first: a client's wish has cost a hit only where there would have been one.
  int64_t staleness = age - l.freshness;
  Judgement waits{FreshnessVerdict::stale, why_stale(l, request, staleness)};
  if (wish != CacheReason::none || l.no_cache || l.must_revalidate) return waits;
  if (request.max_stale != kAbsent && (request.max_stale == kDeltaMax || staleness <= request.max_stale))
    return {FreshnessVerdict::stale_allowed, CacheReason::client_max_stale};
  if (staleness < l.stale_while_revalidate) return {FreshnessVerdict::stale_revalidate, CacheReason::while_revalidate};
  return waits;
}

CacheReason forbids_on_error(const Lifetimes& l, const RequestCacheControl& client, const RefreshRule& rule, const FreshnessLimits& limits,
                             WallSeconds now) {
  RequestCacheControl request = limits.ignore_client_reload ? RequestCacheControl() : client;
  if (limits.offline) return CacheReason::none;
  if (l.no_cache) return CacheReason::old_no_cache;
  if (request.no_cache && !rule.ignore_reload) return CacheReason::old_reload;
  int64_t staleness = current_age(l, now) - l.freshness;
  if (staleness < 0) return CacheReason::none;  // the client alone wanted it validated
  if (l.must_revalidate) return CacheReason::old_must_revalidate;
  int64_t allowed = std::max(l.stale_if_error, request.stale_if_error);
  if (allowed == kAbsent) allowed = rule.max_stale != kAbsent ? rule.max_stale : limits.max_stale;
  return staleness <= allowed ? CacheReason::none : CacheReason::old_too_stale;
}

StoreVerdict may_store(const Head& response, const char* bytes, const ResponseCacheControl& cc, const Lifetimes& l,
                       const RefreshRule& rule, const StoreQuestion& q) {
  StoreVerdict verdict = judge_request(q);
  if (verdict == kStore) verdict = judge_status(response.status(), q);
  if (verdict == kStore) verdict = judge_directives(response.status(), cc, rule, q);
  if (verdict == kStore && q.refuses_cookies && response.has(FieldId::set_cookie)) verdict = StoreVerdict::set_cookie;
  if (verdict == kStore && vary_is_star(response, bytes)) verdict = StoreVerdict::vary_star;
  if (verdict == kStore) verdict = judge_use(response, l, rule, q);
  return verdict;
}

}  // namespace loligo::http
