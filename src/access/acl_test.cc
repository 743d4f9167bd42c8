// Every ACL type against its values: each row says which lines match the sample
// transaction, so a type whose value is ignored fails here.
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <ctime>

#include "access/test_support.h"

using namespace loligo;
using namespace loligo::access;
using namespace loligo::access::test;

namespace {

bool matches(const std::string& acl, const Facts& facts, bool* clean = nullptr) {
  Configuration c("acl x " + acl + "\nhttp_access allow x\nhttp_access deny all");
  if (clean) *clean = c.clean();
  Verdict v = c.rules.check(facts, false);
  BOOST_TEST(int(v.need) == 0, acl);
  return v.allowed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_acl)

BOOST_AUTO_TEST_CASE(every_type_heeds_its_values) {
  struct Row {
    std::string acl;
    bool expected;
  };
  const Row rows[] = {
      {"src 10.0.0.0/8", true}, {"src 11.0.0.0/8", false}, {"src 10.1.2.3", true}, {"src 10.1.2.4", false}, {"src ipv6", false}, {"src all", true},
      {"src 192.0.2.1 10.1.2.0-10.1.2.9", true},
      {"dst 203.0.113.0/24", true}, {"dst 203.0.112.0/24", false}, {"dst 2001:db8::/32", true}, {"dst -n 203.0.113.0/24", false},
      {"localip 10.0.0.1", true}, {"localip 10.0.0.2", false}, {"myip 10.0.0.1", true},
      {"localport 3128", true}, {"localport 3129", false}, {"myport 3000-3200", true},
      {"myportname office", true}, {"myportname Office", false}, {"myportname lab office", true},
      {"dstdomain .example.com", true}, {"dstdomain example.com", false}, {"dstdomain www.example.com", true}, {"dstdomain .example.org", false},
      {"dstdom_regex ^www\\.", true}, {"dstdom_regex ^WWW\\.", false}, {"dstdom_regex -i ^WWW\\.", true}, {"dstdom_regex org$", false},
      {"port 80", true}, {"port 81 1-79", false}, {"port 443 70-90", true},
      {"method GET", true}, {"method POST HEAD", false}, {"method POST GET", true},
      {"proto HTTP", true}, {"proto FTP HTTPS", false},
      {"url_regex /path/", false}, {"url_regex -i /path/", true}, {"url_regex -i /nothing/ +i /path/", false}, {"url_regex ^http://www\\.", true},
      {"urlpath_regex ^/Path", true}, {"urlpath_regex ^http", false}, {"urlpath_regex \\?q=[0-9]$", true}, {"urlpath_regex \\?q=[2-9]$", false},
      {"browser Mozilla/[45]", true}, {"browser ^Chrome", false}, {"browser -i mozilla", true},
      {"referer_regex from\\.example", true}, {"referer_regex ^https", false},
      {"req_header X-Custom ^Two$", true}, {"req_header X-Custom ^two$", false}, {"req_header X-Custom -i ^two$", true}, {"req_header -i X-Custom ^two$", true},
      {"req_header Host example", true}, {"req_header X-Other .", false}, {"req_header Accept .", false},
      {"rep_header Server ^Apache", true}, {"rep_header Server ^nginx", false}, {"rep_header User-Agent .", false},
      {"req_mime_type ^text/", true}, {"req_mime_type ^image/", false},
      {"rep_mime_type ^image/", true}, {"rep_mime_type ^text/", false},
      {"http_status 404", true}, {"http_status 200", false}, {"http_status 400-403", false}, {"http_status 400-", true}, {"http_status 500-", false},
      {"http_status 404 400-499", true}, {"http_status 200 200-299", false},
      {"maxconn 4", true}, {"maxconn 5", false},
      {"any-of all", true}, {"any-of manager", false}, {"any-of manager all", true}, {"any-of !all !manager", true},
      {"all-of all", true}, {"all-of all manager", false}, {"all-of all !manager", true},
      {"peername parent1", true}, {"peername parent2", false},
      {"peername_regex ^parent[0-9]$", true}, {"peername_regex ^child", false},
      {"hier_code FIRSTUP_PARENT", true}, {"hier_code HIER_FIRSTUP_PARENT", true}, {"hier_code DIRECT", false},
      {"has request", true}, {"has response", true},
      {"time 00:00-24:00", true}, {"time SMTWHFA", true},
  };
  Sample sample;
  for (const Row& row : rows) {
    bool clean = false;
    BOOST_TEST(matches(row.acl, sample.facts, &clean) == row.expected, row.acl);
    BOOST_TEST(clean, row.acl);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_fact_does_not_match) {
  Facts nothing;
  nothing.destinations_known = nothing.reverse_name_known = true;
  for (std::string acl : {"src 10.0.0.0/8", "dst all", "localip all", "localport 0-65535", "myportname x", "dstdomain .a", "dstdom_regex .", "port 0-65535", "method GET",
                          "proto HTTP", "url_regex .", "urlpath_regex .", "time 00:00-24:00", "browser .", "referer_regex .", "req_header Host .", "rep_header Host .",
                          "req_mime_type .", "rep_mime_type .", "http_status 0-999", "maxconn 0", "peername x", "peername_regex .", "hier_code DIRECT", "has request"})
    BOOST_TEST(!matches(acl, nothing), acl);
}

BOOST_AUTO_TEST_CASE(times_are_local) {
  setenv("TZ", "UTC-2", 1);  // two hours east
  tzset();
  struct Row {
    const char* acl;
    base::WallSeconds now;
    bool expected;
  };
  // 1700000000 is Tuesday 2023-11-14 22:13:20 UTC: Wednesday 00:13 there.
  const base::WallSeconds tuesday = 1700000000, hour = 3600;
  const Row rows[] = {
      {"time W", tuesday, true},           {"time T", tuesday, false},           {"time D", tuesday, true},
      {"time A S", tuesday, false},        {"time W 00:00-00:30", tuesday, true}, {"time W 00:14-00:30", tuesday, false},
      {"time T 00:00-24:00", tuesday, false}, {"time 0:13-0:13", tuesday, true},  {"time W 08:00-17:00", tuesday + 9 * hour, true},
      {"time W 08:00-17:00", tuesday + 20 * hour, false}, {"time 01:00-02:00 W", tuesday, true}, {"time M 00:00-24:00 W 09:00-10:00", tuesday + 9 * hour, true},
      {"time M 00:00-24:00 W 09:00-10:00", tuesday, false}, {"time MT W", tuesday, true}, {"time MTWHF 06:00-15:00", tuesday + 9 * hour, true},
  };
  Sample sample;
  for (const Row& row : rows) {
    sample.facts.now = row.now;
    BOOST_TEST(matches(row.acl, sample.facts) == row.expected, row.acl);
  }
  unsetenv("TZ");
  tzset();
}

BOOST_AUTO_TEST_CASE(random_keeps_its_probability) {
  Sample sample;
  for (auto [acl, least, most] : {std::tuple{"0.25", 4500, 5500}, {"1/4", 4500, 5500}, {"1:3", 4500, 5500}, {"3:1", 14500, 15500}, {"0.9", 17600, 18400}, {"1/1", 20000, 20000}, {"0", 0, 0}}) {
    Configuration c(std::string("acl r random ") + acl + "\nhttp_access allow r");
    BOOST_TEST(c.clean());
    int count = 0;
    for (int i = 0; i < 20000; ++i) count += c.rules.check(sample.facts, false).allowed;
    BOOST_TEST((count >= least && count <= most), acl << ": " << count);
  }
}

// The host of the URL is an address: tried as it is, then by its reverse name.
BOOST_AUTO_TEST_CASE(address_hosts) {
  Sample sample;
  sample.facts.host = "192.0.2.5";
  sample.facts.host_is_address = true;
  sample.facts.destinations_known = false;
  BOOST_TEST(matches("dst 192.0.2.0/24", sample.facts));  // no lookup needed
  BOOST_TEST(!matches("dst 192.0.3.0/24", sample.facts));
  BOOST_TEST(matches("dstdomain 192.0.2.5", sample.facts));
  BOOST_TEST(!matches("dstdomain -n .example.net", sample.facts));
  Configuration c("acl d dstdomain .example.net\nhttp_access allow d");
  BOOST_TEST(int(c.rules.check(sample.facts, false).need) == int(Need::reverse_name));
  BOOST_TEST(int(c.rules.check_fast(sample.facts, false).need) == int(Need::nothing));
  BOOST_TEST(!c.rules.check_fast(sample.facts, false).allowed);
  sample.facts.reverse_name_known = true;
  sample.facts.reverse_name = "host.EXAMPLE.net.";
  BOOST_TEST(c.rules.check(sample.facts, false).allowed);
  BOOST_TEST(matches("dstdom_regex -i ^host\\.example", sample.facts));
  sample.facts.reverse_name = "none";
  BOOST_TEST(!c.rules.check(sample.facts, false).allowed);
  BOOST_TEST(matches("dstdomain none", sample.facts));
  sample.facts.reverse_name = "";
  BOOST_TEST(matches("dstdomain none", sample.facts));
  sample.facts.host = "2001:db8::5";
  BOOST_TEST(matches("dstdomain [2001:db8::5]", sample.facts));
  BOOST_TEST(matches("dst 2001:db8::/32", sample.facts));
}

BOOST_AUTO_TEST_CASE(urls_are_decoded_when_every_triplet_is_valid) {
  Sample sample;
  auto with = [&](std::string_view url, const std::string& acl) {
    sample.facts.url = url;
    sample.facts.path = url.substr(url.find('/', 7));
    return matches(acl, sample.facts);
  };
  BOOST_TEST(with("http://a.example/%61dmin", "url_regex /admin"));
  BOOST_TEST(with("http://a.example/%61dmin", "urlpath_regex ^/admin"));
  BOOST_TEST(!with("http://a.example/%61dmin%zz", "url_regex /admin"));
  BOOST_TEST(with("http://a.example/%61dmin%zz", "url_regex /%61dmin%zz$"));
  BOOST_TEST(!with("http://a.example/%61dmin%6", "urlpath_regex admin"));
  BOOST_TEST(with("http://a.example/%00x", "urlpath_regex ^/[^a]x$"));
}

BOOST_AUTO_TEST_CASE(methods_and_connect) {
  Sample sample;
  sample.facts.method = http::Method::connect;
  sample.facts.method_text = "CONNECT";
  sample.facts.scheme = "";
  sample.facts.url = "www.example.com:443";
  sample.facts.path = "";
  BOOST_TEST(matches("any-of CONNECT", sample.facts));
  BOOST_TEST(!matches("proto HTTPS HTTP", sample.facts));
  BOOST_TEST(!matches("urlpath_regex .", sample.facts));
  BOOST_TEST(matches("url_regex :443$", sample.facts));
  sample.facts.method = http::Method::other;
  sample.facts.method_text = "BREW";
  BOOST_TEST(matches("method BREW", sample.facts));
  BOOST_TEST(!matches("method brew GET", sample.facts));
  Configuration purge("acl p method PURGE"), lower("acl p method GET purge"), without("acl p method GET");
  BOOST_TEST(purge.acls.has_purge_method());
  BOOST_TEST(lower.acls.has_purge_method());
  BOOST_TEST(says(lower.problems, config::Severity::warning, "PURGE"));
  BOOST_TEST(!without.acls.has_purge_method());
}

BOOST_AUTO_TEST_CASE(predefined_ones_and_their_old_definitions) {
  Configuration c(R"(acl manager proto cache_object
acl all src 0.0.0.0/0.0.0.0
acl all src 0.0.0.0/0
acl all src all
acl all src
acl localhost src 127.0.0.1/32
acl localhost src 127.0.0.1/255.255.255.255 ::1
acl to_localhost dst 127.0.0.0/8 0.0.0.0/32 ::1
acl CONNECT method CONNECT
acl manager url_regex -i ^cache_object:// +i ^https?://[^/]+/squid-internal-mgr/
http_access allow localhost manager
http_access deny to_linklocal
http_access deny to_localhost
http_access allow all)");
  BOOST_TEST(c.clean(), all_of(c.problems));
  Sample sample;
  auto rule = [&] { return std::string(c.rules.check(sample.facts, false).rule); };
  BOOST_TEST(rule() == "test.conf:14");
  sample.facts.client = *net::Address::parse("::1");
  sample.facts.url = "cache_object://localhost/info";
  BOOST_TEST(rule() == "test.conf:11");
  sample.facts.url = "http://localhost:3128/squid-internal-mgr/info";
  BOOST_TEST(rule() == "test.conf:11");
  sample.facts.url = "http://localhost/x/squid-internal-mgr/info";
  sample.destinations = {*net::Address::parse("127.0.0.5")};
  sample.facts.destinations = sample.destinations.data(), sample.facts.destination_count = 1;
  BOOST_TEST(rule() == "test.conf:13");
  sample.destinations = {*net::Address::parse("fe80::1")};
  BOOST_TEST(rule() == "test.conf:12");

  Configuration own("acl to_linklocal src 10.0.0.0/8\nhttp_access allow to_linklocal");
  BOOST_TEST(own.rules.check(sample.facts, false).allowed == false);
  BOOST_TEST(says(own.problems, config::Severity::warning, "predefined"));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  using S = config::Severity;
  struct Row {
    std::string text;
    S severity;
    const char* part;
  };
  const Row rows[] = {
      {"acl a srcs 10.0.0.0/8", S::error, "src"},
      {"acl a dstdomian .x.test", S::error, "did you mean dstdomain?"},
      {"acl a", S::error, "name and a type"},
      {"acl !a src all", S::error, "\"!\""},
      {"acl a src 10.0.0.1\nacl a port 80", S::error, "already has the type src (it was defined in test.conf:1)"},
      {"acl all port 80", S::error, "predefined"},
      {"acl a src", S::warning, "no values and never matches"},
      {"acl a src 10.0.0.300", S::error, "not an address"},
      {"acl a src 10.0.0.1#c", S::error, "not an address"},
      {"acl a src {{lan}}", S::error, "not an address"},
      {"acl a src 10.0.0.0/33", S::error, "/32"},
      {"acl a src 10.0.0.0/255.0.255.0", S::error, "contiguous"},
      {"acl a src 10.0.0.9-10.0.0.1", S::error, "backwards"},
      {"acl a src 10.0.0.1-::1", S::error, "mixes"},
      {"acl a src 198.18.0.0/8", S::warning, "cuts off"},
      {"acl a src 0.0.0.0/0", S::warning, "all"},
      {"acl a src nowhere.example", S::missing, "nowhere.example"},
      {"acl a src -n 10.0.0.1", S::error, "no option"},
      {"acl a url_regex -n x", S::error, "write --"},
      {"acl a url_regex (?=x)", S::error, "lookahead"},
      {"acl a url_regex (?i)x", S::error, "-i"},
      {"acl a url_regex (a)\\1", S::error, "back-reference"},
      {"acl a url_regex *.com", S::error, "nothing before it"},
      {"acl a url_regex [[:foo:]]", S::error, "class"},
      {"acl a url_regex x\\", S::error, "backslash"},
      {"acl a url_regex \\d+", S::warning, "[0-9]"},
      {"acl a dstdomain *.example.com", S::error, ".example.com"},
      {"acl a dstdomain .example.com .eu.example.com", S::warning, "already covered"},
      {"acl a dstdomain http://x.test/", S::warning, "not a domain name"},
      {"acl a port http", S::error, "443"},
      {"acl a port 1-70000", S::error, "443"},
      {"acl a port 90-80", S::error, "443"},
      {"acl a http_status abc", S::error, "404"},
      {"acl a time 8-17", S::error, "08:00"},
      {"acl a time 22:00-06:00", S::error, "22:00-24:00"},
      {"acl a time XYZ", S::error, "days"},
      {"acl a time 24:30-25:00", S::error, "08:00"},
      {"acl a maxconn many", S::error, "connections"},
      {"acl a random 2", S::error, "probability"},
      {"acl a random 1/0", S::error, "probability"},
      {"acl a has body", S::error, "request"},
      {"acl a req_header", S::error, "name of a header field"},
      {"acl a any-of nosuch", S::error, "no ACL"},
      {"acl a any-of all\nacl a any-of a", S::error, "hold itself"},
      {"acl a any-of all\nacl b any-of a\nacl a any-of b", S::error, "hold itself"},
      {"acl a ident REQUIRED", S::warning, "obsolete"},
      {"acl a src_as 1241", S::warning, "never matches"},
  };
  for (const Row& row : rows) {
    Configuration c(row.text);
    BOOST_TEST(says(c.problems, row.severity, row.part), row.text << "\n" << all_of(c.problems));
    BOOST_TEST(c.problems.list().size() <= 2, row.text << "\n" << all_of(c.problems));
    if (row.severity != S::error) BOOST_TEST(!c.problems.has(S::error), row.text << "\n" << all_of(c.problems));
    for (auto& p : c.problems.list()) BOOST_TEST(p.place.line > 0, row.text);
  }
}

BOOST_AUTO_TEST_CASE(hyphens_and_options) {
  Sample sample;
  sample.facts.url = "http://a.example/-foo";
  BOOST_TEST(matches("url_regex -- -foo$", sample.facts));
  BOOST_TEST(matches("url_regex -i -- -FOO$", sample.facts));
  BOOST_TEST(!matches("url_regex -i +i -- -FOO$", sample.facts));
  sample.facts.host = "a.example";
  BOOST_TEST(matches("dstdom_regex -in ^A\\.", sample.facts));
}

BOOST_AUTO_TEST_CASE(has) {
  Sample sample;
  sample.no_reply();
  BOOST_TEST(matches("has request", sample.facts));
  BOOST_TEST(!matches("has response", sample.facts));
  BOOST_TEST(matches("has response request", sample.facts));
  BOOST_TEST(matches("has ALE", sample.facts));
}

BOOST_AUTO_TEST_CASE(groups) {
  Sample sample;
  Configuration c(R"(acl lan src 10.0.0.0/8
acl web port 80 443
acl night time 23:00-23:59
acl both all-of lan web
acl both all-of night
acl nested any-of !both night
acl nested any-of both
http_access allow both
http_access deny nested)");
  BOOST_TEST(c.clean(), all_of(c.problems));
  BOOST_TEST(c.rules.check(sample.facts, false).rule == "test.conf:8");
  sample.facts.port = 8080;
  BOOST_TEST(c.rules.check(sample.facts, false).rule == "test.conf:9");
  // Sixteen levels are allowed, no more.
  std::string deep = "acl g0 any-of all\n";
  for (int i = 1; i <= 15; ++i) deep += "acl g" + std::to_string(i) + " any-of g" + std::to_string(i - 1) + " g" + std::to_string(i - 1) + "\n";
  BOOST_TEST(Configuration(deep).clean());
  for (int i = 16; i <= 80; ++i) deep += "acl g" + std::to_string(i) + " any-of g" + std::to_string(i - 1) + " g" + std::to_string(i - 1) + "\n";
  BOOST_TEST(says(Configuration(deep + "http_access allow g80").problems, config::Severity::error, "16 deep"));
}

BOOST_AUTO_TEST_CASE(host_names_resolve_at_start) {
  Sample sample;
  sample.facts.client = *net::Address::parse("2001:db8::1");
  BOOST_TEST(matches("src two.example", sample.facts));
  sample.facts.client = *net::Address::parse("::ffff:192.0.2.1");
  BOOST_TEST(matches("src two.example", sample.facts));
  sample.facts.client = *net::Address::parse("192.0.2.2");
  BOOST_TEST(!matches("src two.example", sample.facts));
  BOOST_TEST(matches("src two.example/24", sample.facts));
}

BOOST_AUTO_TEST_SUITE_END()
