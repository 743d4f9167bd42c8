#define BOOST_TEST_DYN_LINK
#include "http/cache_control.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "http/test_head.h"

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(cache_control)

// RFC 9111 1.2.2
BOOST_AUTO_TEST_CASE(delta_seconds) {
  struct Row { std::string_view text; int64_t seconds; };
  const Row rows[] = {
      {"0", 0}, {"1", 1}, {"60", 60}, {"007", 7}, {"\"60\"", 60}, {"2147483647", 2147483647}, {"2147483648", kDeltaMax},
      {"2147483649", kDeltaMax}, {"4294967296", kDeltaMax}, {"9223372036854775808", kDeltaMax}, {"99999999999999999999999999", kDeltaMax},
      {"", kAbsent}, {"-1", kAbsent}, {"+1", kAbsent}, {"1.0", kAbsent}, {"1.5", kAbsent}, {"a1", kAbsent}, {"1a", kAbsent},
      {" 1", kAbsent}, {"1 ", kAbsent}, {"0x1", kAbsent}, {"1e3", kAbsent}, {"'60'", kAbsent}, {"\"60", kAbsent}, {"60\"", kAbsent},
      {"\"\"", kAbsent}, {"\"6\\0\"", kAbsent}, {"\"", kAbsent}, {"\xb2", kAbsent},
  };
  for (const Row& row : rows) BOOST_TEST(parse_delta_seconds(row.text) == row.seconds, "[" << row.text << "]");
}

// A compact rendering, so that a row tells all that was understood.
std::string rendering(const ResponseCacheControl& c) {
  std::string out;
  auto number = [&](const char* name, int64_t value) { if (value != kAbsent) out += name + std::to_string(value) + " "; };
  auto flag = [&](const char* name, bool set) { if (set) out += std::string(name) + " "; };
  auto fields = [&](const char* name, const std::vector<std::string_view>& list) {
    for (std::string_view field : list) out += name + std::string(field) + " ";
  };
  number("ma=", c.max_age), number("sm=", c.s_maxage), number("swr=", c.stale_while_revalidate), number("sie=", c.stale_if_error);
  flag("invalid", c.has_invalid_max_age), flag("nc", c.no_cache), flag("pr", c.private_), flag("ns", c.no_store);
  flag("pub", c.public_), flag("mr", c.must_revalidate), flag("prv", c.proxy_revalidate), flag("mu", c.must_understand);
  flag("nt", c.no_transform), flag("im", c.immutable);
  fields("nc:", c.no_cache_fields), fields("pr:", c.private_fields);
  if (!out.empty()) out.pop_back();
  return out;
}

