// Lists of rules: order, negation, no match, what is not known, what is not implemented.
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "access/test_support.h"

using namespace loligo;
using namespace loligo::access;
using namespace loligo::access::test;
using S = config::Severity;

BOOST_AUTO_TEST_SUITE(access_rules)

BOOST_AUTO_TEST_CASE(order_negation_and_no_match) {
  struct Row {
    const char* rules;
    bool allowed;
    const char* rule;
    const char* last_acl;
  };
  const Row rows[] = {
      {"", true, "default", ""},
      {"http_access allow all", true, "test.conf:6", "all"},
      {"http_access deny all", false, "test.conf:6", "all"},
      {"http_access deny web\nhttp_access allow lan", false, "test.conf:6", "web"},
      {"http_access deny tls\nhttp_access allow lan", true, "test.conf:7", "lan"},
      {"http_access allow lan tls\nhttp_access deny lan web", false, "test.conf:7", "web"},
      {"http_access deny !lan", true, "no match", "lan"},
      {"http_access deny !other", false, "test.conf:6", "other"},
      {"http_access allow !other !tls", true, "test.conf:6", "tls"},
      {"http_access allow !other web !lan\nhttp_access allow tls", false, "no match", "tls"},  // the opposite of the last line
      {"http_access allow lan tls\nhttp_access deny tls", true, "no match", "tls"},
      {"http_access deny none\nhttp_access allow none", false, "no match", "none"},
  };
  Sample sample;
  for (const Row& row : rows) {
    Configuration c(std::string("acl lan src 10.0.0.0/8\nacl other src 192.0.2.0/24\nacl web port 80\nacl tls port 443\nacl none dstdomain .none.test\n") + row.rules);
    BOOST_TEST(c.clean(), all_of(c.problems));
    for (bool fast : {false, true}) {
      Verdict v = fast ? c.rules.check_fast(sample.facts, true) : c.rules.check(sample.facts, true);
      BOOST_TEST(v.allowed == row.allowed, row.rules);
      BOOST_TEST(v.rule == row.rule, row.rules);
      BOOST_TEST(v.last_acl == row.last_acl, row.rules);
    }
  }
  Configuration text("acl lan src 10.0.0.0/8\nhttp_access deny !lan all\nhttp_access allow lan");
  sample.facts.client = *net::Address::parse("192.0.2.1");
  BOOST_TEST(text.rules.check(sample.facts, true).rule_text == "deny !lan all");
}

BOOST_AUTO_TEST_CASE(errors_of_lines) {
  Configuration c(R"(acl localnet src 10.0.0.0/8
http_access allow localnte
http_access permit localnet
http_access deny
http_access
http_access allow later
acl later src all
http_access deny !Localnet)");
  auto& list = c.problems.list();
  BOOST_TEST(list.size() == 6u, all_of(c.problems));
  BOOST_TEST(says(c.problems, S::error, "did you mean localnet?"));
  BOOST_TEST(says(c.problems, S::error, "\"permit\" stands where allow or deny must stand"));
  BOOST_TEST(says(c.problems, S::error, "names no ACL"));
  BOOST_TEST(says(c.problems, S::error, "needs allow or deny"));
  BOOST_TEST(says(c.problems, S::error, "only after this line"));
  BOOST_TEST((list[0].place.line == 2 && list[0].place.column == 19), all_of(c.problems));
}

BOOST_AUTO_TEST_CASE(an_unknown_type_is_reported_once) {
  Configuration c("acl x sorce 10.0.0.0/8\nacl x sorce 11.0.0.0/8\nhttp_access allow x");
  BOOST_TEST(c.problems.list().size() == 2u, all_of(c.problems));
  BOOST_TEST(!c.rules.check(Sample().facts, false).allowed);
}

BOOST_AUTO_TEST_CASE(skipping_a_name_first) {
  Configuration c("acl web port 80\ncache_peer_access parent1 deny web\ncache_peer_access parent1 allow all", 1);
  BOOST_TEST(c.clean());
  BOOST_TEST(!c.rules.check(Sample().facts, true).allowed);
  BOOST_TEST(c.rules.check(Sample().facts, true).rule_text == "deny web");
}

