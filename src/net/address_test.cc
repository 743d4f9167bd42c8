#define BOOST_TEST_DYN_LINK
#include "net/address.h"

#include <arpa/inet.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

using loligo::net::Address;

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(parses_and_writes) {
  struct { const char *input, *host, *text; } const cases[] = {
      {"1.2.3.4", "1.2.3.4", "1.2.3.4:80"},
      {"0.0.0.0", "0.0.0.0", "0.0.0.0:80"},
      {"255.255.255.255", "255.255.255.255", "255.255.255.255:80"},
      {"100.10.1.99", "100.10.1.99", "100.10.1.99:80"},
      {"::1", "::1", "[::1]:80"},
      {"[::1]", "::1", "[::1]:80"},
      {"::", "::", "[::]:80"},
      {"2001:DB8:0:0:0:0:0:1", "2001:db8::1", "[2001:db8::1]:80"},
      {"::ffff:1.2.3.4", "::ffff:1.2.3.4", "[::ffff:1.2.3.4]:80"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
       "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:80"},
  };
  for (const auto& c : cases) {
    auto address = Address::parse(c.input, 80);
    BOOST_REQUIRE_MESSAGE(address, c.input);
    BOOST_TEST(address->host() == c.host);
    BOOST_TEST(address->text() == c.text);
    BOOST_TEST(address->port() == 80);
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_programs_read_differently) {
  using namespace std::literals;
  const std::string_view cases[] = {
      "", "[]", "1", "1.2", "1.2.3", "127.1", "2130706433", "0x7f.0.0.1", "010.0.0.1", "1.2.3.04", "1.2.3.256",
      "1.2.3.4.", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4:80", "1.2.3.4/8", "[1.2.3.4]", "1.2.3.-4", "1..2.3",
      ":", ":::", "1:2", "::1%lo", "fe80::1%2", "::1]", "[::1", "[[::1]]", "::g", "12345::", "1:2:3:4:5:6:7:8:9",
      "::1.2.3", "::1.2.3.04", "localhost", "1.2.3.4\0"sv, "::1\0x"sv,
      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"};
  for (auto text : cases) BOOST_TEST(!Address::parse(text), "accepted '" << text << "'");
}

BOOST_AUTO_TEST_CASE(classifies) {
  struct { const char* text; bool any, loopback, link_local; } const cases[] = {
      {"0.0.0.0", true, false, false},       {"::", true, false, false},
      {"::ffff:0.0.0.0", true, false, false}, {"127.0.0.1", false, true, false},
      {"127.255.0.9", false, true, false},   {"128.0.0.1", false, false, false},
      {"::1", false, true, false},           {"::ffff:127.0.0.1", false, true, false},
      {"169.254.1.1", false, false, true},   {"169.253.1.1", false, false, false},
      {"fe80::1", false, false, true},       {"febf::1", false, false, true},
      {"fec0::1", false, false, false},      {"::ffff:169.254.169.254", false, false, true},
  };
  for (const auto& c : cases) {
    Address address = *Address::parse(c.text);
    BOOST_TEST(address.is_any() == c.any, c.text);
    BOOST_TEST(address.is_loopback() == c.loopback, c.text);
    BOOST_TEST(address.is_link_local() == c.link_local, c.text);
  }
}

BOOST_AUTO_TEST_CASE(mapped_and_plain_share_one_key_space) {
  Address plain = *Address::parse("10.9.8.7", 3128), mapped = *Address::parse("::ffff:10.9.8.7", 3128);
  BOOST_TEST(!(plain == mapped));
  BOOST_TEST((mapped.unmapped() == plain));
  BOOST_TEST(mapped.unmapped().port() == 3128);
  unsigned char a[16], b[16];
  plain.mapped_bytes(a);
  mapped.mapped_bytes(b);
  BOOST_TEST(std::memcmp(a, b, 16) == 0);
  BOOST_TEST(std::memcmp(a, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x09\x08\x07", 16) == 0);
  Address six = *Address::parse("2001:db8::1");
  BOOST_TEST((six.unmapped() == six));
}

BOOST_AUTO_TEST_CASE(from_kernel_structures) {
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(99)};
  inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
  BOOST_TEST(Address::from(reinterpret_cast<sockaddr*>(&v4), sizeof v4).text() == "192.0.2.1:99");
  BOOST_TEST(!Address::from(reinterpret_cast<sockaddr*>(&v4), 4).valid());
  sockaddr unix_socket{.sa_family = AF_UNIX};
  BOOST_TEST(!Address::from(&unix_socket, sizeof unix_socket).valid());
  BOOST_TEST(!Address::from(nullptr, 0).valid());

  Address any = Address::any(AF_INET6, 8080);
  BOOST_TEST(any.text() == "[::]:8080");
  BOOST_TEST(any.size() == sizeof(sockaddr_in6));
  BOOST_TEST(Address::from(any.data(), any.size()).text() == "[::]:8080");
  BOOST_TEST(Address().host() == "-");
  BOOST_TEST(Address().port() == 0);
  const unsigned char record[4] = {192, 0, 2, 7};
  BOOST_TEST(Address::from_bytes(record, AF_INET, 53).text() == "192.0.2.7:53");
}

BOOST_AUTO_TEST_CASE(compares_host_and_port) {
  BOOST_TEST((*Address::parse("1.2.3.4", 1) == *Address::parse("1.2.3.4", 1)));
  BOOST_TEST(!(*Address::parse("1.2.3.4", 1) == *Address::parse("1.2.3.4", 2)));
  BOOST_TEST(Address::parse("1.2.3.4", 1)->same_host(*Address::parse("1.2.3.4", 2)));
  BOOST_TEST(!Address::parse("1.2.3.4")->same_host(*Address::parse("1.2.3.5")));
  BOOST_TEST(!Address::parse("::1")->same_host(*Address::parse("::2")));
}

BOOST_AUTO_TEST_SUITE_END()
