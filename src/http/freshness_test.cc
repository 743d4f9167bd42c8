#define BOOST_TEST_DYN_LINK
#include "http/freshness.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "http/date.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;
using base::WallSeconds;

BOOST_AUTO_TEST_SUITE(freshness)

constexpr WallSeconds kNow = 1700000000;

FreshnessVerdict verdict_of(const Lifetimes& l, const RequestCacheControl& request, const RefreshRule& rule, const FreshnessLimits& limits, WallSeconds now) {
  return judge(l, request, rule, limits, now).verdict;
}

// "{-60}" in a row stands for the date 60 seconds before kNow.
std::string with_dates(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      out += text[i];
      continue;
    }
    size_t end = text.find('}', i);
    char date[kDateLength];
    format_date(kNow + std::stoll(std::string(text.substr(i + 1, end - i - 1))), date);
    out.append(date, kDateLength);
    i = end;
  }
  return out;
}

RefreshRule rule_of(int64_t min, int percent, int64_t max) {
  RefreshRule rule;
  rule.min = min, rule.percent = percent, rule.max = max;
  return rule;
}
const RefreshRule kNone = rule_of(0, 10, 3 * 86400);

Lifetimes lifetimes_of(std::string_view fields, const RefreshRule& rule = kNone, int status = 200, int64_t delay = 0) {
  TestHead r = response_with(with_dates(fields), "HTTP/1.1 " + std::to_string(status) + " X");
  return lifetimes(r.head, r.bytes(), response_cache_control(r.head, r.bytes()), rule, kNow - delay, kNow);
}

enum Kind { kExplicit, kHeuristic, kNeither };
struct LifetimeRow { std::string_view fields; int64_t lifetime; Kind kind; std::string_view section; };
const LifetimeRow kLifetimes[] = {
    {"Cache-Control: max-age=60\r\n", 60, kExplicit, "9111 4.2.1"},
    {"Cache-Control: s-maxage=10, max-age=60\r\n", 10, kExplicit, "9111 4.2.1: s-maxage first"},
    {"Cache-Control: max-age=60\r\nExpires: {3600}\r\nDate: {0}\r\n", 60, kExplicit, "9111 5.3: max-age before Expires"},
    {"Cache-Control: max-age=0\r\nExpires: {3600}\r\nDate: {0}\r\n", 0, kExplicit, "9111 5.3"},
    {"Cache-Control: max-age=x\r\nExpires: {3600}\r\nDate: {0}\r\n", 0, kExplicit, "9111 4.2.1: stale"},
    {"Cache-Control: max-age=99999999999\r\n", kDeltaMax, kExplicit, "9111 1.2.2"},
    {"Expires: {3600}\r\nDate: {0}\r\n", 3600, kExplicit, "9111 4.2.1"},
    {"Expires: {3600}\r\n", 3600, kExplicit, "9110 6.6.1: no Date"},
    {"Expires: {3600}\r\nDate: yesterday\r\n", 3600, kExplicit, "9110 6.6.1: no valid Date"},
    {"Expires: {7200}\r\nDate: {3600}\r\n", 3600, kExplicit, "9111 4.2: the origin's clock is ahead"},
    {"Expires: {-3600}\r\nDate: {-7200}\r\n", 3600, kExplicit, "9111 4.2: the origin's clock is behind"},
    {"Expires: {0}\r\nDate: {0}\r\n", 0, kExplicit, "9111 4.2.1"},
    {"Expires: {-1}\r\nDate: {0}\r\n", 0, kExplicit, "9111 5.3: past"},
    {"Expires: 0\r\nDate: {0}\r\n", 0, kExplicit, "9111 5.3: invalid is past"},
    {"Expires: -1\r\nLast-Modified: {-1000}\r\n", 0, kExplicit, "9111 5.3: invalid is past"},
    {"Expires:\r\n", 0, kExplicit, "9111 5.3: invalid is past"},
    {"Expires: Fri, 31 Dec 9999 23:59:59 GMT\r\n", kDeltaMax, kExplicit, "9111 1.2.2"},
    {"Expires: {60}\r\nExpires: {3600}\r\n", 60, kExplicit, "9111 4.2.1: the first"},
    {"Cache-Control: public\r\nExpires: {60}\r\n", 60, kExplicit, "9111 5.2.2.9"},
    {"Last-Modified: {-1000}\r\nDate: {0}\r\n", 100, kHeuristic, "9111 4.2.2: 10 %"},
    {"Last-Modified: {-1000}\r\n", 100, kHeuristic, "9111 4.2.2"},
    {"Last-Modified: {-2000}\r\nDate: {-1000}\r\n", 100, kHeuristic, "9111 4.2.2: counted from Date"},
    {"Last-Modified: {-9}\r\n", 0, kHeuristic, "9111 4.2.2"},
    {"Last-Modified: {-100000000}\r\n", 3 * 86400, kHeuristic, "9111 4.2.2: at most max"},
    {"Last-Modified: {60}\r\n", 0, kHeuristic, "9111 4.2.2: in the future"},
    {"Last-Modified: yesterday\r\n", 0, kHeuristic, "9110 8.8.2: invalid"},
    {"ETag: \"1\"\r\n", 0, kHeuristic, "9111 4.2.2"},
    {"", 0, kHeuristic, "9111 4.2.2"},
};

