#define BOOST_TEST_DYN_LINK
#include "http/range.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(range)

constexpr uint64_t kHuge = ~uint64_t(0);

std::string rendering(const Ranges& r) {
  if (r.verdict == RangeVerdict::ignore) return r.list.empty() ? "ignore" : "ignore with ranges";
  if (r.verdict == RangeVerdict::unsatisfiable) return "416";
  std::string out;
  for (const ByteRange& range : r.list) out += std::to_string(range.first) + "-" + std::to_string(range.last) + " ";
  out.pop_back();
  return out;
}

struct Row { std::string_view value; uint64_t size; std::string_view wanted; };
// RFC 9110 14.1.2, 14.2 throughout.
const Row kRows[] = {
    {"bytes=0-0", 10, "0-0"},
    {"bytes=0-9", 10, "0-9"},
    {"bytes=0-", 10, "0-9"},
    {"bytes=5-", 10, "5-9"},
    {"bytes=5-100", 10, "5-9"},
    {"bytes=9-9", 10, "9-9"},
    {"bytes=-1", 10, "9-9"},
    {"bytes=-10", 10, "0-9"},
    {"bytes=-11", 10, "0-9"},
    {"BYTES=0-0", 10, "0-0"},
    {"bytes=00-01", 10, "0-1"},
    {"bytes=0-18446744073709551615", 10, "0-9"},
    {"bytes=0-99999999999999999999999", 10, "0-9"},
    {"bytes=-99999999999999999999999", 10, "0-9"},
    {"bytes=0-", kHuge, "0-18446744073709551614"},
    {"bytes=-1", kHuge, "18446744073709551614-18446744073709551614"},
    {"bytes=0-1,3-4", 10, "0-1 3-4"},
    {"bytes=3-4,0-1", 10, "3-4 0-1"},
    {"bytes=0-1 ,\t3-4", 10, "0-1 3-4"},
    {"bytes=,0-1,,3-4,", 10, "0-1 3-4"},
    {"bytes=0-0,-1", 10, "0-0 9-9"},
    {"bytes=0-1,100-200", 10, "0-1"},
    {"bytes=0-4,2-6", 20, "0-4 2-6"},
    {"bytes=10-", 10, "416"},
    {"bytes=10-20", 10, "416"},
    {"bytes=10-20,30-", 10, "416"},
    {"bytes=-0", 10, "416"},
    {"bytes=0-", 0, "416"},
    {"bytes=-5", 0, "416"},
    {"bytes=18446744073709551616-", 10, "416"},
    {"bytes=99999999999999999999999-99999999999999999999999", 10, "416"},
    {"", 10, "ignore"},
    {"bytes", 10, "ignore"},
    {"bytes=", 10, "ignore"},
    {"bytes=,", 10, "ignore"},
    {"bytes=-", 10, "ignore"},
    {"bytes=a-b", 10, "ignore"},
    {"bytes=1", 10, "ignore"},
    {"bytes=1-0", 10, "ignore"},
    {"bytes=18446744073709551615-0", 10, "ignore"},
    {"bytes=0-1-2", 10, "ignore"},
    {"bytes=--1", 10, "ignore"},
    {"bytes=+0-1", 10, "ignore"},
    {"bytes=0 -1", 10, "ignore"},
    {"bytes=0- 1", 10, "ignore"},
    {"bytes =0-1", 10, "ignore"},
    {"bytes=0-1;", 10, "ignore"},
    {"bytes=0-1,x", 10, "ignore"},
    {"bytes=0x0-1", 10, "ignore"},
    {"bytes: 0-1", 10, "ignore"},
    {"items=0-1", 10, "ignore"},
    {"0-1", 10, "ignore"},
    {"bytes=0-,0-", 10, "ignore"},               // more than the whole
    {"bytes=0-5,5-9", 10, "ignore"},
    {"bytes=0-1,1-2,2-3,3-4", 100, "ignore"},    // three overlaps
    {"bytes=0-1,1-2,2-3", 100, "0-1 1-2 2-3"},   // two
};

BOOST_AUTO_TEST_CASE(rows) {
  for (const Row& row : kRows) BOOST_TEST(rendering(parse_ranges(row.value, row.size)) == row.wanted, "[" << row.value << "] of " << row.size);
}

