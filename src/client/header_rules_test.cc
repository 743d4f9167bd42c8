#define BOOST_TEST_DYN_LINK
#include "client/header_rules.h"

#include <boost/test/unit_test.hpp>

#include "access/test_support.h"
#include "http/field_id.h"

using namespace loligo;
using namespace loligo::client;

namespace {

struct Setup {
  access::test::Configuration config{"acl office src 10.0.0.0/8\nacl elsewhere src 192.0.2.0/24\n"};
  access::Facts facts;
  HeaderRules rules;

  Setup(std::initializer_list<const char*> access, std::vector<HeaderReplacement> replacements = {}, std::vector<HeaderAddition> additions = {}) {
    std::vector<config::Statement> lines;
    for (const char* text : access) lines.push_back(access::test::statement(text, int(lines.size()) + 100));
    rules = HeaderRules::compile(lines, replacements, additions, config.acls, config.problems);
    BOOST_TEST(config.clean());
    facts.client = *net::Address::parse("10.1.2.3");
  }
  // "pass", "drop", or the value that takes its place.
  std::string verdict(std::string_view name) {
    const std::string* replacement = nullptr;
    if (rules.passes(http::field_id(name), name, facts, &replacement)) return "pass";
    return replacement ? *replacement : "drop";
  }
};

HeaderAddition addition(const char* text, std::string name, std::string value, size_t first_acl) {
  return {std::move(name), std::move(value), access::test::statement(text, 200), first_acl};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(header_rules)

BOOST_AUTO_TEST_CASE(no_lines_let_everything_pass) {
  Setup s({});
  BOOST_TEST(s.rules.empty());
  BOOST_TEST(s.verdict("Referer") == "pass");
  std::string out;
  s.rules.append_additions(s.facts, out);
  BOOST_TEST(out.empty());
}

BOOST_AUTO_TEST_CASE(the_named_line_then_other_then_all) {
  Setup s({"request_header_access User-Agent deny all", "request_header_access Other deny all", "request_header_access Accept allow all",
           "request_header_access All deny all"});
  BOOST_TEST(!s.rules.empty());
  BOOST_TEST(s.verdict("user-AGENT") == "drop");
  BOOST_TEST(s.verdict("Accept") == "pass");     // its own line wins over All
  BOOST_TEST(s.verdict("X-Unknown") == "drop");
  BOOST_TEST(s.verdict("Referer") == "drop");
  Setup only_other({"request_header_access Other deny all"});
  BOOST_TEST(only_other.verdict("X-Unknown") == "drop");
  BOOST_TEST(only_other.verdict("Referer") == "pass");
}

BOOST_AUTO_TEST_CASE(lines_of_one_name_are_tried_in_order) {
  Setup s({"request_header_access Referer allow office", "request_header_access Referer deny all"});
  BOOST_TEST(s.verdict("Referer") == "pass");
  s.facts.client = *net::Address::parse("192.0.2.1");
  BOOST_TEST(s.verdict("Referer") == "drop");
}

BOOST_AUTO_TEST_CASE(a_replacement_takes_the_place_of_what_is_denied) {
  Setup s({"request_header_access User-Agent deny all"}, {{"user-agent", "Nutscrape/1.0"}, {"Referer", "none"}});
  BOOST_TEST(s.verdict("User-Agent") == "Nutscrape/1.0");
  BOOST_TEST(s.verdict("Referer") == "pass");    // nothing is denied, nothing replaced
}

BOOST_AUTO_TEST_CASE(additions_by_condition_in_their_order) {
  Setup s({}, {}, {addition("request_header_add X-A one", "X-A", "one", 2), addition("request_header_add X-B two office", "X-B", "two", 2),
                   addition("request_header_add X-C three elsewhere", "X-C", "three", 2)});
  BOOST_TEST(!s.rules.empty());
  std::string out = "before\r\n";
  s.rules.append_additions(s.facts, out);
  BOOST_TEST(out == "before\r\nX-A: one\r\nX-B: two\r\n");
}

BOOST_AUTO_TEST_SUITE_END()