BOOST_AUTO_TEST_CASE(lifetime) {
  for (const LifetimeRow& row : kLifetimes) {
    BOOST_TEST_CONTEXT("[" << row.fields << "] RFC " << row.section) {
      Lifetimes l = lifetimes_of(row.fields);
      BOOST_TEST(l.freshness == row.lifetime);
      BOOST_TEST(l.explicit_lifetime == (row.kind == kExplicit));
      BOOST_TEST(l.heuristic == (row.kind == kHeuristic));
    }
  }
}

BOOST_AUTO_TEST_CASE(heuristic_statuses) {  // RFC 9110 15.1
  for (int status = 200; status <= 599; ++status) {
    bool wanted = false;
    for (int known : {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501}) wanted = wanted || status == known;
    BOOST_TEST(lifetimes_of("Last-Modified: {-1000}\r\n", kNone, status).freshness == (wanted ? 100 : 0), status);
    BOOST_TEST(lifetimes_of("Last-Modified: {-1000}\r\nCache-Control: public\r\n", kNone, status).freshness == 100, status);
    BOOST_TEST(lifetimes_of("Cache-Control: max-age=60\r\n", kNone, status).freshness == 60, status);
  }
}

BOOST_AUTO_TEST_CASE(refresh_pattern) {
  RefreshRule plain = rule_of(300, 20, 3600), expire = plain, lastmod = plain;
  expire.override_expire = true;
  lastmod.override_lastmod = true;
  struct Row { std::string_view fields; const RefreshRule& rule; int64_t lifetime; };
  const Row rows[] = {
      {"Last-Modified: {-1000}\r\n", plain, 200},        {"Last-Modified: {-100000}\r\n", plain, 3600},
      {"Last-Modified: {-1000}\r\n", lastmod, 300},      {"Last-Modified: {-10000}\r\n", lastmod, 2000},
      {"", plain, 300},                                  {"", lastmod, 300},
      {"Cache-Control: max-age=60\r\n", plain, 60},      {"Cache-Control: max-age=60\r\n", expire, 300},
      {"Cache-Control: max-age=600\r\n", expire, 600},   {"Expires: {60}\r\n", expire, 300},
      {"Expires: 0\r\n", expire, 300},                   {"Cache-Control: max-age=60\r\n", lastmod, 60},
      {"Cache-Control: max-age=100000\r\n", plain, 100000},
  };
  for (const Row& row : rows) BOOST_TEST(lifetimes_of(row.fields, row.rule).freshness == row.lifetime, row.fields);
}

