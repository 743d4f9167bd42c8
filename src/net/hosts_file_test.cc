#define BOOST_TEST_DYN_LINK
#include "net/hosts_file.h"

#include <boost/test/unit_test.hpp>

using namespace loligo::net;

BOOST_AUTO_TEST_SUITE(hosts_file)

static std::string list(const HostsFile& hosts, std::string_view name) {
  std::string out;
  if (const Answer* answer = hosts.find(name))
    for (const Address& address : (*answer)->list) out += address.host() + " ";
  return out;
}

BOOST_AUTO_TEST_CASE(names_and_addresses) {
  auto hosts = HostsFile::parse(
      "# a comment\n"
      "127.0.0.1\tlocalhost LocalHost.LocalDomain # another\n"
      "::1 localhost\r\n"
      "   10.0.0.1   a.example. b.example\n"
      "10.0.0.2 a.example\n"
      "10.0.0.1 a.example#glued\n"
      "not-an-address x\n"
      "fe80::1%lo0 scoped\n"
      "10.0.0.9\n"
      "\n"
      "10.0.0.3 last.example");
  struct { const char *name, *addresses; } const cases[] = {
      {"localhost", "127.0.0.1 ::1 "}, {"localhost.localdomain", "127.0.0.1 "}, {"a.example", "10.0.0.1 10.0.0.2 "},
      {"b.example", "10.0.0.1 "},      {"last.example", "10.0.0.3 "},           {"x", ""},
      {"scoped", ""},                  {"another", ""},                         {"", ""},
  };
  for (const auto& c : cases) BOOST_TEST(list(*hosts, c.name) == c.addresses, c.name);
  BOOST_TEST(hosts->bad_lines() == 2);

  const NamesAnswer* names = hosts->find(*Address::parse("10.0.0.1"));
  BOOST_REQUIRE(names);
  BOOST_TEST((*names)->list.size() == 2);
  BOOST_TEST((*names)->list[0] == "a.example");
  BOOST_TEST((*names)->expires_ms == kNeverExpires);
  BOOST_TEST(!hosts->find(*Address::parse("10.0.0.9")));
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_named) {
  std::string error;
  BOOST_TEST(!HostsFile::load("/nonexistent/hosts", error));
  BOOST_TEST(error == "/nonexistent/hosts: No such file or directory");
}

BOOST_AUTO_TEST_CASE(lists_are_bounded) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "10.0.1." + std::to_string(i % 256) + " many.example\n10.9.9.9 n" + std::to_string(i) + "\n";
  auto hosts = HostsFile::parse(text);
  BOOST_TEST((*hosts->find("many.example"))->list.size() == 64);
  BOOST_TEST((*hosts->find(*Address::parse("10.9.9.9")))->list.size() == 64);
}

BOOST_AUTO_TEST_SUITE_END()
