#define BOOST_TEST_DYN_LINK
#include "http/targeted.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "http/freshness.h"
#include "http/test_head.h"

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(targeted)

// What was understood, in one line; "-" = the field has no say.
std::string read(std::string_view fields) {
  TestHead r = response_with(fields);
  auto c = targeted_cache_control(r.head, r.bytes());
  if (!c) return "-";
  std::string out;
  auto number = [&](const char* name, int64_t n) { if (n != kAbsent) out += name + std::to_string(n) + " "; };
  auto flag = [&](const char* name, bool set) { if (set) out += std::string(name) + " "; };
  number("ma=", c->max_age), number("sm=", c->s_maxage), number("swr=", c->stale_while_revalidate), number("sie=", c->stale_if_error);
  flag("nc", c->no_cache), flag("pr", c->private_), flag("ns", c->no_store), flag("pub", c->public_), flag("mr", c->must_revalidate);
  flag("prv", c->proxy_revalidate), flag("mu", c->must_understand), flag("nt", c->no_transform), flag("im", c->immutable);
  for (std::string_view f : c->no_cache_fields) out += "nc:" + std::string(f) + " ";
  for (std::string_view f : c->private_fields) out += "pr:" + std::string(f) + " ";
  if (!out.empty()) out.pop_back();
  return out;
}

struct Row { std::string_view value, understood, section; };
const Row kRows[] = {
    {"max-age=60", "ma=60", "9213 2.1"},
    {"max-age=0", "ma=0", "9213 2.1"},
    {"max-age=-0", "ma=0", "8941 3.3.1"},
    {"max-age=-60", "ma=0", "9111 4.2.1: stale"},
    {"max-age=060", "ma=60", "8941 3.3.1: zeros in front"},
    {"max-age=2147483648", "ma=2147483648", "9111 1.2.2"},
    {"max-age=99999999999", "ma=2147483648", "9111 1.2.2"},
    {"max-age=999999999999999", "ma=2147483648", "8941 3.3.1: 15 digits"},
    {"max-age=1000000000000000", "-", "8941 3.3.1: 16 digits"},
    {"max-age=60, s-maxage=5", "ma=60 sm=5", "9213 2.1"},
    {"max-age=60,s-maxage=5", "ma=60 sm=5", "8941 3.2"},
    {"max-age=60 \t,\t s-maxage=5", "ma=60 sm=5", "8941 3.2"},
    {"max-age=1, max-age=2", "ma=2", "8941 3.2: the last"},
    {"no-store", "ns", "9213 2.1"},
    {"no-store=?1", "ns", "8941 3.3.6"},
    {"no-store=?0", "", "8941 3.3.6"},
    {"no-store, no-store=?0", "", "8941 3.2: the last"},
    {"no-cache", "nc", "9111 5.2.2.4"},
    {"no-cache=?0, max-age=1", "ma=1", "8941 3.3.6"},
    {"no-cache=\"Set-Cookie\"", "nc:Set-Cookie", "9111 5.2.2.4"},
    {"no-cache=\"a, b\", max-age=1", "ma=1 nc:a nc:b", "9111 5.2.2.4"},
    {"no-cache=\"\"", "nc", "9111 5.2.2.4: nothing named"},
    {"no-cache=\"a\\\"b\"", "nc", "9111 5.2.2.4: no field name"},
    {"private", "pr", "9111 5.2.2.7"},
    {"private=\"X-A\"", "pr:X-A", "9111 5.2.2.7"},
    {"private=x", "-", "9213 2.1: a token"},
    {"public, must-revalidate, proxy-revalidate", "pub mr prv", "9111 5.2.2"},
    {"must-understand, no-transform, immutable", "mu nt im", "9111 5.2.2"},
    {"max-age=1, stale-while-revalidate=2, stale-if-error=3", "ma=1 swr=2 sie=3", "5861"},
    {"foo, max-age=60", "ma=60", "9213 2.1: unknown ones"},
    {"foo", "", "9213 2.1: unknown alone, yet a field"},
    {"foo=bar, max-age=60", "ma=60", "8941 3.3.4: a token"},
    {"foo=*b:a/r, max-age=60", "ma=60", "8941 3.3.4: a token"},
    {"foo=1.5, max-age=60", "ma=60", "8941 3.3.2: a decimal"},
    {"foo=\"a, no-store\", max-age=60", "ma=60", "8941 3.3.3: a string"},
    {"foo=\"a\\\\\", max-age=60", "ma=60", "8941 3.3.3: an escape"},
    {"foo=:aGk=:, max-age=60", "ma=60", "8941 3.3.5: bytes"},
    {"foo=(1 \"a\" b;c=2), max-age=60", "ma=60", "8941 3.1.1: an inner list"},
    {"foo=(), max-age=60", "ma=60", "8941 3.1.1: an empty one"},
    {"foo=( 1  2 );x, max-age=60", "ma=60", "8941 3.1.1"},
    {"foo=@1659578233, max-age=60", "ma=60", "9651 3.3.7: a date"},
    {"max-age=60;a;b=1; c=\"d\"", "ma=60", "8941 3.1.2: parameters"},
    {"*a-b_c.d*1=2, max-age=60", "ma=60", "8941 3.1.2: a key"},
    // not valid, hence not there
    {"", "-", "9213 2.1: empty"},
    {"max-age=\"60\"", "-", "9213 2.1: a string"},
    {"max-age=60.0", "-", "9213 2.1: a decimal"},
    {"max-age=x", "-", "9213 2.1: a token"},
    {"max-age", "-", "9213 2.1: a boolean"},
    {"max-age=", "-", "8941 4.2"},
    {"max-age =60", "-", "8941 4.2: a blank"},
    {"max-age= 60", "-", "8941 4.2: a blank"},
    {"max-age=60,", "-", "8941 4.2.2: a comma at the end"},
    {",max-age=60", "-", "8941 4.2.2: a comma in front"},
    {"max-age=60,,no-store", "-", "8941 4.2.2: two commas"},
    {"max-age=60 no-store", "-", "8941 4.2.2: no comma"},
    {"max-age=60; no-store;", "-", "8941 4.2.3.2: no parameter"},
    {"MaX-aGe=60", "-", "8941 3.1.2: keys are of lower case"},
    {"max-age=60, &&&", "-", "8941 4.2"},
    {"max-age=60, 1a", "-", "8941 3.1.2"},
    {"max-age=60, foo=", "-", "8941 4.2"},
    {"max-age=60, foo=\"a", "-", "8941 3.3.3: unclosed"},
    {"max-age=60, foo=\"a\\b\"", "-", "8941 3.3.3: no escape"},
    {"max-age=60, foo=\"\xe9\"", "-", "8941 3.3.3: ASCII"},
    {"max-age=60, foo=:aGk=", "-", "8941 3.3.5: unclosed"},
    {"max-age=60, foo=:a*k=:", "-", "8941 3.3.5"},
    {"max-age=60, foo=?2", "-", "8941 3.3.6"},
    {"max-age=60, foo=?", "-", "8941 3.3.6"},
    {"max-age=60, foo=(1", "-", "8941 3.1.1: unclosed"},
    {"max-age=60, foo=(1,2)", "-", "8941 3.1.1"},
    {"max-age=60, foo=(1\"a\")", "-", "8941 3.1.1"},
    {"max-age=60, foo=1.", "-", "8941 3.3.2"},
    {"max-age=60, foo=1.2345", "-", "8941 3.3.2"},
    {"max-age=60, foo=1234567890123.1", "-", "8941 3.3.2"},
    {"max-age=60, foo=--1", "-", "8941 3.3.1"},
    {"max-age=60, foo=@1.5", "-", "9651 3.3.7"},
    {"no-store=1", "-", "9213 2.1: an integer"},
};