BOOST_AUTO_TEST_CASE(initial_age) {
  struct Row { std::string_view fields; int64_t delay, age; std::string_view section; };
  const Row rows[] = {
      {"", 0, 0, "9111 4.2.3"},
      {"Date: {0}\r\n", 0, 0, "9111 4.2.3"},
      {"Date: {-10}\r\n", 0, 10, "9111 4.2.3: apparent age"},
      {"Date: {10}\r\n", 0, 0, "9111 4.2.3: never negative"},
      {"Age: 30\r\n", 0, 30, "9111 4.2.3"},
      {"Age: 30\r\n", 5, 35, "9111 4.2.3: response delay"},
      {"Age: 30\r\nDate: {-40}\r\n", 5, 40, "9111 4.2.3: the larger"},
      {"Age: 30\r\nDate: {-20}\r\n", 5, 35, "9111 4.2.3: the larger"},
      {"Date: {0}\r\n", 7, 7, "9111 4.2.3"},
      {"Age: 30, 60\r\n", 0, 30, "9111 5.1: first member"},
      {"Age: 30\r\nAge: 60\r\n", 0, 30, "9111 5.1: first line"},
      {"Age: x\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age: -30\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age: 30.5\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age: 30s\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age: \"30\"\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age:\r\n", 0, 0, "9111 5.1: invalid"},
      {"Age: 2147483648\r\n", 0, kDeltaMax, "9111 1.2.2"},
      {"Age: 99999999999999999999\r\n", 5, kDeltaMax, "9111 1.2.2"},
      {"Date: Mon, 01 Jan 1900 00:00:00 GMT\r\n", 0, kDeltaMax, "9111 1.2.2"},
      {"", -5, 0, "a clock set back"},
  };
  for (const Row& row : rows)
    BOOST_TEST(lifetimes_of(row.fields, kNone, 200, row.delay).initial_age == row.age, "[" << row.fields << "] RFC " << row.section);
}

RequestCacheControl request_of(std::string_view directives) {
  TestHead r = request_with(directives.empty() ? "" : "Cache-Control: " + std::string(directives) + "\r\n");
  return request_cache_control(r.head, r.bytes());
}

constexpr FreshnessVerdict kFresh = FreshnessVerdict::fresh, kStale = FreshnessVerdict::stale;
constexpr FreshnessVerdict kAllowed = FreshnessVerdict::stale_allowed, kBackground = FreshnessVerdict::stale_revalidate;

struct JudgeRow { std::string_view response, request; int64_t later; FreshnessVerdict verdict; std::string_view section; };
const JudgeRow kJudged[] = {
    {"max-age=60", "", 0, kFresh, "9111 4.2"},
    {"max-age=60", "", 59, kFresh, "9111 4.2"},
    {"max-age=60", "", 60, kStale, "9111 4.2"},
    {"max-age=60", "", -5, kFresh, "a clock set back"},
    {"max-age=0", "", 0, kStale, "9111 4.2"},
    {"max-age=60, no-cache", "", 0, kStale, "9111 5.2.2.4"},
    {"max-age=60, no-cache=\"a\"", "", 0, kFresh, "9111 5.2.2.4: qualified"},
    {"max-age=60", "no-cache", 0, kStale, "9111 5.2.1.4"},
    {"max-age=60", "max-age=0", 0, kStale, "9111 5.2.1.1"},
    {"max-age=60", "max-age=10", 10, kFresh, "9111 5.2.1.1"},
    {"max-age=60", "max-age=10", 11, kStale, "9111 5.2.1.1"},
    {"max-age=60", "max-age=100", 59, kFresh, "9111 5.2.1.1"},
    {"max-age=60", "max-age=100", 60, kStale, "9111 5.2.1.1"},
    {"max-age=60", "min-fresh=10", 50, kFresh, "9111 5.2.1.3"},
    {"max-age=60", "min-fresh=10", 51, kStale, "9111 5.2.1.3"},
    {"max-age=60", "min-fresh=99", 0, kStale, "9111 5.2.1.3"},
    {"max-age=60", "max-stale=10", 70, kAllowed, "9111 5.2.1.2"},
    {"max-age=60", "max-stale=10", 71, kStale, "9111 5.2.1.2"},
    {"max-age=60", "max-stale", 1000000, kAllowed, "9111 5.2.1.2"},
    {"max-age=60", "max-stale", 30, kFresh, "9111 5.2.1.2"},
    {"max-age=60, must-revalidate", "max-stale", 60, kStale, "9111 5.2.2.2"},
    {"max-age=60, proxy-revalidate", "max-stale", 60, kStale, "9111 5.2.2.8"},
    {"s-maxage=60", "max-stale", 60, kStale, "9111 5.2.2.10"},
    {"max-age=60, no-cache", "max-stale", 60, kStale, "9111 5.2.2.4"},
    {"max-age=60", "max-stale=100, max-age=65", 70, kStale, "9111 5.2.1.1"},
    {"max-age=60", "max-stale=100, no-cache", 70, kStale, "9111 5.2.1.4"},
    {"max-age=60, stale-while-revalidate=30", "", 59, kFresh, "5861 3"},
    {"max-age=60, stale-while-revalidate=30", "", 60, kBackground, "5861 3"},
    {"max-age=60, stale-while-revalidate=30", "", 89, kBackground, "5861 3"},
    {"max-age=60, stale-while-revalidate=30", "", 90, kStale, "5861 3"},
    {"max-age=60, stale-while-revalidate=30, must-revalidate", "", 70, kStale, "9111 5.2.2.2"},
    {"max-age=60, stale-while-revalidate=30", "max-age=0", 70, kStale, "9111 5.2.1.1"},
    {"max-age=60, stale-while-revalidate=30", "no-cache", 70, kStale, "9111 5.2.1.4"},
    {"max-age=60, stale-while-revalidate=30", "min-fresh=1", 70, kStale, "9111 5.2.1.3"},
    {"max-age=60, immutable", "", 60, kStale, "8246 2"},
    {"max-age=99999999999", "", 2000000000, kFresh, "9111 1.2.2"},
};

