// Caching as a whole, over the pure functions: each row a response, a request, a moment, and what may be done then.
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <string>

#include "http/conditional.h"
#include "http/date.h"
#include "http/freshness.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(freshness_rules)

constexpr base::WallSeconds kNow = 1700000000;

// "{-60}" stands for the date 60 seconds before kNow.
std::string dated(std::string_view text) {
  std::string out(text);
  for (size_t i; (i = out.find('{')) != out.npos;) {
    size_t end = out.find('}', i);
    char date[kDateLength];
    format_date(kNow + std::stoll(out.substr(i + 1, end - i - 1)), date);
    out.replace(i, end - i + 1, date, kDateLength);
  }
  return out;
}

enum Use { kNotStored, kFresh, kStale, kAllowed, kBackground };

// What becomes of a response that came at kNow when `request` comes `later`.
Use use_of(int status, std::string_view response, std::string_view first, std::string_view request, int64_t later, int64_t delay = 0) {
  RefreshRule rule;
  rule.percent = 10;
  TestHead r = response_with(dated(response), "HTTP/1.1 " + std::to_string(status) + " X"), q1 = request_with(dated(first)), q2 = request_with(dated(request));
  ResponseCacheControl cc = response_cache_control(r.head, r.bytes());
  Lifetimes l = lifetimes(r.head, r.bytes(), cc, rule, kNow - delay, kNow);
  StoreQuestion q;
  q.request_has_authorization = q1.head.has(FieldId::authorization);
  q.request = request_cache_control(q1.head, q1.bytes());
  q.minimum_expiry_time = 0;
  if (may_store(r.head, r.bytes(), cc, l, rule, q) != kStore) return kNotStored;
  switch (judge(l, request_cache_control(q2.head, q2.bytes()), rule, {}, kNow + later).verdict) {
    case FreshnessVerdict::fresh: return kFresh;
    case FreshnessVerdict::stale: return kStale;
    case FreshnessVerdict::stale_allowed: return kAllowed;
    case FreshnessVerdict::stale_revalidate: return kBackground;
  }
  return kNotStored;
}

// ---- one response, at two moments --------------------------------------------

