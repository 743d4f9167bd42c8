#define BOOST_TEST_DYN_LINK
#include "http/uri.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(uri)

struct AuthorityRow { std::string_view text; bool good; std::string_view host; uint16_t port; bool ipv6; std::string_view section; };
const AuthorityRow kAuthorities[] = {
    {"a", true, "a", 0, false, "3986 3.2.2"},
    {"example.com", true, "example.com", 0, false, "3986 3.2.2"},
    {"example.com.", true, "example.com.", 0, false, "3986 3.2.2"},
    {"EXAMPLE.com:80", true, "EXAMPLE.com", 80, false, "3986 3.2.3"},
    {"a:", true, "a", 0, false, "3986 3.2.3"},
    {"a:65535", true, "a", 65535, false, "3986 3.2.3"},
    {"a:0080", true, "a", 80, false, "3986 3.2.3"},
    {"under_score", true, "under_score", 0, false, "3986 3.2.2"},
    {"127.0.0.1:8080", true, "127.0.0.1", 8080, false, "3986 3.2.2"},
    {"[::1]", true, "::1", 0, true, "3986 3.2.2"},
    {"[::1]:443", true, "::1", 443, true, "3986 3.2.2"},
    {"[::1]:", true, "::1", 0, true, "3986 3.2.2"},
    {"[2001:DB8::1]", true, "2001:DB8::1", 0, true, "3986 3.2.2"},
    {"[::ffff:127.0.0.1]", true, "::ffff:127.0.0.1", 0, true, "3986 3.2.2"},
    {"", false, "", 0, false, "3986 3.2.2"},
    {":80", false, "", 0, false, "9110 4.2.1"},
    {".", false, "", 0, false, "1035 2.3.1"},
    {".a", false, "", 0, false, "1035 2.3.1"},
    {"a..b", false, "", 0, false, "1035 2.3.1"},
    {"a..", false, "", 0, false, "1035 2.3.1"},
    {"a:0", false, "", 0, false, "3986 3.2.3"},
    {"a:65536", false, "", 0, false, "3986 3.2.3"},
    {"a:000080", false, "", 0, false, "3986 3.2.3"},
    {"a:+80", false, "", 0, false, "3986 3.2.3"},
    {"a:80x", false, "", 0, false, "3986 3.2.3"},
    {"a:80:80", false, "", 0, false, "3986 3.2.3"},
    {"a: 80", false, "", 0, false, "3986 3.2.3"},
    {"a b", false, "", 0, false, "3986 3.2.2"},
    {"a/b", false, "", 0, false, "3986 3.2.2"},
    {"a\\b", false, "", 0, false, "3986 3.2.2"},
    {"a?b", false, "", 0, false, "3986 3.2.2"},
    {"a#b", false, "", 0, false, "3986 3.2.2"},
    {"u@a", false, "", 0, false, "9110 4.2.4"},
    {"a%2eb", false, "", 0, false, "3986 3.2.2"},
    {"a\x80", false, "", 0, false, "3986 3.2.2"},
    {"a\x7f", false, "", 0, false, "3986 3.2.2"},
    {"<a>", false, "", 0, false, "3986 3.2.2"},
    {"::1", false, "", 0, false, "3986 3.2.2"},
    {"[::1", false, "", 0, false, "3986 3.2.2"},
    {"[", false, "", 0, false, "3986 3.2.2"},
    {"[]", false, "", 0, false, "3986 3.2.2"},
    {"::1]", false, "", 0, false, "3986 3.2.2"},
    {"[::1]x", false, "", 0, false, "3986 3.2.2"},
    {"[::1]80", false, "", 0, false, "3986 3.2.2"},
    {"[::1%25eth0]", false, "", 0, false, "6874"},
    {"[::g]", false, "", 0, false, "3986 3.2.2"},
    {"[v1.a]", false, "", 0, false, "3986 3.2.2"},
    {"[127.0.0.1]", false, "", 0, false, "3986 3.2.2"},
    {"[1:2:3:4:5:6:7:8:9]", false, "", 0, false, "3986 3.2.2"},
};

BOOST_AUTO_TEST_CASE(authorities) {
  for (const AuthorityRow& row : kAuthorities) {
    BOOST_TEST_CONTEXT("[" << row.text << "] RFC " << row.section) {
      std::optional<Authority> a = parse_authority(row.text);
      BOOST_TEST(a.has_value() == row.good);
      if (!a || !row.good) continue;
      BOOST_TEST(a->host == row.host);
      BOOST_TEST(a->port == row.port);
      BOOST_TEST(a->ipv6_literal == row.ipv6);
    }
  }
  BOOST_TEST(parse_authority(std::string(255, 'a')).has_value());
  BOOST_TEST(!parse_authority(std::string(256, 'a')).has_value());
}