BOOST_AUTO_TEST_CASE(types_not_implemented_close) {
  const char* types[] = {"proxy_auth REQUIRED", "external helper x", "ssl::server_name .x", "note a b", "arp 00:11:22:33:44:55", "max_user_ip -s 2", "clientside_mark 0x1"};
  Sample sample;
  for (std::string type : types) {
    Configuration unused("acl a " + type);
    BOOST_TEST(unused.clean(), all_of(unused.problems));
    for (std::string use : {"a", "!a", "all a", "group", "!group", "group2"}) {
      std::string acls = "acl a " + type + "\nacl group any-of manager a\nacl group2 all-of all !a\n";
      Configuration allow(acls + "http_access allow " + use + "\nhttp_access deny all");
      BOOST_TEST(says(allow.problems, S::restricts, "http_access allow " + use), type);
      BOOST_TEST((allow.problems.list().size() == 1 && allow.problems.list()[0].place.line == 4), all_of(allow.problems));
      BOOST_TEST(!allow.rules.check(sample.facts, true).allowed, type + " allow " + use);
      Configuration deny(acls + "http_access deny " + use + "\nhttp_access allow all");
      BOOST_TEST(says(deny.problems, S::restricts, "not implemented yet"), type);
      BOOST_TEST(!deny.rules.check(sample.facts, true).allowed, type + " deny " + use);
    }
    // What decides without it, decides.
    Configuration decided("acl a " + type + "\nacl any any-of all a\nacl none all-of !all a\nhttp_access deny none\nhttp_access allow any");
    BOOST_TEST(decided.rules.check(sample.facts, false).allowed, type);
  }
  Configuration predefined("sslproxy_cert_error allow ssl::certHasExpired");
  BOOST_TEST(says(predefined.problems, S::restricts, "ssl_error"));
}

// They never match; a line that would let more through for it is not started with.
BOOST_AUTO_TEST_CASE(obsolete_types_never_match) {
  struct { const char* rules; int restricting_line; } const rows[] = {
      {"http_access allow a\nhttp_access deny all", 0},  {"http_access deny !a\nhttp_access allow all", 0},
      {"http_access deny a\nhttp_access allow all", 6},  {"http_access deny all i\nhttp_access allow all", 6},
      {"http_access allow !a\nhttp_access deny all", 6}, {"http_access allow all !i\nhttp_access deny all", 6},
      {"http_access deny group\nhttp_access allow all", 6}, {"http_access allow turned\nhttp_access deny all", 6},
  };
  for (auto& row : rows) {
    Configuration c(std::string("acl i ident bob\nacl a src_as 1\nacl group any-of a manager\nacl turned all-of all !a\n\n") + row.rules);
    BOOST_TEST(!c.problems.has(S::error), row.rules);
    BOOST_TEST(c.problems.has(S::restricts) == (row.restricting_line > 0), row.rules);
    for (auto& p : c.problems.list())
      if (p.severity == S::restricts) BOOST_TEST(p.place.line == row.restricting_line, row.rules);
  }
  Configuration c("acl a src_as 1\nhttp_access allow a\nhttp_access deny !a");
  BOOST_TEST(!c.rules.check(Sample().facts, true).allowed);
}

// An allow line never matches by what is not known; a deny line takes it for "no", so its negation denies.
BOOST_AUTO_TEST_CASE(missing_facts_close) {
  Sample sample;
  sample.no_reply();
  auto allowed = [&](const std::string& rules) {
    Configuration c("acl image rep_mime_type ^image/\nacl group any-of image\nacl gone any-of !image\n" + rules);
    return c.rules.check(sample.facts, false).allowed;
  };
  BOOST_TEST(!allowed("http_access allow image\nhttp_access deny all"));
  BOOST_TEST(!allowed("http_access allow !image\nhttp_access deny all"));
  BOOST_TEST(!allowed("http_access allow !group\nhttp_access deny all"));
  BOOST_TEST(!allowed("http_access allow gone\nhttp_access deny all"));
  BOOST_TEST(allowed("http_access deny image\nhttp_access allow all"));
  BOOST_TEST(!allowed("http_access deny !image\nhttp_access allow all"));
  BOOST_TEST(!allowed("http_access deny gone\nhttp_access allow all"));
}