BOOST_AUTO_TEST_CASE(judged) {
  for (const JudgeRow& row : kJudged) {
    Lifetimes l = lifetimes_of("Cache-Control: " + std::string(row.response) + "\r\n");
    FreshnessVerdict verdict = verdict_of(l, request_of(row.request), kNone, {}, kNow + row.later);
    BOOST_TEST(int(verdict) == int(row.verdict), row.response << " / " << row.request << " +" << row.later << " RFC " << row.section);
  }
}

BOOST_AUTO_TEST_CASE(administrators_say) {
  Lifetimes l = lifetimes_of("Cache-Control: max-age=60\r\n");
  RefreshRule ignore = kNone;
  ignore.ignore_reload = true;
  BOOST_TEST(int(verdict_of(l, request_of("no-cache"), ignore, {}, kNow)) == int(kFresh));
  BOOST_TEST(int(verdict_of(l, request_of("max-age=0"), ignore, {}, kNow)) == int(kFresh));
  BOOST_TEST(int(verdict_of(l, request_of("max-age=10"), ignore, {}, kNow + 11)) == int(kStale));
  BOOST_TEST(int(verdict_of(l, request_of("no-cache"), ignore, {}, kNow + 60)) == int(kStale));
  FreshnessLimits ignore_cc, offline;
  ignore_cc.ignore_client_reload = true;
  BOOST_TEST(int(verdict_of(l, request_of("no-cache, max-age=0, min-fresh=99"), kNone, ignore_cc, kNow)) == int(kFresh));
  BOOST_TEST(int(verdict_of(l, request_of("max-stale"), kNone, ignore_cc, kNow + 60)) == int(kStale));
  offline.offline = true;
  BOOST_TEST(int(verdict_of(l, request_of("no-cache"), kNone, offline, kNow + 6000)) == int(kAllowed));
  BOOST_TEST(int(verdict_of(l, request_of(""), kNone, offline, kNow)) == int(kFresh));
}

struct ErrorRow { std::string_view response, request; int64_t later; bool serve; std::string_view section; };
const ErrorRow kOnError[] = {
    {"max-age=60", "", 100, true, "9111 4.2.4"},
    {"max-age=60", "", 60 + 7 * 86400, true, "max_stale"},
    {"max-age=60", "", 61 + 7 * 86400, false, "max_stale"},
    {"max-age=60, must-revalidate", "", 100, false, "9111 5.2.2.2"},
    {"max-age=60, proxy-revalidate", "", 100, false, "9111 5.2.2.8"},
    {"s-maxage=60", "", 100, false, "9111 5.2.2.10"},
    {"max-age=60, no-cache", "", 10, false, "9111 5.2.2.4"},
    {"max-age=60, must-revalidate, stale-if-error=999", "", 100, false, "9111 5.2.2.2"},
    {"max-age=60, stale-if-error=30", "", 90, true, "5861 4"},
    {"max-age=60, stale-if-error=30", "", 91, false, "5861 4"},
    {"max-age=60, stale-if-error=0", "", 61, false, "5861 4"},
    {"max-age=60", "stale-if-error=30", 91, false, "5861 4"},
    {"max-age=60, stale-if-error=30", "stale-if-error=60", 110, true, "5861 4"},
    {"max-age=60", "no-cache", 100, false, "9111 5.2.1.4"},
    {"max-age=60", "no-cache", 10, false, "9111 5.2.1.4"},
    {"max-age=60", "max-age=0", 10, true, "fresh for all but this client's wish"},
    {"max-age=60, must-revalidate", "max-age=0", 10, true, "fresh for all but this client's wish"},
};

