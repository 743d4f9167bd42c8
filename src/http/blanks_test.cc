#include "http/blanks.h"

#include "http/head.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(blanks)

// What becomes of a whole line; empty: untouched.
BOOST_AUTO_TEST_CASE(targets) {
  struct Row { std::string_view line, strip, encode, chop; };
  const Row kRows[] = {
      {"GET /a b HTTP/1.1", "GET /ab HTTP/1.1", "GET /a%20b HTTP/1.1", "GET /a HTTP/1.1"},
      {"GET http://h/a\tb c HTTP/1.0", "GET http://h/abc HTTP/1.0", "GET http://h/a%09b%20c HTTP/1.0", "GET http://h/a HTTP/1.0"},
      {"GET /a HTTP/1.1 HTTP/1.1", "GET /aHTTP/1.1 HTTP/1.1", "GET /a%20HTTP/1.1 HTTP/1.1", "GET /a HTTP/1.1"},
      {"GET  /a HTTP/1.1", "GET /a HTTP/1.1", "GET %20/a HTTP/1.1", "GET  HTTP/1.1"},
      {"\r\nGET /a b HTTP/1.1", "\r\nGET /ab HTTP/1.1", "\r\nGET /a%20b HTTP/1.1", "\r\nGET /a HTTP/1.1"},
      {"GET /ab HTTP/1.1", "", "", ""},
      {"GET /a b", "", "", ""},
      {"GET /a b HTTP/1.1 ", "", "", ""},
      {"GET HTTP/1.1", "", "", ""},
      {"GET", "", "", ""},
      {"", "", "", ""},
  };
  for (const Row& row : kRows)
    for (auto [how, wanted] : {std::pair{BlanksInTarget::deny, std::string_view()}, {BlanksInTarget::strip, row.strip}, {BlanksInTarget::encode, row.encode},
                               {BlanksInTarget::chop, row.chop}}) {
      const std::string rest = "\r\nHost: a b\r\n\r\nGET /c d HTTP/1.1\r\n";
      Mended got = mend_target(std::string(row.line) + rest, how);
      if (row.line.empty()) continue;   // then the next line is the one
      BOOST_TEST_CONTEXT(row.line << " " << int(how)) {
        BOOST_TEST(bool(got.state == (wanted.empty() ? MendedState::untouched : MendedState::mended)));
        if (!wanted.empty()) BOOST_TEST(got.bytes == std::string(wanted) + rest);
      }
    }
}

// Cut anywhere in the line, it waits; whole, it says what it said of all.
BOOST_AUTO_TEST_CASE(incomplete_until_the_line_has_ended) {
  const std::string_view text = "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n";
  for (size_t n = 0; n <= text.size(); ++n) {
    Mended got = mend_target(text.substr(0, n), BlanksInTarget::strip);
    BOOST_TEST(bool(got.state == (n < 19 ? MendedState::incomplete : MendedState::mended)), n);
  }
  BOOST_TEST(bool(mend_target("GET /a b HTTP/1.1\nHost: h\r\n", BlanksInTarget::strip).state == MendedState::untouched));
  BOOST_TEST(bool(mend_target("GET /a b HTTP/1.1\rHost: h\r\n", BlanksInTarget::strip).state == MendedState::untouched));
}

BOOST_AUTO_TEST_SUITE_END()