BOOST_AUTO_TEST_CASE(number_of_ranges) {
  auto many = [](size_t n) {
    std::string value = "bytes=";
    for (size_t i = 0; i < n; ++i) value += std::to_string(2 * i) + "-" + std::to_string(2 * i) + ",";
    return parse_ranges(value, 1000000);
  };
  BOOST_TEST(many(kMaxRanges).list.size() == kMaxRanges);
  BOOST_TEST(int(many(kMaxRanges + 1).verdict) == int(RangeVerdict::ignore));
  BOOST_TEST(int(many(3000).verdict) == int(RangeVerdict::ignore));
}

BOOST_AUTO_TEST_CASE(content_ranges) {  // RFC 9110 14.4
  struct Row { std::string_view value, wanted; };
  const Row rows[] = {
      {"bytes 0-4/10", "0-4/10"},       {"Bytes 0-4/5", "0-4/5"},      {"bytes 0-4/*", "0-4/*"},
      {"bytes 0-0/1", "0-0/1"},         {"bytes 9-9/10", "9-9/10"},
      {"bytes 0-18446744073709551614/18446744073709551615", "0-18446744073709551614/18446744073709551615"},
      {"bytes */10", "-"},              {"bytes 0-4/4", "-"},          {"bytes 5-4/10", "-"},
      {"bytes 0-4", "-"},               {"bytes 0-4/", "-"},           {"bytes 0-/10", "-"},
      {"bytes -4/10", "-"},             {"bytes 0-4/x", "-"},          {"bytes 0-4/-1", "-"},
      {"bytes=0-4/10", "-"},            {"bytes  0-4/10", "-"},        {"bytes 0 -4/10", "-"},
      {"bytes 0-4 /10", "-"},           {"items 0-4/10", "-"},         {"", "-"},
      {"bytes 0-4/10 ", "-"},           {"bytes /1-2", "-"},           {"bytes 18446744073709551615-0/-1", "-"},
      {"bytes 0-18446744073709551615/*", "-"},                         {"bytes 0-18446744073709551616/*", "-"},
      {"bytes 0-4/99999999999999999999999", "-"},
  };
  for (const Row& row : rows) {
    std::optional<ContentRange> r = parse_content_range(row.value);
    std::string text = "-";
    if (r) text = std::to_string(r->first) + "-" + std::to_string(r->last) + "/" + (r->complete ? std::to_string(*r->complete) : "*");
    BOOST_TEST(text == row.wanted, "[" << row.value << "]");
  }
}

BOOST_AUTO_TEST_CASE(parts_that_can_be_joined) {  // RFC 9110 14.4 and 15.3.7.3
  struct Row { std::string_view value; uint64_t length; std::string_view wanted; };
  const Row rows[] = {
      {"bytes 0-4/10", 5, "0-5/10"},  {"bytes 9-9/10", 1, "9-10/10"},  {"bytes 0-9/10", 10, "0-10/10"},
      {"bytes 0-4/10", 4, "-"},       {"bytes 0-4/10", 6, "-"},        {"bytes 0-4/10", ~uint64_t(0), "-"},   // the body is not that part
      {"bytes 0-4/*", 5, "-"},        {"bytes 5-4/10", 0, "-"},        {"bytes 0-4/4", 5, "-"},
      {"items 0-4/10", 5, "-"},       {"bytes */10", 0, "-"},
      {"bytes 0-4/9223372036854775807", 5, "0-5/9223372036854775807"},
      {"bytes 0-4/9223372036854775808", 5, "-"},
      {"bytes 9223372036854775806-9223372036854775806/9223372036854775807", 1, "9223372036854775806-9223372036854775807/9223372036854775807"},
      {"bytes 18446744073709551610-18446744073709551614/18446744073709551615", 5, "-"},
      {"bytes 18446744073709551611-18446744073709551615/18446744073709551616", 5, "-"},
  };
  for (const Row& row : rows) {
    std::optional<KnownPart> p = known_part(row.value, row.length);
    std::string text = p ? std::to_string(p->first) + "-" + std::to_string(p->end) + "/" + std::to_string(p->complete) : "-";
    BOOST_TEST(text == row.wanted, "[" << row.value << "] of " << row.length);
  }
}

BOOST_AUTO_TEST_CASE(multipart) {  // RFC 9110 14.6
  BOOST_TEST(part_head("B", "text/plain", {0, 4}, 10, true) == "--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-4/10\r\n\r\n");
  BOOST_TEST(part_head("B", "", {5, 9}, 10, false) == "\r\n--B\r\nContent-Range: bytes 5-9/10\r\n\r\n");
  BOOST_TEST(parts_end("B") == "\r\n--B--\r\n");
}

BOOST_AUTO_TEST_SUITE_END()