BOOST_AUTO_TEST_CASE(on_error) {
  for (const ErrorRow& row : kOnError) {
    Lifetimes l = lifetimes_of("Cache-Control: " + std::string(row.response) + "\r\n");
    BOOST_TEST(may_serve_on_error(l, request_of(row.request), kNone, {}, kNow + row.later) == row.serve,
               row.response << " / " << row.request << " +" << row.later << " RFC " << row.section);
  }
  Lifetimes l = lifetimes_of("Cache-Control: max-age=60\r\n");
  RefreshRule rule = kNone;
  rule.max_stale = 10;
  BOOST_TEST(may_serve_on_error(l, {}, rule, {}, kNow + 70));
  BOOST_TEST(!may_serve_on_error(l, {}, rule, {}, kNow + 71));
}

BOOST_AUTO_TEST_CASE(a_validation_of_the_client_goes_on_where_it_is_asked_for) {
  Lifetimes l = lifetimes_of("Cache-Control: max-age=60\r\n");
  FreshnessLimits limits;
  limits.if_modified_since = true;
  BOOST_TEST((verdict_of(l, {}, kNone, limits, kNow) == FreshnessVerdict::fresh));
  RefreshRule rule = kNone;
  rule.refresh_ims = true;
  BOOST_TEST((verdict_of(l, {}, rule, limits, kNow) == FreshnessVerdict::stale));
  limits.refresh_all_ims = true;
  BOOST_TEST((verdict_of(l, {}, kNone, limits, kNow) == FreshnessVerdict::stale));
  limits.offline = true;
  BOOST_TEST((verdict_of(l, {}, kNone, limits, kNow) == FreshnessVerdict::fresh));
  limits = {};
  limits.refresh_all_ims = true;
  BOOST_TEST((verdict_of(l, {}, kNone, limits, kNow) == FreshnessVerdict::fresh));
}

BOOST_AUTO_TEST_CASE(vary_ignore_expire_ignores_an_expires_that_equals_date) {
  struct Row { std::string_view fields; bool explicit_lifetime; };
  for (Row row : {Row{"Date: {0}\r\nExpires: {0}\r\nVary: a\r\nLast-Modified: {-1000}\r\n", false}, Row{"Date: {0}\r\nExpires: {0}\r\n", true},
                  Row{"Date: {0}\r\nExpires: {-1}\r\nVary: a\r\n", true}, Row{"Date: {0}\r\nExpires: 0\r\nVary: a\r\n", true},
                  Row{"Date: {0}\r\nExpires: {0}\r\nVary: a\r\nCache-Control: max-age=5\r\n", true}}) {
    TestHead r = response_with(with_dates(row.fields));
    Lifetimes l = lifetimes(r.head, r.bytes(), response_cache_control(r.head, r.bytes()), kNone, kNow, kNow, true);
    BOOST_TEST(l.explicit_lifetime == row.explicit_lifetime, row.fields);
    BOOST_TEST(lifetimes_of(row.fields).explicit_lifetime, row.fields);
  }
}