// An absolute-form target and the canonical form it leads to ("-" = refused).
struct AbsoluteRow { std::string_view text, canonical, section; };
const AbsoluteRow kAbsolutes[] = {
    {"http://a/", "http://a/", "9110 4.2.1"},
    {"http://a", "http://a/", "9110 4.2.3"},
    {"HTTP://EXAMPLE.Com/Path?Q", "http://example.com/Path?Q", "3986 6.2.2.1"},
    {"http://a:80/", "http://a/", "9110 4.2.3"},
    {"http://a:/", "http://a/", "3986 6.2.3"},
    {"http://a:443/", "http://a:443/", "9110 4.2.3"},
    {"https://a:443/", "https://a/", "9110 4.2.2"},
    {"https://a:80/", "https://a:80/", "9110 4.2.2"},
    {"ftp://a:21/x", "ftp://a/x", "3986 6.2.3"},
    {"http://a.:8080/x", "http://a:8080/x", "3986 3.2.2"},
    {"http://a?x", "http://a/?x", "9110 4.2.3"},
    {"http://a#x", "http://a/", "9110 4.2.1"},
    {"http://a/b#c?d", "http://a/b", "9112 3.2"},
    {"http://a/b?c#d", "http://a/b?c", "9112 3.2"},
    {"http://u:p@a/", "http://a/", "9110 4.2.4"},
    {"http://@a/", "http://a/", "9110 4.2.4"},
    {"http://u%40x@a/", "http://a/", "3986 3.2.1"},
    {"http://[::1]/x", "http://[::1]/x", "3986 3.2.2"},
    {"http://[2001:DB8::A]:80/x", "http://[2001:db8::a]/x", "3986 3.2.2"},
    {"http://a//b/../c", "http://a//b/../c", "9111 4: as received"},
    {"http://a/%7e", "http://a/%7e", "9111 4: as received"},
    {"http://a/@b:c", "http://a/@b:c", "3986 3.3"},
    {"http://a?@b", "http://a/?@b", "3986 3.4"},
    {"cache_object://a/info", "-", "3986 3.1"},
    {"cache-object://a/info", "cache-object://a/info", "3986 3.1"},
    {"http:/a/", "-", "9110 4.2.1"},
    {"http:a", "-", "9110 4.2.1"},
    {"http//a", "-", "9110 4.2.1"},
    {"://a/", "-", "3986 3.1"},
    {"1http://a/", "-", "3986 3.1"},
    {"ht tp://a/", "-", "3986 3.1"},
    {"http:///x", "-", "9110 4.2.1"},
    {"http://", "-", "9110 4.2.1"},
    {"http://:80/", "-", "9110 4.2.1"},
    {"http://a@b@c/", "-", "3986 3.2.1"},
    {"http://a\\@b/", "-", "3986 3.2"},
    {"http://a b/", "-", "3986 3.2.2"},
    {"http://a/b c", "-", "9112 3.2"},
    {"http://a/\x01", "-", "9112 3.2"},
    {"http://a/\xc3\xa4", "http://a/\xc3\xa4", "as it is: 3986 2 has no such byte"},
    {"http://[::1/x", "-", "3986 3.2.2"},
    {"http://a:99999/", "-", "3986 3.2.3"},
    {"", "-", "3986 3"},
    {"/x", "-", "9112 3.2.2"},
    {"*", "-", "9112 3.2.2"},
};

std::string canonical_text(std::string_view text) {
  std::optional<Uri> uri = parse_absolute(text);
  if (!uri) return "-";
  std::string out = "?";
  canonical(uri->scheme, uri->authority.host, uri->authority.ipv6_literal, uri->authority.port, uri->path_query, out);
  return out;
}