BOOST_AUTO_TEST_CASE(understood) {
  for (const Row& row : kRows)
    BOOST_TEST(read("CDN-Cache-Control: " + std::string(row.value) + "\r\n") == row.understood, "[" << row.value << "] RFC " << row.section);
  BOOST_TEST(read("") == "-");
  BOOST_TEST(read("CDN-Cache-Control: max-age=60\r\nCDN-Cache-Control: no-cache\r\n") == "ma=60 nc");
  BOOST_TEST(read("CDN-Cache-Control: max-age=60\r\nCDN-Cache-Control:\r\n") == "ma=60");
  BOOST_TEST(read("CDN-Cache-Control: max-age=60\r\nCDN-Cache-Control: &\r\n") == "-");
}

BOOST_AUTO_TEST_CASE(expires_has_no_say) {  // RFC 9213 2.1
  const loligo::base::WallSeconds now = 784111777;
  struct Case { std::string_view value; int64_t lifetime; bool explicit_lifetime; };
  for (const Case& c : {Case{"max-age=60", 60, true}, Case{"max-age=0", 0, true}, Case{"public", 0, false}}) {
    TestHead r = response_with("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: Sun, 06 Nov 1994 09:49:37 GMT\r\nCDN-Cache-Control: " +
                               std::string(c.value) + "\r\n");
    Lifetimes l = lifetimes(r.head, r.bytes(), *targeted_cache_control(r.head, r.bytes()), {}, now, now);
    BOOST_TEST(l.freshness == c.lifetime);
    BOOST_TEST(l.explicit_lifetime == c.explicit_lifetime);
  }
}

BOOST_AUTO_TEST_SUITE_END()
