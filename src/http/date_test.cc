#define BOOST_TEST_DYN_LINK
#include "http/date.h"

#include <boost/test/unit_test.hpp>
#include <ctime>
#include <string>

using namespace loligo;
using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(date)

constexpr base::WallSeconds kNow = 1700000000;   // 2023-11-14
constexpr base::WallSeconds kSample = 784111777;  // the RFC's example
constexpr base::WallSeconds kBad = INT64_MIN;

struct Row { std::string_view text; base::WallSeconds when; };

// RFC 9110 5.6.7 throughout.
const Row kRows[] = {
    {"Sun, 06 Nov 1994 08:49:37 GMT", kSample},
    {"Sunday, 06-Nov-94 08:49:37 GMT", kSample},
    {"Sun Nov  6 08:49:37 1994", kSample},
    {"Wed Nov 16 08:49:37 1994", kSample + 10 * 86400},
    // without case
    {"sun, 06 nov 1994 08:49:37 gmt", kSample},
    {"SUN, 06 NOV 1994 08:49:37 GMT", kSample},
    {"SUNDAY, 06-NOV-94 08:49:37 gmt", kSample},
    {"sun nov  6 08:49:37 1994", kSample},
    {"Mon, 06 Nov 1994 08:49:37 GMT", kSample},  // the weekday is not checked
    {" Sun, 06 Nov 1994 08:49:37 GMT\t", kSample},
    {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
    {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
    {"Mon, 01 Jan 1900 00:00:00 GMT", -2208988800},
    {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
    {"Thu, 29 Feb 2024 00:00:00 GMT", 1709164800},
    {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
    {"Sat, 30 Jun 2012 23:59:60 GMT", 1341100800},  // leap second
    // two-digit years, seen from 2023
    {"Friday, 01-Jan-99 00:00:00 GMT", 915148800},
    {"Saturday, 01-Jan-00 00:00:00 GMT", 946684800},
    {"Tuesday, 14-Nov-73 00:00:00 GMT", 3277843200 - 0},
    {"Wednesday, 01-Jan-75 00:00:00 GMT", 157766400},
    // malformed
    {"", kBad},
    {"0", kBad},
    {"-1", kBad},
    {"784111777", kBad},
    {"1994-11-06T08:49:37Z", kBad},
    {"Sun", kBad},
    {"Sun,", kBad},
    {"Sun 06 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49:37", kBad},
    {"Sun, 06 Nov 1994 08:49:37 ", kBad},
    {"Sun, 06 Nov 1994 08:49:37 UTC", kBad},
    {"Sun, 06 Nov 1994 08:49:37 EST", kBad},
    {"Sun, 06 Nov 1994 08:49:37 +0000", kBad},
    {"Sun, 06 Nov 1994 08:49:37 GMT+1", kBad},
    {"Sun, 06 Nov 1994 08:49:37 GMTx", kBad},
    {"Sun, 06 Nov 1994 08:49:37 GMT GMT", kBad},
    {"Sun, 06 Nov 1994, 08:49:37 GMT", kBad},
    {"Sun,  06 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06  Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov  1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994  08:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49:37  GMT", kBad},
    {"Sun,06 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06-Nov-1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 94 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 094 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 19940 08:49:37 GMT", kBad},
    {"Sun, 6 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 006 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 00 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 31 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 29 Feb 1994 08:49:37 GMT", kBad},
    {"Sun, 29 Feb 1900 08:49:37 GMT", kBad},
    {"Sun, 06 Nom 1994 08:49:37 GMT", kBad},
    {"Sun, 06 November 1994 08:49:37 GMT", kBad},
    {"Sun, 06 11 1994 08:49:37 GMT", kBad},
    {"Sux, 06 Nov 1994 08:49:37 GMT", kBad},
    {"Sunday, 06 Nov 1994 08:49:37 GMT", kBad},
    {"06 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994 8:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49 GMT", kBad},
    {"Sun, 06 Nov 1994 08.49.37 GMT", kBad},
    {"Sun, 06 Nov 1994 24:00:00 GMT", kBad},
    {"Sun, 06 Nov 1994 08:60:37 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49:61 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49:37.5 GMT", kBad},
    {"Sun, +6 Nov 1994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov -994 08:49:37 GMT", kBad},
    {"Sun, 06 Nov 1994 08:49:37 GMT; path=/", kBad},
    {"\"Sun, 06 Nov 1994 08:49:37 GMT\"", kBad},
    {"Sunday 06-Nov-94 08:49:37 GMT", kBad},
    {"Sun, 06-Nov-94 08:49:37 GMT", kBad},
    {"Sunday, 06-Nov-1994 08:49:37 GMT", kBad},
    {"Sunday, 6-Nov-94 08:49:37 GMT", kBad},
    {"Sunday, 06 Nov 94 08:49:37 GMT", kBad},
    {"Sunday, 06-Nov-94 08:49:37 UTC", kBad},
    {"Sun Nov 6 08:49:37 1994", kBad},
    {"Sun Nov 06 08:49:37 94", kBad},
    {"Sun Nov  6 08:49:37 GMT 1994", kBad},
    {"Sun Nov   6 08:49:37 1994", kBad},
    {"Sun, Nov  6 08:49:37 1994", kBad},
    {"Sun Nov  6 08:49:37 1994 GMT", kBad},
};

BOOST_AUTO_TEST_CASE(parsed) {
  for (const Row& row : kRows) BOOST_TEST(parse_date(row.text, kNow).value_or(kBad) == row.when, "[" << row.text << "]");
}

// "more than 50 years in the future" counts as the past century (RFC 9110 5.6.7).
BOOST_AUTO_TEST_CASE(two_digit_years) {
  struct Year { base::WallSeconds now; std::string_view text; int year; };
  const Year rows[] = {
      {0, "Monday, 01-Jun-70 00:00:00 GMT", 1970},       {0, "Monday, 01-Jun-19 00:00:00 GMT", 2019},
      {0, "Monday, 01-Jun-21 00:00:00 GMT", 1921},       {946684799, "Monday, 01-Jun-00 00:00:00 GMT", 2000},
      {946684799, "Monday, 01-Jun-99 00:00:00 GMT", 1999}, {946684799, "Monday, 01-Jun-50 00:00:00 GMT", 1950},
      {kNow, "Monday, 01-Jun-72 00:00:00 GMT", 2072},    {kNow, "Monday, 01-Jun-73 00:00:00 GMT", 2073},
      {kNow, "Monday, 01-Dec-73 00:00:00 GMT", 1973},    {kNow, "Monday, 01-Jun-74 00:00:00 GMT", 1974},
      {kNow, "Thursday, 29-Feb-24 00:00:00 GMT", 2024},
  };
  for (const Year& row : rows) {
    std::optional<base::WallSeconds> when = parse_date(row.text, row.now);
    BOOST_REQUIRE(when);
    char out[kDateLength];
    format_date(*when, out);
    BOOST_TEST(std::string(out + 12, 4) == std::to_string(row.year), row.text << " at " << row.now);
  }
}

BOOST_AUTO_TEST_CASE(formatted_like_strftime_and_back) {
  for (base::WallSeconds when = -3000000000; when < 20000000000; when += 86400 * 13 + 3607) {
    char out[kDateLength + 1] = {}, expected[40];
    format_date(when, out);
    time_t t = when;
    struct tm tm;
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
    BOOST_REQUIRE_EQUAL(std::string(out), std::string(expected));
    BOOST_REQUIRE_EQUAL(parse_date(out, kNow).value_or(kBad), when);
  }
}

BOOST_AUTO_TEST_CASE(formatting_is_bounded) {
  char out[kDateLength + 1] = {};
  format_date(INT64_MAX, out);
  BOOST_TEST(out == std::string("Fri, 31 Dec 9999 23:59:59 GMT"));
  format_date(INT64_MIN, out);
  BOOST_TEST(out == std::string("Sat, 01 Jan 0000 00:00:00 GMT"));
}

BOOST_AUTO_TEST_SUITE_END()
