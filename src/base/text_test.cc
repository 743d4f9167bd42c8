#include "base/text.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::base;

BOOST_AUTO_TEST_CASE(decimal_numbers_are_digits_only) {
  BOOST_TEST((parse_decimal<uint64_t>("0") == 0u));
  BOOST_TEST((parse_decimal<uint64_t>("18446744073709551615") == 18446744073709551615u));
  for (auto bad : {"", "+5", "-1", " 5", "5 ", "0x5", "5;a", "18446744073709551616"})
    BOOST_TEST(!parse_decimal<uint64_t>(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(ascii_case_and_blanks) {
  BOOST_TEST(iequals("Content-Length", "content-length"));
  BOOST_TEST(!iequals("a", "ab"));
  BOOST_TEST(trim_ows(" \tx y\t ") == "x y");
  BOOST_TEST(trim_ows("\vx") == "\vx");  // VT is not OWS
}