struct ResponseRow { std::string_view fields, understood, section; };
const ResponseRow kResponses[] = {
    {"", "", "9111 5.2"},
    {"Cache-Control: \r\n", "", "9111 5.2"},
    {"Cache-Control: max-age=60\r\n", "ma=60", "9111 5.2.2.1"},
    {"Cache-Control: MAX-AGE=60\r\n", "ma=60", "9111 5.2: without case"},
    {"cache-control:max-age=60\r\n", "ma=60", "9110 5.1"},
    {"Cache-Control: max-age=\"60\"\r\n", "ma=60", "9111 5.2: both forms"},
    {"Cache-Control: max-age=60, s-maxage=10\r\n", "ma=60 sm=10", "9111 5.2.2.10"},
    {"Cache-Control: max-age=60\r\nCache-Control: no-store\r\n", "ma=60 ns", "9110 5.3"},
    {"Cache-Control: ,,max-age=60 ,\t, public,\r\n", "ma=60 pub", "9110 5.6.1"},
    {"Cache-Control: max-age=60, max-age=1\r\n", "ma=60", "9111 4.2.1: the first"},
    {"Cache-Control: max-age=0\r\nCache-Control: max-age=60\r\n", "ma=0", "9111 4.2.1: the first"},
    {"Cache-Control: max-age=x, max-age=60\r\n", "ma=60", "9111 4.2.1: the first valid one"},
    {"Cache-Control: max-age=x\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age=\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age=-60\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age=60.5\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age='60'\r\n", "invalid", "9111 4.2.1: stale"},
    {"Cache-Control: max-age =60\r\n", "ma=60", "9111 5.2: blank before ="},
    {"Cache-Control: max-age= 60\r\n", "invalid", "9111 5.2: blank after ="},
    {"Cache-Control: max-age=60 s-maxage=5\r\n", "invalid", "9111 5.2: no comma"},
    {"Cache-Control: max-age=60; public\r\n", "invalid", "9111 5.2: semicolon"},
    {"Cache-Control: s-maxage=x, max-age=60\r\n", "ma=60 invalid", "9111 4.2.1: stale"},
    {"Cache-Control: s-maxage=10, max-age=x\r\n", "sm=10", "9111 5.2.2.10: s-maxage rules"},
    {"Cache-Control: max-age=99999999999\r\n", "ma=2147483648", "9111 1.2.2"},
    {"Cache-Control: no-store\r\n", "ns", "9111 5.2.2.5"},
    {"Cache-Control: No-Store\r\n", "ns", "9111 5.2"},
    {"Cache-Control: no-store=x\r\n", "ns", "9111 5.2: the careful reading"},
    {"Cache-Control: xno-store, no-storex\r\n", "", "9111 5.2.3: unknown ones ignored"},
    {"Cache-Control: no-cache\r\n", "nc", "9111 5.2.2.4"},
    {"Cache-Control: no-cache=\"Set-Cookie\"\r\n", "nc:Set-Cookie", "9111 5.2.2.4"},
    {"Cache-Control: no-cache=\"a, b\", max-age=60\r\n", "ma=60 nc:a nc:b", "9111 5.2.2.4"},
    {"Cache-Control: no-cache=Set-Cookie\r\n", "nc:Set-Cookie", "9111 5.2: both forms"},
    {"Cache-Control: no-cache=\"\"\r\n", "nc", "9111 5.2.2.4: nothing named"},
    {"Cache-Control: no-cache=\r\n", "nc", "9111 5.2.2.4: nothing named"},
    {"Cache-Control: no-cache=\"a b\"\r\n", "nc", "9111 5.2.2.4: no field name"},
    {"Cache-Control: no-cache=\"a\r\n", "nc", "9111 5.2.2.4: unclosed"},
    {"Cache-Control: no-cache=\"a\\\"b\"\r\n", "nc", "9111 5.2.2.4: no field name"},
    {"Cache-Control: private\r\n", "pr", "9111 5.2.2.7"},
    {"Cache-Control: private=\"X-A\"\r\n", "pr:X-A", "9111 5.2.2.7"},
    {"Cache-Control: private=\"X-A\", private\r\n", "pr pr:X-A", "9111 5.2.2.7"},
    {"Cache-Control: public, must-revalidate, proxy-revalidate\r\n", "pub mr prv", "9111 5.2.2"},
    {"Cache-Control: must-understand, no-store, no-transform, immutable\r\n", "ns mu nt im", "9111 5.2.2.3"},
    {"Cache-Control: max-age=1, stale-while-revalidate=2, stale-if-error=3\r\n", "ma=1 swr=2 sie=3", "5861 3, 4"},
    {"Cache-Control: stale-while-revalidate, stale-if-error=x\r\n", "", "5861"},
    {"Cache-Control: foo=\"a, no-store, b\", max-age=60\r\n", "ma=60", "9110 5.6.4: commas in quotes"},
    {"Cache-Control: foo=\"a\\\", no-store, \", max-age=60\r\n", "ma=60", "9110 5.6.4: escapes in quotes"},
    {"Cache-Control: foo=\"a, max-age=60\r\n", "", "9110 5.6.4: unclosed"},
    {"Pragma: no-cache\r\n", "", "9111 5.4: requests only"},
};

BOOST_AUTO_TEST_CASE(responses) {
  for (const ResponseRow& row : kResponses) {
    TestHead r = response_with(row.fields);
    BOOST_TEST(rendering(response_cache_control(r.head, r.bytes())) == row.understood, "[" << row.fields << "] RFC " << row.section);
  }
}

