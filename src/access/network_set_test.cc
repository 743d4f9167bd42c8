#define BOOST_TEST_DYN_LINK
#include "access/network_set.h"

#include <arpa/inet.h>

#include <boost/test/unit_test.hpp>
#include <random>

#include "access/test_support.h"

using namespace loligo;
using namespace loligo::access;

namespace {

bool contains(std::initializer_list<const char*> values, const char* address) {
  NetworkSet set;
  config::Problems problems;
  for (const char* value : values) set.add(value, {"t", 1, 1}, test::resolve, problems);
  set.finish();
  BOOST_TEST(!problems.has(config::Severity::error), test::all_of(problems));
  return set.contains(*net::Address::parse(address));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_network_set)

BOOST_AUTO_TEST_CASE(spellings) {
  struct Row {
    const char* value;
    const char* address;
    bool expected;
  };
  const Row rows[] = {
      {"all", "1.2.3.4", true}, {"ALL", "::1", true}, {"ipv4", "1.2.3.4", true}, {"ipv4", "::1", false}, {"ipv6", "::1", true}, {"ipv6", "1.2.3.4", false},
      {"ipv4", "::ffff:1.2.3.4", true}, {"ipv6", "::ffff:1.2.3.4", false}, {"::/0", "2001:db8::1", true}, {"::/0", "1.2.3.4", false},
      {"0.0.0.0/0", "::1", true}, {"0/0", "9.9.9.9", true},
      {"10.0.0.0/8", "10.255.255.255", true}, {"10.0.0.0/8", "11.0.0.0", false}, {"10.0.0.0/8", "9.255.255.255", false}, {"10.0.0.0/8", "::ffff:10.1.1.1", true},
      {"10.0.0.0/255.0.0.0", "10.255.0.1", true}, {"10.0.0.0/255.0.0.0", "11.0.0.1", false}, {"10.1.2.3/8", "10.9.9.9", true},
      {"0.0.0.0/1", "127.255.255.255", true}, {"0.0.0.0/1", "128.0.0.0", false}, {"128.0.0.0/1", "255.255.255.255", true},
      {"10.0.0.5-10.0.0.9", "10.0.0.5", true}, {"10.0.0.5-10.0.0.9", "10.0.0.9", true}, {"10.0.0.5-10.0.0.9", "10.0.0.4", false}, {"10.0.0.5-10.0.0.9", "10.0.0.10", false},
      {"10.0.1.0-10.0.3.0/24", "10.0.3.255", true}, {"10.0.1.0-10.0.3.0/24", "10.0.4.0", false}, {"10.0.1.0-10.0.3.0/255.255.255.0", "10.0.2.7", true},
      {"0.0.0.1-0.255.255.255", "0.0.0.0", false}, {"0.0.0.1-0.255.255.255", "0.9.9.9", true},
      {"fc00::/7", "fdff::1", true}, {"fc00::/7", "fe00::1", false}, {"fe80::/10", "febf::1", true}, {"::1", "::1", true}, {"::1", "::2", false},
      {"2001:db8::/ffff:ffff::", "2001:db8:5::1", true}, {"2001:db8::/ffff:ffff::", "2001:db9::1", false}, {"2001:db8::1-2001:db8::5", "2001:db8::3", true},
      {"::ffff:10.0.0.0/104", "10.7.7.7", true}, {"[2001:db8::]/32", "2001:db8::9", true},
      {"10.1", "10.0.0.1", true}, {"two.example", "192.0.2.1", true}, {"two.example", "2001:db8::1", true}, {"two.example/64", "2001:db8::2", true},
      {"two.example/64", "192.0.2.2", false},
  };
  for (const Row& row : rows) BOOST_TEST(contains({row.value}, row.address) == row.expected, row.value << " " << row.address);
}

BOOST_AUTO_TEST_CASE(nested_and_double_values_form_the_union) {
  for (const char* address : {"10.0.0.1", "10.0.0.2", "10.200.0.1"}) {
    BOOST_TEST(contains({"10.0.0.1", "10.0.0.0/8"}, address));
    BOOST_TEST(contains({"10.0.0.0/8", "10.0.0.1", "10.0.0.1"}, address));
  }
  BOOST_TEST(contains({"10.0.0.0/9", "10.128.0.0/9", "192.0.2.0/24"}, "10.127.255.255"));
  BOOST_TEST(contains({"255.255.255.255", "0.0.0.0", "255.255.255.0/24"}, "255.255.255.255"));
}

// Random networks and addresses: the tree says what a linear search says.
BOOST_AUTO_TEST_CASE(agrees_with_a_linear_search) {
  std::mt19937 random(12345);
  for (int round = 0; round < 200; ++round) {
    struct Net { uint32_t low, high; };
    std::vector<Net> nets;
    NetworkSet set;
    config::Problems problems;
    // A few bits of freedom, so that networks nest and touch.
    auto any = [&] { return (round % 2 ? 0x0a000000u | (random() & 0x3ff) : uint32_t(random())); };
    for (unsigned i = 0, count = 1 + random() % 60; i < count; ++i) {
      unsigned prefix = round % 2 ? 22 + random() % 11 : random() % 33;
      uint32_t hosts = prefix == 32 ? 0 : uint32_t(-1) >> prefix, base = any() & ~hosts;
      in_addr raw{htonl(base)};
      char text[INET_ADDRSTRLEN];
      set.add(std::string(inet_ntop(AF_INET, &raw, text, sizeof text)) + "/" + std::to_string(prefix), {}, {}, problems);
      nets.push_back(prefix == 0 && base == 0 ? Net{0, uint32_t(-1)} : Net{base, base | hosts});
    }
    set.finish();
    for (int i = 0; i < 500; ++i) {
      uint32_t address = i % 4 ? any() : i % 8 ? nets[random() % nets.size()].high + 1 : nets[random() % nets.size()].low - 1;
      bool expected = false;
      for (Net net : nets) expected |= net.low <= address && address <= net.high;
      sockaddr_in raw{};
      raw.sin_family = AF_INET;
      raw.sin_addr.s_addr = htonl(address);
      BOOST_REQUIRE_EQUAL(set.contains(net::Address::from(reinterpret_cast<sockaddr*>(&raw), sizeof raw)), expected);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