struct LifeRow { std::string_view fields; int64_t last_fresh; std::string_view section; };   // -1: never fresh
const LifeRow kLives[] = {
    {"Cache-Control: max-age=100\r\n", 99, "9111 5.2.2.1"},
    {"Cache-Control: max-age=1\r\n", 0, "9111 5.2.2.1"},
    {"Cache-Control: max-age=\"100\"\r\n", 99, "9111 5.2: both forms"},
    {"Cache-Control: max-age=0100\r\n", 99, "9111 1.2.2: zeros in front"},
    {"Cache-Control: Max-Age=100\r\n", 99, "9111 5.2: without case"},
    {"Cache-Control: max-age=100, max-age=5\r\n", 99, "9111 4.2.1: the first"},
    {"Cache-Control: max-age=5, max-age=100\r\n", 4, "9111 4.2.1: the first"},
    {"Cache-Control: max-age=100\r\nCache-Control: max-age=5\r\n", 99, "9110 5.3"},
    {"Cache-Control: max-age=-5, max-age=100\r\n", 99, "9111 4.2.1: the first valid one"},
    {"Cache-Control: foo, max-age=100, bar=\"x, max-age=5\"\r\n", 99, "9111 5.2.3"},
    {"Cache-Control: bar=\"max-age=5\", max-age=100\r\n", 99, "9110 5.6.4"},
    {"Cache-Control: bar='max-age=5', max-age=100\r\n", 99, "9110 5.6.4: no quotes at all"},
    {"Cache-Control: bar='a, max-age=5', max-age=100\r\n", 99, "9111 4.2.1: max-age=5' is no number"},
    {"Cache-Control: max-age=100, s-maxage=10\r\n", 9, "9111 5.2.2.10"},
    {"Cache-Control: s-maxage=100, max-age=10\r\n", 99, "9111 5.2.2.10"},
    {"Cache-Control: S-MAXAGE=100, max-age=0\r\n", 99, "9111 5.2.2.10"},
    {"Cache-Control: s-maxage=0, max-age=100\r\nETag: \"a\"\r\n", -1, "9111 5.2.2.10"},
    {"Cache-Control: s-maxage=0\r\nExpires: {100}\r\nETag: \"a\"\r\n", -1, "9111 5.3"},
    {"Cache-Control: s-maxage=x, max-age=100\r\nETag: \"a\"\r\n", -1, "9111 4.2.1"},
    {"Cache-Control: max-age=100\r\nExpires: {10}\r\nDate: {0}\r\n", 99, "9111 5.3"},
    {"Cache-Control: max-age=100\r\nExpires: 0\r\nDate: {0}\r\n", 99, "9111 5.3"},
    {"Cache-Control: max-age=10\r\nExpires: {100}\r\nDate: {0}\r\n", 9, "9111 5.3"},
    {"Cache-Control: max-age=0\r\nExpires: {100}\r\nETag: \"a\"\r\n", -1, "9111 5.3"},
    {"Cache-Control: max-age=1.5\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=100.0\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=+100\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=-100\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=a100\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=100a\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=1e2\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age='100'\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age= 100\r\nETag: \"a\"\r\n", -1, "9111 5.2"},
    {"Cache-Control: max-age: 100\r\nETag: \"a\"\r\n", -1, "9111 5.2: no directive of that name"},
    {"Cache-Control: public;max-age=100\r\nETag: \"a\"\r\n", -1, "9111 5.2: no list"},
    {"Expires: {100}\r\nDate: {0}\r\n", 99, "9111 4.2.1"},
    {"Expires: {100}\r\n", 99, "9110 6.6.1: no Date"},
    {"Expires: {100}\r\nDate: {-50}\r\n", 99, "9111 4.2.3: 150 s from Date, 50 gone"},
    {"Expires: {50}\r\nDate: {-100}\r\n", 49, "9111 4.2.3"},
    {"Expires: {-1}\r\nDate: {-100}\r\nETag: \"a\"\r\n", -1, "9111 4.2.1: over on the way"},
    {"Expires: {1100}\r\nDate: {1000}\r\n", 99, "9111 4.2.1: the origin's clock is ahead"},
    {"Expires: {-900}\r\nDate: {-1000}\r\nETag: \"a\"\r\n", -1, "9111 4.2.3: the origin's clock is behind: its Age shows it"},
    {"Expires: {0}\r\nDate: {0}\r\nETag: \"a\"\r\n", -1, "9111 4.2.1"},
    {"Expires: {-100}\r\nDate: {0}\r\nETag: \"a\"\r\n", -1, "9111 4.2.1"},
    {"Expires: 0\r\nETag: \"a\"\r\n", -1, "9111 5.3"},
    {"Expires: -1\r\nLast-Modified: {-1000}\r\n", -1, "9111 5.3"},
    {"Expires: 100\r\nETag: \"a\"\r\n", -1, "9111 5.3"},
    {"Expires: soon\r\nETag: \"a\"\r\n", -1, "9111 5.3"},
    {"Expires: Thu, 18 Aug 2050 02:01:18 UTC\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18 Aug 2050 02:01:18 AEST\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu 18 Aug 2050 02:01:18 GMT\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18  Aug  2050 02:01:18 GMT\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18-Aug-2050 02:01:18 GMT\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18 Aug 50 02:01:18 GMT\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18 Aug 2050 2:01:18 GMT\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18 Aug 2050 02:01:18\r\nETag: \"a\"\r\n", -1, "9110 5.6.7"},
    {"Expires: Thu, 18 Aug 2050 02:01:18 GMT\r\n", 800000000, "9110 5.6.7"},
    {"Expires: thu, 18 aug 2050 02:01:18 gmt\r\n", 800000000, "9110 5.6.7: case"},
    {"Expires: Thu Aug 18 02:01:18 2050\r\n", 800000000, "9110 5.6.7: asctime"},
    {"Expires: Thursday, 18-Aug-50 02:01:18 GMT\r\n", 800000000, "9110 5.6.7: RFC 850"},
    {"Cache-Control: max-age=100\r\nAge: 40\r\n", 59, "9111 4.2.3"},
    {"Cache-Control: max-age=100\r\nAge: 40\r\nDate: {-20}\r\n", 59, "9111 4.2.3: the larger"},
    {"Cache-Control: max-age=100\r\nAge: 20\r\nDate: {-40}\r\n", 59, "9111 4.2.3: the larger"},
    {"Cache-Control: max-age=100\r\nAge: 0\r\n", 99, "9111 5.1"},
    {"Cache-Control: max-age=100\r\nAge: 040\r\n", 59, "9111 5.1"},
    {"Cache-Control: max-age=100\r\nAge: 40, 90\r\n", 59, "9111 5.1: the first"},
    {"Cache-Control: max-age=100\r\nAge: 40,\r\n", 59, "9110 5.6.1"},
    {"Cache-Control: max-age=100\r\nAge: , 40\r\n", 59, "9110 5.6.1: an empty member is none"},
    {"Cache-Control: max-age=100\r\nAge:\r\nAge: 40\r\n", 59, "9110 5.6.1: an empty line is none"},
    {"Cache-Control: max-age=100\r\nAge: 40\r\nAge: 90\r\n", 59, "9111 5.1: the first"},
    {"Cache-Control: max-age=100\r\nAge: abc\r\n", 99, "9111 5.1: ignored"},
    {"Cache-Control: max-age=100\r\nAge: -40\r\n", 99, "9111 5.1: ignored"},
    {"Cache-Control: max-age=100\r\nAge: 40.0\r\n", 99, "9111 5.1: ignored"},
    {"Cache-Control: max-age=100\r\nAge: 40s\r\n", 99, "9111 5.1: ignored"},
    {"Cache-Control: max-age=100\r\nAge: 40 ; x\r\n", 99, "9111 5.1: ignored"},
    {"Cache-Control: max-age=100\r\nAge: 100\r\nETag: \"a\"\r\n", -1, "9111 4.2.3"},
    {"Cache-Control: max-age=100\r\nAge: 2147483647\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=100\r\nAge: 2147483649\r\nETag: \"a\"\r\n", -1, "9111 1.2.2"},
    {"Cache-Control: max-age=100\r\nAge: 18446744073709551617\r\nETag: \"a\"\r\n", -1, "9111 1.2.2: no wrapping round"},
    {"Cache-Control: max-age=18446744073709551617\r\nAge: 100\r\n", 2000000000, "9111 1.2.2: no wrapping round"},
    {"Cache-Control: max-age=4294967297\r\n", 2000000000, "9111 1.2.2: no wrapping round"},
    {"Cache-Control: max-age=2147483648\r\nAge: 2147483648\r\nETag: \"a\"\r\n", -1, "9111 1.2.2: huge is stale"},
    {"Cache-Control: max-age=100\r\nDate: {-40}\r\n", 59, "9111 4.2.3: apparent age"},
    {"Cache-Control: max-age=100\r\nDate: {40}\r\n", 99, "9111 4.2.3: never negative"},
    {"Cache-Control: max-age=100\r\nDate: sometime\r\n", 99, "9110 6.6.1: as if absent"},
    {"Last-Modified: {-1000}\r\nDate: {0}\r\n", 99, "9111 4.2.2"},
    {"Last-Modified: {-1000}\r\nDate: {0}\r\nAge: 50\r\n", 49, "9111 4.2.2"},
    {"Last-Modified: {-1000}\r\nCache-Control: foo\r\n", 99, "9111 4.2.2"},
    {"Last-Modified: {-1000}\r\nCache-Control: public\r\n", 99, "9111 5.2.2.9"},
    {"Last-Modified: {-1000}\r\nCache-Control: max-age=0\r\n", -1, "9111 4.2.2: explicit goes first"},
    {"Last-Modified: {1000}\r\n", -1, "9111 4.2.2: later than Date"},
    {"ETag: \"a\"\r\n", -1, "9111 4.2.2"},
    {"Cache-Control: no-cache\r\nETag: \"a\"\r\n", -1, "9111 5.2.2.4"},
    {"Cache-Control: no-cache, max-age=100\r\nETag: \"a\"\r\n", -1, "9111 5.2.2.4"},
    {"Cache-Control: NO-CACHE, max-age=100\r\nETag: \"a\"\r\n", -1, "9111 5.2"},
    {"Cache-Control: no-cache, s-maxage=100\r\nETag: \"a\"\r\n", -1, "9111 5.2.2.4"},
    {"Cache-Control: no-cache=\"x\", max-age=100\r\n", 99, "9111 5.2.2.4: qualified"},
    {"Cache-Control: private=\"x\", max-age=100\r\n", 99, "9111 5.2.2.7: qualified"},
    {"Cache-Control: must-revalidate, max-age=100\r\n", 99, "9111 5.2.2.2"},
    {"Cache-Control: proxy-revalidate, max-age=100\r\n", 99, "9111 5.2.2.8"},
    {"Cache-Control: immutable, max-age=100\r\n", 99, "8246 2"},
    {"Pragma: no-cache\r\nCache-Control: max-age=100\r\n", 99, "9111 5.4: requests only"},
    {"Pragma: no-cache\r\nExpires: {100}\r\n", 99, "9111 5.4: requests only"},
    {"Set-Cookie: a=b\r\nCache-Control: max-age=100\r\n", 99, "9111 7.3"},
};

