#define BOOST_TEST_DYN_LINK
#include "access/domain_set.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "access/test_support.h"
#include "base/text.h"

using namespace loligo;
using namespace loligo::access;

namespace {

DomainSet set_of(const std::vector<std::string>& values, config::Problems& problems) {
  DomainSet set;
  for (auto& value : values) set.add(value, {"t", 7, 1}, problems);
  set.finish("d", {"t", 7, 1}, problems);
  return set;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_domain_set)

BOOST_AUTO_TEST_CASE(dots_and_case) {
  config::Problems problems;
  DomainSet set = set_of({"exact.test", ".dot.test", "MiXed.Test.", ".deep.sub.dot2.test"}, problems);
  BOOST_TEST(problems.list().empty(), test::all_of(problems));
  struct Row {
    const char* host;
    bool expected;
  };
  const Row rows[] = {
      {"exact.test", true}, {"EXACT.test.", true}, {"sub.exact.test", false}, {"notexact.test", false}, {"exact.tes", false}, {"xact.test", false},
      {"dot.test", true}, {"sub.dot.test", true}, {"a.b.c.DOT.test", true}, {"notdot.test", false}, {"dot.test.", true}, {".dot.test", true},
      {"mixed.test", true}, {"x.mixed.test", false}, {"deep.sub.dot2.test", true}, {"x.deep.sub.dot2.test", true}, {"sub.dot2.test", false},
      {"test", false}, {"", false}, {".", false}, {"..", false},
  };
  for (const Row& row : rows) BOOST_TEST(set.contains(row.host) == row.expected, row.host);
}

BOOST_AUTO_TEST_CASE(overlaps_warn_and_work) {
  const std::vector<std::vector<std::string>> cases = {{".example.com", ".eu.example.com"}, {".eu.example.com", ".example.com"}, {"example.com", ".example.com"}};
  for (auto& values : cases) {
    config::Problems problems;
    DomainSet set = set_of(values, problems);
    BOOST_TEST(problems.list().size() == 1u, test::all_of(problems));
    BOOST_TEST(!problems.has(config::Severity::error));
    for (const char* host : {"example.com", "eu.example.com", "x.eu.example.com", "x.example.com"}) BOOST_TEST(set.contains(host), host);
  }
  config::Problems problems;
  set_of({".a.test", "x.a.test", "y.a.test", "z.a.test"}, problems);
  BOOST_TEST(problems.list().size() == 1u);
  BOOST_TEST(test::says(problems, config::Severity::warning, "2 more"));
}

BOOST_AUTO_TEST_CASE(wildcards_are_an_error_with_the_dot_form) {
  config::Problems problems;
  set_of({"*.example.com", "www.*"}, problems);
  BOOST_TEST(test::says(problems, config::Severity::error, "write .example.com"));
  BOOST_TEST(problems.list().size() == 2u);
  BOOST_TEST(problems.list()[0].place.line == 7);
}

BOOST_AUTO_TEST_CASE(agrees_with_a_linear_search) {
  std::mt19937 random(99);
  auto name = [&] {
    std::string text;
    for (unsigned i = 0, labels = 1 + random() % 4; i < labels; ++i) {
      if (i) text += '.';
      for (unsigned j = 0, length = 1 + random() % 2; j < length; ++j) text += char("abA"[random() % 3]);
    }
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> values;
    for (unsigned i = 0, count = 1 + random() % 30; i < count; ++i) values.push_back((random() % 2 ? "." : "") + name());
    config::Problems problems;
    DomainSet set = set_of(values, problems);
    for (int i = 0; i < 300; ++i) {
      std::string host = name();
      bool expected = false;
      for (auto& value : values) {
        std::string v = base::to_lower(value), h = base::to_lower(host);
        expected |= v[0] == '.' ? h == v.substr(1) || (h.size() > v.size() && h.ends_with(v)) || h == v : h == v;
      }
      // ".a" also covers "x.a" where the host is exactly one character longer
      for (auto& value : values) expected |= value[0] == '.' && base::to_lower("." + host).ends_with(base::to_lower(value));
      BOOST_REQUIRE_MESSAGE(set.contains(host) == expected, host);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