BOOST_AUTO_TEST_CASE(many_qualified_fields_mean_all) {
  std::string list = "Cache-Control: private=\"";
  for (int i = 0; i < 1000; ++i) list += "f" + std::to_string(i) + ",";
  TestHead r = response_with(list + "\"\r\n");
  ResponseCacheControl c = response_cache_control(r.head, r.bytes());
  BOOST_TEST(c.private_);
  BOOST_TEST(c.private_fields.size() <= 64u);
}

struct RequestRow { std::string_view fields; RequestCacheControl wanted; std::string_view section; };

RequestCacheControl numbers(int64_t max_age, int64_t min_fresh, int64_t max_stale, int64_t stale_if_error = kAbsent) {
  RequestCacheControl c;
  c.max_age = max_age, c.min_fresh = min_fresh, c.max_stale = max_stale, c.stale_if_error = stale_if_error;
  return c;
}
RequestCacheControl flags(bool no_cache, bool no_store = false, bool no_transform = false, bool only_if_cached = false, bool pragma = false) {
  RequestCacheControl c;
  c.no_cache = no_cache, c.no_store = no_store, c.no_transform = no_transform, c.only_if_cached = only_if_cached;
  c.pragma_no_cache = pragma;
  return c;
}

BOOST_AUTO_TEST_CASE(requests) {
  const RequestRow rows[] = {
      {"", {}, "9111 5.2.1"},
      {"Cache-Control: max-age=0\r\n", numbers(0, kAbsent, kAbsent), "9111 5.2.1.1"},
      {"Cache-Control: max-age=5, min-fresh=6, max-stale=7\r\n", numbers(5, 6, 7), "9111 5.2.1"},
      {"Cache-Control: max-stale\r\n", numbers(kAbsent, kAbsent, kDeltaMax), "9111 5.2.1.2"},
      {"Cache-Control: max-stale=x\r\n", {}, "9111 5.2.1.2"},
      {"Cache-Control: max-stale=\r\n", {}, "9111 5.2.1.2"},
      {"Cache-Control: max-age=x\r\n", {}, "9111 5.2.1.1"},
      {"Cache-Control: max-age\r\n", {}, "9111 5.2.1.1"},
      {"Cache-Control: max-age=1, max-age=2\r\n", numbers(1, kAbsent, kAbsent), "9111 4.2.1"},
      {"Cache-Control: stale-if-error=9\r\n", numbers(kAbsent, kAbsent, kAbsent, 9), "5861 4"},
      {"Cache-Control: no-cache\r\n", flags(true), "9111 5.2.1.4"},
      {"Cache-Control: NO-CACHE=x\r\n", flags(true), "9111 5.2.1.4"},
      {"Cache-Control: no-store, no-transform, only-if-cached\r\n", flags(false, true, true, true), "9111 5.2.1"},
      {"Pragma: no-cache\r\n", flags(true, false, false, false, true), "9111 5.4"},
      {"Pragma: x, NO-CACHE\r\n", flags(true, false, false, false, true), "9111 5.4"},
      {"Pragma: no-cache\r\nCache-Control: no-transform\r\n", flags(false, false, true, false, true), "9111 5.4"},
      {"Pragma: x\r\n", {}, "9111 5.4"},
  };
  for (const RequestRow& row : rows) {
    BOOST_TEST_CONTEXT("[" << row.fields << "] RFC " << row.section) {
      TestHead r = request_with(row.fields);
      RequestCacheControl c = request_cache_control(r.head, r.bytes());
      BOOST_TEST(c.max_age == row.wanted.max_age);
      BOOST_TEST(c.min_fresh == row.wanted.min_fresh);
      BOOST_TEST(c.max_stale == row.wanted.max_stale);
      BOOST_TEST(c.stale_if_error == row.wanted.stale_if_error);
      BOOST_TEST(c.no_cache == row.wanted.no_cache);
      BOOST_TEST(c.no_store == row.wanted.no_store);
      BOOST_TEST(c.no_transform == row.wanted.no_transform);
      BOOST_TEST(c.only_if_cached == row.wanted.only_if_cached);
      BOOST_TEST(c.pragma_no_cache == row.wanted.pragma_no_cache);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