BOOST_AUTO_TEST_CASE(absolute_and_canonical) {
  for (const AbsoluteRow& row : kAbsolutes) {
    BOOST_TEST_CONTEXT("[" << row.text << "] RFC " << row.section) {
      std::string once = canonical_text(row.text);
      BOOST_TEST(once == row.canonical);
      if (once != "-") BOOST_TEST(canonical_text(once) == once);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts) {
  std::optional<Uri> uri = parse_absolute("http://user:pw@Host:81/p?q#f");
  BOOST_REQUIRE(uri);
  BOOST_TEST(uri->scheme == "http");
  BOOST_TEST(uri->userinfo == "user:pw");
  BOOST_TEST(uri->authority.host == "Host");
  BOOST_TEST(uri->authority.port == 81);
  BOOST_TEST(uri->path_query == "/p?q");
}

BOOST_AUTO_TEST_CASE(default_ports) {
  BOOST_TEST(default_port("http") == 80);
  BOOST_TEST(default_port("HTTPS") == 443);
  BOOST_TEST(default_port("ftp") == 21);
  BOOST_TEST(default_port("gopher") == 0);
}

// RFC 3986 5.4, the normal and abnormal examples that have a hierarchy, and a few of HTTP's.
struct ReferenceRow { std::string_view reference, result; };
const ReferenceRow kReferences[] = {
    {"g", "http://a/b/c/g"},         {"./g", "http://a/b/c/g"},        {"g/", "http://a/b/c/g/"},
    {"/g", "http://a/g"},            {"//g", "http://g/"},             {"?y", "http://a/b/c/d;p?y"},
    {"g?y", "http://a/b/c/g?y"},     {"#s", "http://a/b/c/d;p?q"},     {"g#s", "http://a/b/c/g"},
    {"g?y#s", "http://a/b/c/g?y"},   {";x", "http://a/b/c/;x"},        {"g;x", "http://a/b/c/g;x"},
    {"", "http://a/b/c/d;p?q"},      {".", "http://a/b/c/"},           {"./", "http://a/b/c/"},
    {"..", "http://a/b/"},           {"../", "http://a/b/"},           {"../g", "http://a/b/g"},
    {"../..", "http://a/"},          {"../../", "http://a/"},          {"../../g", "http://a/g"},
    {"../../../g", "http://a/g"},    {"../../../../g", "http://a/g"},  {"/./g", "http://a/g"},
    {"/../g", "http://a/g"},         {"g.", "http://a/b/c/g."},        {".g", "http://a/b/c/.g"},
    {"g..", "http://a/b/c/g.."},     {"..g", "http://a/b/c/..g"},      {"./../g", "http://a/b/g"},
    {"./g/.", "http://a/b/c/g/"},    {"g/./h", "http://a/b/c/g/h"},    {"g/../h", "http://a/b/c/h"},
    {"g;x=1/./y", "http://a/b/c/g;x=1/y"}, {"g?y/./x", "http://a/b/c/g?y/./x"}, {"g?y/../x", "http://a/b/c/g?y/../x"},
    {"http://X:80", "http://x/"},    {"HTTPS://x/../y", "https://x/y"}, {"//h:81/z", "http://h:81/z"},
    {"/a//b", "http://a/a//b"},      {"/x:y", "http://a/x:y"},
    {"g:h", "-"},                    {"mailto:x@y", "-"},              {"http:g", "-"},
    {"/a b", "-"},                   {"/\x7f", "-"},                   {"//", "-"},
    {"http://a:b:c/", "-"},          {"/\r\nX: y", "-"},
};

BOOST_AUTO_TEST_CASE(references) {
  for (const ReferenceRow& row : kReferences)
    BOOST_TEST(resolve_reference("http://a/b/c/d;p?q", row.reference).value_or("-") == row.result, "[" << row.reference << "]");
  BOOST_TEST(resolve_reference("http://a/", "g").value_or("-") == "http://a/g");
  BOOST_TEST(resolve_reference("http://[::1]:81/x?y", "z").value_or("-") == "http://[::1]:81/z");
  BOOST_TEST(!resolve_reference("/x", "y").has_value());
}

BOOST_AUTO_TEST_CASE(origins) {
  BOOST_TEST(same_origin("http://a/x", "http://a/y?z"));
  BOOST_TEST(!same_origin("http://a/x", "https://a/x"));
  BOOST_TEST(!same_origin("http://a/x", "http://a:81/x"));
  BOOST_TEST(!same_origin("http://a/x", "http://ab/x"));
  BOOST_TEST(!same_origin("", ""));
}

BOOST_AUTO_TEST_CASE(percent) {
  struct Row { std::string_view text, decoded; bool good; };
  const Row rows[] = {{"", "", true}, {"a", "a", true}, {"a%20b", "a b", true}, {"%4A%4a", "JJ", true}, {"%25", "%", true},
                      {"%", "", false}, {"%2", "", false}, {"%2g", "", false}, {"%g2", "", false}, {"a%%20", "", false}};
  for (const Row& row : rows) {
    std::optional<std::string> out = percent_decode(row.text);
    BOOST_TEST(out.has_value() == row.good, row.text);
    if (out) BOOST_TEST(*out == row.decoded);
  }
}

BOOST_AUTO_TEST_SUITE_END()