struct StoreRow { int status; std::string_view fields; StoreVerdict verdict; std::string_view section; };
constexpr StoreVerdict kNothing = StoreVerdict::no_lifetime_or_validator;
const StoreRow kStored[] = {
    {200, "Cache-Control: max-age=60\r\n", kStore, "9111 3"},
    {200, "Cache-Control: max-age=59\r\n", kNothing, "minimum_expiry_time"},
    {200, "Cache-Control: max-age=59\r\nETag: \"1\"\r\n", kStore, "9111 3"},
    {200, "Cache-Control: max-age=60\r\nAge: 31\r\n", kStore, "minimum_expiry_time: the lifetime, not what is left of it"},
    {200, "Cache-Control: max-age=90\r\nAge: 90\r\n", kNothing, "9111 3: nothing to serve"},
    {200, "Cache-Control: max-age=0\r\n", kNothing, "9111 3: nothing to serve"},
    {200, "Cache-Control: max-age=0\r\nETag: \"1\"\r\n", kStore, "9111 4.3: to validate"},
    {200, "Cache-Control: no-cache, max-age=600\r\nETag: \"1\"\r\n", kStore, "9111 5.2.2.4"},
    {200, "Cache-Control: max-age=x\r\n", kNothing, "9111 4.2.1"},
    {200, "Expires: 0\r\n", kNothing, "9111 5.3"},
    {200, "Expires: {600}\r\n", kStore, "9111 3"},
    {200, "", kNothing, "9111 3"},
    {200, "ETag: \"1\"\r\n", kStore, "9111 4.3: to validate"},
    {200, "Last-Modified: {-1000}\r\n", kStore, "9111 4.2.2"},
    {200, "Cache-Control: public\r\n", kNothing, "9111 3"},
    {200, "Cache-Control: no-store, max-age=600\r\n", StoreVerdict::response_no_store, "9111 5.2.2.5"},
    {200, "Cache-Control: private, max-age=600\r\n", StoreVerdict::response_private, "9111 5.2.2.7"},
    {200, "Cache-Control: private=\"a\", max-age=600\r\n", kStore, "9111 5.2.2.7: qualified"},
    {200, "Cache-Control: max-age=600\r\nVary: *\r\n", StoreVerdict::vary_star, "9111 4.1"},
    {200, "Cache-Control: max-age=600\r\nVary: a, *\r\n", StoreVerdict::vary_star, "9111 4.1"},
    {200, "Cache-Control: max-age=600\r\nVary: a\r\n", kStore, "9111 4.1"},
    {200, "Cache-Control: max-age=600\r\nSet-Cookie: a=b\r\n", kStore, "9111 7.3"},
    {200, "Cache-Control: max-age=600, must-understand, no-store\r\n", kStore, "9111 5.2.2.3"},
    {599, "Cache-Control: max-age=600, must-understand, no-store\r\n", StoreVerdict::status_not_understood, "9111 5.2.2.3"},
    {599, "Cache-Control: max-age=600\r\n", kStore, "9111 3: any final status"},
    {299, "Cache-Control: max-age=600\r\n", kStore, "9111 3: any final status"},
    {500, "Cache-Control: max-age=600\r\n", kStore, "9111 3: any final status"},
    {302, "Cache-Control: max-age=600\r\n", kStore, "9111 3: any final status"},
    {302, "Last-Modified: {-1000}\r\n", kNothing, "9111 4.2.2"},
    {302, "Last-Modified: {-1000}\r\nCache-Control: public\r\n", kStore, "9111 4.2.2"},
    {404, "", StoreVerdict::negative, "negative_ttl"},
    {500, "", StoreVerdict::negative, "negative_ttl"},
    {500, "ETag: \"1\"\r\n", StoreVerdict::negative, "negative_ttl"},
    {404, "Last-Modified: {-1000}\r\n", kStore, "9111 4.2.2"},
    {404, "Cache-Control: max-age=600\r\n", kStore, "9111 3"},
    {100, "Cache-Control: max-age=600\r\n", StoreVerdict::status_not_understood, "9111 3: final only"},
    {103, "Cache-Control: max-age=600\r\n", StoreVerdict::status_not_understood, "9111 3: final only"},
    {304, "Cache-Control: max-age=600\r\n", StoreVerdict::status_not_understood, "9111 4.3.3"},
    {407, "Cache-Control: max-age=600\r\n", StoreVerdict::status_not_understood, "9110 15.5.8"},
    {412, "Cache-Control: max-age=600\r\n", StoreVerdict::status_not_understood, "9110 15.5.13"},
    {206, "Cache-Control: max-age=600\r\nContent-Range: bytes 0-4/5\r\n", StoreVerdict::partial_content, "9111 3.3"},
    {416, "Cache-Control: max-age=600\r\n", StoreVerdict::range_request, "9110 15.5.17"},
};