BOOST_AUTO_TEST_CASE(lives) {
  for (const LifeRow& row : kLives) {
    BOOST_TEST_CONTEXT("[" << row.fields << "] RFC " << row.section) {
      if (row.last_fresh >= 0) BOOST_TEST(use_of(200, row.fields, "", "", row.last_fresh) == kFresh);
      if (row.last_fresh >= 0 && row.last_fresh < 1000000) BOOST_TEST(use_of(200, row.fields, "", "", row.last_fresh + 1) == kStale);
      if (row.last_fresh < 0) BOOST_TEST(use_of(200, row.fields, "", "", 0) == kStale);
    }
  }
}

// ---- which statuses -----------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_final_status_with_a_lifetime) {  // RFC 9111 3
  for (int status = 200; status <= 599; ++status) {
    // A part, the answers to conditions and ranges of one request, and 407, which is for the next hop.
    bool never = status == 206 || status == 304 || status == 407 || status == 412 || status == 416;
    for (std::string_view fields : {"Cache-Control: max-age=100\r\n", "Cache-Control: s-maxage=100\r\n", "Expires: {100}\r\n"})
      BOOST_TEST(use_of(status, fields, "", "", 0) == (never ? kNotStored : kFresh), status << " [" << fields << "]");
    BOOST_TEST(use_of(status, "Cache-Control: no-store, max-age=100\r\n", "", "", 0) == kNotStored, status);
    BOOST_TEST(use_of(status, "Cache-Control: private, max-age=100\r\n", "", "", 0) == kNotStored, status);
  }
  for (int status = 100; status <= 199; ++status) BOOST_TEST(use_of(status, "Cache-Control: max-age=100\r\n", "", "", 0) == kNotStored, status);
}

