#define BOOST_TEST_DYN_LINK
#include "http/conditional.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(conditional)

constexpr base::WallSeconds kNow = 1700000000, kModifiedTime = 784111777;
const std::string_view kModified = "Sun, 06 Nov 1994 08:49:37 GMT", kEarlier = "Sun, 06 Nov 1994 08:49:36 GMT";
const std::string_view kLater = "Sun, 06 Nov 1994 08:49:38 GMT";

BOOST_AUTO_TEST_CASE(comparison) {  // RFC 9110 8.8.3.2
  struct Row { std::string_view a, b; bool weak, strong; };
  const Row rows[] = {
      {"\"1\"", "\"1\"", true, true},     {"W/\"1\"", "\"1\"", true, false},  {"W/\"1\"", "W/\"1\"", true, false},
      {"\"1\"", "\"2\"", false, false},   {"W/\"1\"", "W/\"2\"", false, false}, {"\"\"", "\"\"", true, true},
      {"\"a\"", "\"A\"", false, false},   {"w/\"1\"", "\"1\"", false, false}, {"1", "1", false, false},
      {"\"1", "\"1", false, false},       {"\"1\"x", "\"1\"x", false, false}, {"\"a b\"", "\"a b\"", false, false},
      {"", "", false, false},             {"\"a,b\"", "\"a,b\"", true, true}, {"\"\\\"", "\"\\\"", true, true},
      {"W/1", "W/1", false, false},       {"\"\xe4\"", "\"\xe4\"", true, true}, {"*", "*", false, false},
  };
  for (const Row& row : rows) {
    BOOST_TEST(weak_match(row.a, row.b) == row.weak, row.a << " " << row.b);
    BOOST_TEST(strong_match(row.a, row.b) == row.strong, row.a << " " << row.b);
  }
}

BOOST_AUTO_TEST_CASE(lists) {  // RFC 9110 13.1.1, 13.1.2
  struct Row { std::string_view list, etag; bool weak, strong; };
  const Row rows[] = {
      {"\"1\"", "\"1\"", true, true},                {"\"0\", \"1\"", "\"1\"", true, true},   {"\"0\",W/\"1\"", "\"1\"", true, false},
      {"\"0\" , \"2\"", "\"1\"", false, false},      {"*", "\"1\"", true, true},              {" * ", "\"1\"", true, true},
      {"*", "", true, true},                         {"*, \"1\"", "\"1\"", false, false},     {"\"a,b\"", "\"a,b\"", true, true},
      {"\"a,b\"", "\"a\"", false, false},            {"\"a\", b\", \"1\"", "\"1\"", false, false}, {",,\"1\",", "\"1\"", true, true},
      {"", "\"1\"", false, false},                   {"1", "1", false, false},                {"\"1\"\"2\"", "\"2\"", false, false},
      {"\"a\\\", \"1\"", "\"1\"", true, true},       {"\"x\", \"1", "\"1\"", false, false},
  };
  for (const Row& row : rows) {
    BOOST_TEST(list_matches(row.list, row.etag, false) == row.weak, row.list << " " << row.etag);
    BOOST_TEST(list_matches(row.list, row.etag, true) == row.strong, row.list << " " << row.etag);
  }
}

constexpr ConditionVerdict kProceed = ConditionVerdict::proceed, kSame = ConditionVerdict::not_modified;

struct Row { std::string fields; StoredValidators stored; ConditionVerdict verdict; std::string_view section; };