BOOST_AUTO_TEST_CASE(destinations_are_asked_for_only_when_reached) {
  Sample sample;
  sample.facts.destinations_known = false;
  Configuration c(R"(acl lan src 10.0.0.0/8
acl other src 192.0.2.0/24
acl inside dst 203.0.113.0/24
acl group any-of inside
http_access allow other inside
http_access allow lan group
http_access deny all)");
  BOOST_TEST(c.rules.may_need_destinations());
  Verdict v = c.rules.check(sample.facts, false);
  BOOST_TEST(int(v.need) == int(Need::destinations));
  BOOST_TEST(!v.allowed);
  BOOST_TEST(!c.rules.check_fast(sample.facts, true).allowed);
  sample.facts.destinations_known = true;
  BOOST_TEST(c.rules.check(sample.facts, false).rule == "test.conf:6");
  sample.facts.destination_count = 0;  // the name has none
  BOOST_TEST(c.rules.check(sample.facts, false).rule == "test.conf:7");
  sample.facts.destinations_known = false;
  sample.facts.client = *net::Address::parse("198.51.100.1");
  BOOST_TEST(c.rules.check(sample.facts, false).rule == "test.conf:7");
  BOOST_TEST(int(c.rules.check(sample.facts, false).need) == int(Need::nothing));
  BOOST_TEST(!Configuration("acl d dst -n 10.0.0.0/8\nhttp_access allow d").rules.may_need_destinations());
  BOOST_TEST(!Configuration("acl d src 10.0.0.0/8\nhttp_access allow d").rules.may_need_destinations());
  // Negated in a fast check: unknown, so neither way opens.
  Configuration negated("acl inside dst 203.0.113.0/24\nalways_direct allow !inside");
  sample.facts.destinations_known = false;
  BOOST_TEST(!negated.rules.check_fast(sample.facts, true).allowed);
}

// After the first checks have sized the thread's buffers and RE2's caches.
BOOST_AUTO_TEST_CASE(a_check_allocates_nothing) {
  std::string acls;
  for (int i = 0; i < 100; ++i) {
    std::string n = std::to_string(i);
    acls += "acl words url_regex -i word" + n + "x ^http://a" + n + "\\.test/.*exe$ (p|q)" + n + "\n";
    acls += "acl sites dstdomain .site" + n + ".test\nacl nets src 192.0.2." + n + "\nacl away dst 198.51.100." + n + "\n";
  }
  acls += "acl agents browser Chrome ^Opera\nacl night time 03:00-03:01\nacl custom req_header X-Custom ^Three$\nacl dice random 0.001\n";
  acls += "acl group any-of words sites nets\n";
  Configuration c(acls + "http_access deny words\nhttp_access deny sites\nhttp_access deny nets\nhttp_access deny away\nhttp_access deny agents\n"
                         "http_access deny night\nhttp_access deny custom\nhttp_access deny dice !all\nhttp_access deny group\nhttp_access allow all");
  BOOST_TEST(c.clean(), all_of(c.problems));
  Sample sample;
  sample.facts.url = "http://www.example.com/%70ath/word";
  for (int i = 0; i < 3; ++i) BOOST_TEST(c.rules.check(sample.facts, false).allowed);
  unsigned long before = allocations();
  bool allowed = true;
  for (int i = 0; i < 1000; ++i) allowed &= c.rules.check(sample.facts, false).allowed;
  BOOST_TEST(allocations() == before);
  BOOST_TEST(allowed);
}

BOOST_AUTO_TEST_CASE(conditions) {
  AclSet acls;
  config::Problems problems;
  acls.add(statement("acl web port 80", 1), problems);
  acls.add(statement("acl image rep_mime_type ^image/", 2), problems);
  acls.finish(problems);
  Sample sample;
  auto holds = [&](const std::string& line) {
    Rules rules = Rules::compile_conditions(statement(line, 3), 1, acls, problems);
    return rules.check_fast(sample.facts, false).allowed;
  };
  BOOST_TEST(holds("access_log stdio:x web"));
  BOOST_TEST(holds("access_log stdio:x"));
  BOOST_TEST(!holds("access_log stdio:x !web"));
  BOOST_TEST(holds("access_log stdio:x image web"));
  sample.no_reply();
  BOOST_TEST(!holds("access_log stdio:x image"));
  BOOST_TEST(holds("access_log stdio:x !image"));
  BOOST_TEST(problems.list().empty());
  holds("access_log stdio:x nosuch");
  BOOST_TEST(problems.has(S::error));
}

BOOST_AUTO_TEST_SUITE_END()