// ---- storing -------------------------------------------------------------------

struct StoringRow { std::string_view fields, request; Use at_once; std::string_view section; };
const StoringRow kStoring[] = {
    {"Cache-Control: max-age=100\r\n", "", kFresh, "9111 3"},
    {"Cache-Control: no-store\r\nETag: \"a\"\r\n", "", kNotStored, "9111 5.2.2.5"},
    {"Cache-Control: NO-STORE, max-age=100\r\n", "", kNotStored, "9111 5.2"},
    {"Cache-Control: max-age=100\r\nCache-Control: no-store\r\n", "", kNotStored, "9110 5.3"},
    {"Cache-Control: no-store=\"x\", max-age=100\r\n", "", kNotStored, "9111 5.2.2.5: the careful reading"},
    {"Cache-Control: foo=\"no-store\", max-age=100\r\n", "", kFresh, "9110 5.6.4"},
    {"Cache-Control: foo=\"a, no-store\", max-age=100\r\n", "", kFresh, "9110 5.6.4"},
    {"Cache-Control: private\r\nExpires: {100}\r\n", "", kNotStored, "9111 5.2.2.7"},
    {"Cache-Control: private=\"\", max-age=100\r\n", "", kNotStored, "9111 5.2.2.7: nothing named"},
    {"Cache-Control: private, public, max-age=100\r\n", "", kNotStored, "9111 4.2.1: the most restrictive"},
    {"Cache-Control: no-store, public, max-age=100\r\n", "", kNotStored, "9111 4.2.1: the most restrictive"},
    {"Cache-Control: must-understand, no-store, max-age=100\r\n", "", kFresh, "9111 5.2.2.3"},
    {"Cache-Control: must-understand, private, max-age=100\r\n", "", kNotStored, "9111 5.2.2.3"},
    {"Cache-Control: max-age=100\r\nVary: *\r\n", "", kNotStored, "9111 4.1"},
    {"Cache-Control: max-age=100\r\nVary: *, *\r\n", "", kNotStored, "9111 4.1"},
    {"Cache-Control: max-age=100\r\nVary: , *\r\n", "", kNotStored, "9111 4.1"},
    {"Cache-Control: max-age=100\r\nVary: A\r\nVary: *\r\n", "", kNotStored, "9111 4.1"},
    {"Cache-Control: max-age=100\r\nVary:\r\n", "", kFresh, "9111 4.1: names nothing"},
    {"Cache-Control: max-age=100\r\nVary: A, b\r\n", "", kFresh, "9111 4.1"},
    {"Cache-Control: max-age=100\r\n", "Cache-Control: no-store\r\n", kNotStored, "9111 5.2.1.5"},
    {"Cache-Control: max-age=100\r\n", "Cache-Control: no-cache\r\n", kFresh, "9111 5.2.1.4: may be stored"},
    {"Cache-Control: max-age=100\r\n", "Cache-Control: max-age=0\r\n", kFresh, "9111 5.2.1.1: may be stored"},
    {"Cache-Control: max-age=100\r\n", "Pragma: no-cache\r\n", kFresh, "9111 5.4: may be stored"},
    {"Cache-Control: max-age=100\r\n", "Cookie: a=b\r\n", kFresh, "9111 3"},
    {"Cache-Control: max-age=100\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Expires: {100}\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Last-Modified: {-1000}\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Cache-Control: max-age=100, public\r\n", "Authorization: x\r\n", kFresh, "9111 3.5"},
    {"Cache-Control: max-age=100, must-revalidate\r\n", "Authorization: x\r\n", kFresh, "9111 3.5"},
    {"Cache-Control: s-maxage=100\r\n", "Authorization: x\r\n", kFresh, "9111 3.5"},
    {"Cache-Control: max-age=100, proxy-revalidate\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5: not of its list"},
    {"Cache-Control: max-age=100, no-cache\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Cache-Control: max-age=100, public, private\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Cache-Control: max-age=100, foo=\"public\"\r\n", "Authorization: x\r\n", kNotStored, "9111 3.5"},
    {"Cache-Control: max-age=100, public=x\r\n", "Authorization:\r\n", kFresh, "9111 3.5"},
    {"Cache-Control: max-age=100\r\n", "Authorization:\r\n", kNotStored, "9111 3.5: an empty one is one"},
};