BOOST_AUTO_TEST_CASE(evaluation) {
  const StoredValidators both{"\"1\"", kModified, 200, kNow - 100}, weak{"W/\"1\"", kModified, 200, kNow - 100};
  const StoredValidators tag_only{"\"1\"", "", 200, kNow - 100}, date_only{"", kModified, 200, kNow - 100};
  const StoredValidators none{"", "", 200, kModifiedTime}, missing{"\"1\"", kModified, 404, kNow - 100};
  const StoredValidators unread{"1", "yesterday", 200, 0};
  auto line = [](std::string_view name, std::string_view value) { return std::string(name) + ": " + std::string(value) + "\r\n"; };
  const std::string inm = "If-None-Match", ims = "If-Modified-Since", im = "If-Match", ius = "If-Unmodified-Since";
  const Row rows[] = {
      {"", both, kProceed, "9110 13.2"},
      {line(inm, "\"1\""), both, kSame, "9110 13.1.2"},
      {line(inm, "W/\"1\""), both, kSame, "9110 13.1.2: weak"},
      {line(inm, "\"1\""), weak, kSame, "9110 13.1.2: weak"},
      {line(inm, "\"2\""), both, kProceed, "9110 13.1.2"},
      {line(inm, "\"2\", \"1\""), both, kSame, "9110 13.1.2"},
      {line(inm, "\"2\"") + line(inm, "\"1\""), both, kSame, "9110 5.3"},
      {line(inm, "*"), both, kSame, "9110 13.1.2"},
      {line(inm, "*"), none, kSame, "9110 13.1.2"},
      {line(inm, "\"1\""), date_only, kProceed, "9110 13.1.2"},
      {line(inm, "\"1\""), missing, kProceed, "9110 13.2.1"},
      {line(inm, "1"), unread, kProceed, "9110 8.8.3"},
      {line(inm, ""), both, kProceed, "9110 13.1.2"},
      // If-None-Match before If-Modified-Since
      {line(inm, "\"2\"") + line(ims, kModified), both, kProceed, "9110 13.2.2"},
      {line(inm, "\"1\"") + line(ims, kEarlier), both, kSame, "9110 13.2.2"},
      {line(inm, "x") + line(ims, kModified), both, kProceed, "9110 13.2.2"},
      {line(ims, kModified), both, kSame, "9110 13.1.3"},
      {line(ims, kLater), both, kSame, "9110 13.1.3"},
      {line(ims, kEarlier), both, kProceed, "9110 13.1.3"},
      {line(ims, "Sunday, 06-Nov-94 08:49:37 GMT"), date_only, kSame, "9110 5.6.7"},
      {line(ims, "yesterday"), both, kProceed, "9110 13.1.3: ignored"},
      {line(ims, std::string(kModified) + "; length=5"), both, kProceed, "9110 13.1.3: ignored"},
      {line(ims, kModified), missing, kProceed, "9110 13.2.1"},
      {line(ims, kModified), none, kSame, "9111 4.3.2: Date stands in"},
      {line(ims, kEarlier), none, kProceed, "9111 4.3.2: Date stands in"},
      {line(ims, kModified), unread, kProceed, "9111 4.3.2"},
      // If-Match and If-Unmodified-Since are the origin's to judge.
      {line(im, "\"1\""), both, kProceed, "9111 4.3.2"},
      {line(im, "\"2\""), both, kProceed, "9111 4.3.2"},
      {line(im, "W/\"1\""), weak, kProceed, "9111 4.3.2"},
      {line(im, "*"), none, kProceed, "9111 4.3.2"},
      {line(im, "\"2\""), missing, kProceed, "9110 13.2.1"},
      {line(im, "\"1\"") + line(inm, "\"1\""), both, kSame, "9111 4.3.2"},
      {line(im, "\"2\"") + line(inm, "\"1\""), both, kSame, "9111 4.3.2"},
      {line(im, "\"1\"") + line(ius, kEarlier), both, kProceed, "9111 4.3.2"},
      {line(ius, kModified), both, kProceed, "9111 4.3.2"},
      {line(ius, kEarlier), both, kProceed, "9111 4.3.2"},
      {line(ius, "yesterday"), both, kProceed, "9111 4.3.2"},
      {line(ius, kEarlier), tag_only, kProceed, "9111 4.3.2"},
      {line(ius, kEarlier) + line(inm, "\"1\""), both, kSame, "9111 4.3.2"},
      {line(ius, kEarlier) + line(ims, kModified), both, kSame, "9111 4.3.2"},
  };
  for (const Row& row : rows) {
    TestHead r = request_with(row.fields);
    BOOST_TEST(int(evaluate(r.head, r.bytes(), row.stored, kNow)) == int(row.verdict), "[" << row.fields << "] RFC " << row.section);
  }
}

BOOST_AUTO_TEST_CASE(if_range) {  // RFC 9110 13.1.5
  struct Row { std::string_view fields; StoredValidators stored; bool holds; };
  const StoredValidators both{"\"1\"", kModified, 200, kModifiedTime + 1}, weak{"W/\"1\"", kModified, 200, kModifiedTime + 1};
  const StoredValidators same_second{"\"1\"", kModified, 200, kModifiedTime}, no_date{"", kModified, 200, 0}, none{"", "", 200, kNow};
  const Row rows[] = {
      {"", both, true},
      {"If-Range: \"1\"\r\n", both, true},
      {"If-Range: \"2\"\r\n", both, false},
      {"If-Range: W/\"1\"\r\n", both, false},
      {"If-Range: \"1\"\r\n", weak, false},
      {"If-Range: W/\"1\"\r\n", weak, false},
      {"If-Range: \"0\", \"1\"\r\n", both, false},
      {"If-Range: *\r\n", both, false},
      {"If-Range: 1\r\n", both, false},
      {"If-Range:\r\n", both, false},
      {"If-Range: \"1\"\r\nIf-Range: \"1\"\r\n", both, false},
      {"If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", both, true},
      {"If-Range: Sun, 06 Nov 1994 08:49:36 GMT\r\n", both, false},
      {"If-Range: Sun, 06 Nov 1994 08:49:38 GMT\r\n", both, false},
      {"If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", same_second, false},
      {"If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", no_date, false},
      {"If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", none, false},
      {"If-Range: \"1\"\r\n", none, false},
  };
  for (const Row& row : rows) {
    TestHead r = request_with(row.fields);
    BOOST_TEST(if_range_holds(r.head, r.bytes(), row.stored, kNow) == row.holds, row.fields);
  }
}

BOOST_AUTO_TEST_CASE(strong_validators) {  // RFC 9110 13.1.5 and 8.8.2.2
  constexpr base::WallSeconds kDate = 784111777;   // Sun, 06 Nov 1994 08:49:37 GMT
  struct Row { std::string_view etag, modified; base::WallSeconds date; std::string_view wanted; };
  const Row rows[] = {
      {"\"a\"", "", 0, "\"a\""},
      {"\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", kDate + 60, "\"a\""},
      {"W/\"a\"", "", 0, ""},
      {"W/\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", kDate + 60, ""},   // where there is a tag no date may be sent
      {"a", "", 0, ""},
      {"\"a", "", 0, ""},
      {"", "Sun, 06 Nov 1994 08:49:37 GMT", kDate + 1, "Sun, 06 Nov 1994 08:49:37 GMT"},
      {"", "Sun, 06 Nov 1994 08:49:37 GMT", kDate, ""},
      {"", "Sun, 06 Nov 1994 08:49:37 GMT", kDate - 1, ""},
      {"", "yesterday", kDate, ""},
      {"", "", kDate, ""},
  };
  for (const Row& row : rows) BOOST_TEST(strong_validator({row.etag, row.modified, 200, row.date}) == row.wanted, row.etag << " " << row.modified << " " << row.date);
}

BOOST_AUTO_TEST_SUITE_END()