StoreVerdict verdict_on(int status, std::string_view fields, const RefreshRule& rule, const StoreQuestion& question) {
  TestHead r = response_with(with_dates(fields), "HTTP/1.1 " + std::to_string(status) + " X");
  ResponseCacheControl cc = response_cache_control(r.head, r.bytes());
  Lifetimes l = lifetimes(r.head, r.bytes(), cc, rule, kNow, kNow);
  apply_negative_ttl(l, status, question.negative_ttl);
  return may_store(r.head, r.bytes(), cc, l, rule, question);
}

BOOST_AUTO_TEST_CASE(stored) {
  for (const StoreRow& row : kStored)
    BOOST_TEST(text(verdict_on(row.status, row.fields, kNone, {})) == text(row.verdict), row.status << " [" << row.fields << "] RFC " << row.section);
}

BOOST_AUTO_TEST_CASE(requests_say) {
  const std::string_view plain = "Cache-Control: max-age=600\r\n";
  auto with_method = [&](Method method) { StoreQuestion q; q.request_method = method; return verdict_on(200, plain, kNone, q); };
  for (Method m : {Method::head, Method::post, Method::put, Method::delete_, Method::options, Method::trace, Method::patch, Method::other})
    BOOST_TEST(text(with_method(m)) == "not-stored.method");
  StoreQuestion post;  // RFC 9110 9.3.3
  post.request_method = Method::post;
  post.content_location_is_target = true;
  BOOST_TEST(text(verdict_on(200, plain, kNone, post)) == "-");
  BOOST_TEST(text(verdict_on(200, "Last-Modified: {-1000}\r\n", kNone, post)) == "not-stored.no-lifetime-or-validator");
  StoreQuestion no_store;  // RFC 9111 5.2.1.5
  no_store.request.no_store = true;
  BOOST_TEST(text(verdict_on(200, plain, kNone, no_store)) == "not-stored.request-no-store");
}

BOOST_AUTO_TEST_CASE(authorization) {  // RFC 9111 3.5
  StoreQuestion q;
  q.request_has_authorization = true;
  struct Row { std::string_view directives; bool store; };
  const Row rows[] = {{"max-age=600", false},           {"max-age=600, public", true}, {"s-maxage=600", true},
                      {"max-age=600, must-revalidate", true}, {"max-age=600, proxy-revalidate", false}};
  for (const Row& row : rows) {
    StoreVerdict v = verdict_on(200, "Cache-Control: " + std::string(row.directives) + "\r\n", kNone, q);
    BOOST_TEST(text(v) == (row.store ? "-" : "not-stored.authorization"), row.directives);
  }
}

BOOST_AUTO_TEST_CASE(administrators_store) {
  RefreshRule rule = kNone;
  rule.ignore_no_store = rule.ignore_private = true;
  BOOST_TEST(text(verdict_on(200, "Cache-Control: no-store, private, max-age=600\r\n", rule, {})) == "-");
  RefreshRule stale = kNone;
  stale.store_stale = true;
  BOOST_TEST(text(verdict_on(200, "Expires: 0\r\n", stale, {})) == "-");
  BOOST_TEST(text(verdict_on(200, "", rule_of(600, 20, 3600), {})) == "-");
  StoreQuestion q;
  q.minimum_expiry_time = 0;
  BOOST_TEST(text(verdict_on(200, "Cache-Control: max-age=1\r\n", kNone, q)) == "-");
  q.minimum_expiry_time = 60;
  q.negative_ttl = 10;
  BOOST_TEST(text(verdict_on(404, "", kNone, q)) == "-");
  BOOST_TEST(text(verdict_on(503, "", kNone, q)) == "-");
  BOOST_TEST(text(verdict_on(503, "Cache-Control: no-store\r\n", kNone, q)) == "not-stored.no-store");
  BOOST_TEST(text(verdict_on(302, "", kNone, q)) == "not-stored.no-lifetime-or-validator");
}

BOOST_AUTO_TEST_SUITE_END()