BOOST_AUTO_TEST_CASE(storing) {
  for (const StoringRow& row : kStoring)
    BOOST_TEST(use_of(200, row.fields, row.request, "", 0) == row.at_once, "[" << row.fields << "] [" << row.request << "] RFC " << row.section);
}

// ---- what a request may ask ----------------------------------------------------

struct WishRow { std::string_view response, request; int64_t later; Use use; std::string_view section; };
const WishRow kWishes[] = {
    {"max-age=100", "Cache-Control: no-cache\r\n", 0, kStale, "9111 5.2.1.4"},
    {"max-age=100", "Cache-Control: No-Cache\r\n", 0, kStale, "9111 5.2"},
    {"max-age=100", "Cache-Control: foo=\"no-cache\"\r\n", 0, kFresh, "9110 5.6.4"},
    {"max-age=100", "Pragma: no-cache\r\n", 0, kStale, "9111 5.4"},
    {"max-age=100", "Pragma: foo\r\n", 0, kFresh, "9111 5.4"},
    {"max-age=100", "Pragma: no-cache\r\nCache-Control: max-age=50\r\n", 0, kFresh, "9111 5.4: Cache-Control goes first"},
    {"max-age=100", "Cache-Control: no-store\r\n", 0, kFresh, "9111 5.2.1.5: about storing"},
    {"max-age=100", "Cache-Control: only-if-cached\r\n", 0, kFresh, "9111 5.2.1.7"},
    {"max-age=100", "Cache-Control: max-age=0\r\n", 0, kStale, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-age=30\r\n", 30, kFresh, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-age=30\r\n", 31, kStale, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-age=999\r\n", 99, kFresh, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-age=999\r\n", 100, kStale, "9111 5.2.1.1: prolongs nothing"},
    {"max-age=100", "Cache-Control: max-age=x\r\n", 0, kFresh, "9111 5.2.1.1: no wish"},
    {"max-age=100", "Cache-Control: s-maxage=0\r\n", 0, kFresh, "9111 5.2.2.10: of responses"},
    {"max-age=100", "Cache-Control: must-revalidate\r\n", 50, kFresh, "9111 5.2.2.2: of responses"},
    {"max-age=100", "Cache-Control: min-fresh=40\r\n", 60, kFresh, "9111 5.2.1.3"},
    {"max-age=100", "Cache-Control: min-fresh=40\r\n", 61, kStale, "9111 5.2.1.3"},
    {"max-age=100", "Cache-Control: min-fresh=0\r\n", 99, kFresh, "9111 5.2.1.3"},
    {"max-age=100", "Cache-Control: min-fresh=99999999999\r\n", 0, kStale, "9111 1.2.2"},
    {"max-age=100", "Cache-Control: min-fresh=x\r\n", 99, kFresh, "9111 5.2.1.3: no wish"},
    {"max-age=100", "Cache-Control: max-stale\r\n", 5000, kAllowed, "9111 5.2.1.2"},
    {"max-age=100", "Cache-Control: max-stale=50\r\n", 150, kAllowed, "9111 5.2.1.2"},
    {"max-age=100", "Cache-Control: max-stale=50\r\n", 151, kStale, "9111 5.2.1.2"},
    {"max-age=100", "Cache-Control: max-stale=0\r\n", 101, kStale, "9111 5.2.1.2"},
    {"max-age=100", "Cache-Control: max-stale=x\r\n", 101, kStale, "9111 5.2.1.2: no wish"},
    {"max-age=100", "Cache-Control: max-stale=50, max-age=120\r\n", 120, kAllowed, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-stale=50, max-age=120\r\n", 121, kStale, "9111 5.2.1.1"},
    {"max-age=100", "Cache-Control: max-stale, min-fresh=10\r\n", 95, kStale, "9111 5.2.1.3"},
    {"max-age=100", "Cache-Control: max-stale, no-cache\r\n", 0, kStale, "9111 5.2.1.4"},
    {"max-age=100, must-revalidate", "Cache-Control: max-stale\r\n", 100, kStale, "9111 5.2.2.2"},
    {"max-age=100, proxy-revalidate", "Cache-Control: max-stale\r\n", 100, kStale, "9111 5.2.2.8"},
    {"s-maxage=100", "Cache-Control: max-stale\r\n", 100, kStale, "9111 5.2.2.10"},
    {"no-cache, max-age=100", "Cache-Control: max-stale\r\n", 0, kStale, "9111 5.2.2.4"},
    {"no-cache=\"a\", max-age=100", "Cache-Control: max-stale\r\n", 100, kAllowed, "9111 5.2.2.4: qualified"},
    {"max-age=100, stale-while-revalidate=50", "", 149, kBackground, "5861 3"},
    {"max-age=100, stale-while-revalidate=50", "", 150, kStale, "5861 3"},
    {"max-age=100, stale-while-revalidate=0", "", 100, kStale, "5861 3"},
    {"max-age=100, stale-while-revalidate=x", "", 100, kStale, "5861 3"},
    {"max-age=0, stale-while-revalidate=50", "", 49, kBackground, "5861 3"},
    {"max-age=100, stale-while-revalidate=50", "Cache-Control: max-age=120\r\n", 121, kStale, "9111 5.2.1.1"},
    {"max-age=100, stale-while-revalidate=50", "Cache-Control: no-cache\r\n", 120, kStale, "9111 5.2.1.4"},
    {"max-age=100, stale-while-revalidate=50, must-revalidate", "", 120, kStale, "9111 5.2.2.2"},
    {"max-age=100, stale-while-revalidate=50, proxy-revalidate", "", 120, kStale, "9111 5.2.2.8"},
    {"s-maxage=100, stale-while-revalidate=50", "", 120, kStale, "9111 5.2.2.10"},
    {"no-cache, stale-while-revalidate=50", "", 0, kStale, "9111 5.2.2.4"},
    {"max-age=100, stale-if-error=50", "", 120, kStale, "5861 4: not before a failure"},
};

BOOST_AUTO_TEST_CASE(wishes) {
  for (const WishRow& row : kWishes)
    BOOST_TEST(use_of(200, "ETag: \"a\"\r\nCache-Control: " + std::string(row.response) + "\r\n", "", row.request, row.later) == row.use,
               "[" << row.response << "] [" << row.request << "] +" << row.later << " RFC " << row.section);
}

// ---- the response that a 304 is about, and what HEAD tells ----------------------

struct SelectRow { std::string_view fields, etag, modified; bool about_it; std::string_view section; bool describes = about_it; };
const SelectRow kSelects[] = {
    {"", "\"a\"", "{-100}", true, "9111 4.3.4: about what was asked for"},
    {"", "", "", true, "9111 4.3.4: neither has validators"},
    {"ETag: \"a\"\r\n", "\"a\"", "", true, "9111 4.3.4"},
    {"ETag: \"b\"\r\n", "\"a\"", "", false, "9111 4.3.4"},
    {"ETag: \"A\"\r\n", "\"a\"", "", false, "9110 8.8.3: case counts"},
    {"ETag: W/\"a\"\r\n", "\"a\"", "", true, "9110 8.8.3.2: weakly"},
    {"ETag: \"a\"\r\n", "W/\"a\"", "", true, "9110 8.8.3.2: weakly"},
    {"ETag: W/\"b\"\r\n", "W/\"a\"", "", false, "9111 4.3.4"},
    {"ETag: a\r\n", "a", "", true, "as it came: the same"},
    {"ETag: \"b\"\r\nLast-Modified: {-100}\r\n", "\"a\"", "{-100}", false, "9110 13.2.2: the tag goes first"},
    {"ETag: \"a\"\r\nLast-Modified: {-50}\r\n", "\"a\"", "{-100}", true, "9110 13.2.2: the tag goes first; 9111 4.3.5: any that was received", false},
    {"ETag: \"a\"\r\n", "", "{-100}", false, "9111 4.3.4: none has that strong validator"},
    {"ETag: W/\"a\"\r\n", "", "{-100}", false, "9111 4.3.4: corresponds to nothing"},
    {"ETag: \"a\"\r\nLast-Modified: {-100}\r\n", "", "{-100}", true, "9111 4.3.4: the date is a strong validator too", false},
    {"ETag: \"a\"\r\nLast-Modified: {0}\r\n", "", "{0}", false, "9110 8.8.2.2: of the second of Date it is weak"},
    {"ETag: W/\"a\"\r\nLast-Modified: {0}\r\n", "", "{0}", true, "9111 4.3.4: weak ones correspond", false},
    {"ETag: \"a\"\r\nLast-Modified: {-99}\r\n", "", "{-100}", false, "9111 4.3.4"},
    {"Last-Modified: {-100}\r\n", "", "{-100}", true, "9111 4.3.4"},
    {"Last-Modified: {-101}\r\n", "", "{-100}", false, "9111 4.3.4: an older one took its place"},
    {"Last-Modified: {-99}\r\n", "", "{-100}", false, "9111 4.3.4"},
    {"Last-Modified: {-100}\r\n", "\"a\"", "{-100}", true, "9111 4.3.4"},
    {"Last-Modified: {-99}\r\n", "\"a\"", "{-100}", false, "9111 4.3.4"},
    {"Last-Modified: {-100}\r\n", "\"a\"", "", false, "9111 4.3.4: corresponds to nothing"},
    {"Last-Modified: Tuesday, 14-Nov-23 22:13:20 GMT\r\n", "", "{0}", true, "9110 5.6.7: another form"},
};

BOOST_AUTO_TEST_CASE(selected) {
  for (const SelectRow& row : kSelects) {
    TestHead r = response_with(dated(row.fields), "HTTP/1.1 304 Not Modified");
    std::string modified = dated(row.modified);
    StoredValidators stored{row.etag, modified, 200, kNow};
    BOOST_TEST_CONTEXT("[" << row.fields << "] " << row.etag << " RFC " << row.section) {
      BOOST_TEST(selects(r.head, r.bytes(), stored) == row.about_it);
      for (auto [length, fits] : {std::pair("", true), {"5", true}, {"6", false}}) {
        TestHead head = response_with(dated(row.fields) + "Content-Length: 5\r\n");
        BOOST_TEST(describes(head.head, head.bytes(), stored, length) == (row.describes && fits), length);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
