#define BOOST_TEST_DYN_LINK
#include "client/target.h"

#include <boost/test/unit_test.hpp>

using namespace loligo;
using namespace loligo::client;
using http::Method;

namespace {

Port forward_port() {
  Port p;
  p.port = 3128;
  return p;
}
Port accel_port() {
  Port p;
  p.port = 80;
  p.mode = Port::Mode::accel;
  return p;
}

Target of(const Port& port, std::string_view target, std::string_view host = "", Method method = Method::get, uint16_t local_port = 3128) {
  return effective_target(port, method, target, host, local_port);
}

const char* word(TargetError e) {
  static const char* const kWords[] = {"none", "bad_url", "bad_authority", "unsupported_scheme", "missing_site"};
  return kWords[unsigned(e)];
}
const char* word(TargetKind k) {
  static const char* const kWords[] = {"resource", "tunnel", "manager", "internal", "server"};
  return kWords[unsigned(k)];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(target)

BOOST_AUTO_TEST_CASE(absolute_form_on_a_forward_port) {
  struct Row { const char* target; const char* url; const char* host_field; const char* path; uint16_t port; };
  const Row rows[] = {
      {"http://a.example/x?q=1", "http://a.example/x?q=1", "a.example", "/x?q=1", 80},
      {"HTTP://A.Example./", "http://a.example/", "a.example", "/", 80},
      {"http://a.example", "http://a.example/", "a.example", "/", 80},
      {"http://a.example?q", "http://a.example/?q", "a.example", "/?q", 80},
      {"http://a.example:80/", "http://a.example/", "a.example", "/", 80},
      {"http://a.example:8080/", "http://a.example:8080/", "a.example:8080", "/", 8080},
      {"https://a.example/", "https://a.example/", "a.example", "/", 443},
      {"https://a.example:80/", "https://a.example:80/", "a.example:80", "/", 80},
      {"http://[2001:DB8::1]:81/y", "http://[2001:db8::1]:81/y", "[2001:db8::1]:81", "/y", 81},
  };
  for (const Row& row : rows) {
    Target t = of(forward_port(), row.target, "other.example");   // Host has no say (RFC 9112 section 3.2.2)
    BOOST_TEST(word(t.error) == word(TargetError::none), row.target);
    BOOST_TEST(word(t.kind) == word(TargetKind::resource), row.target);
    BOOST_TEST(t.url == row.url, row.target << " gave " << t.url);
    BOOST_TEST(t.host_field == row.host_field, row.target << " gave " << t.host_field);
    BOOST_TEST(t.path_query == row.path, row.target);
    BOOST_TEST(t.port == row.port, row.target);
  }
  Target literal = of(forward_port(), "http://[2001:db8::1]/");
  BOOST_TEST(literal.ipv6_literal);
  BOOST_TEST(literal.host == "2001:db8::1");
  BOOST_TEST(of(forward_port(), "http://user:pw@a.example/").userinfo == "user:pw");
  BOOST_TEST(of(forward_port(), "http://user:pw@a.example/").url == "http://a.example/");
}

BOOST_AUTO_TEST_CASE(what_a_forward_port_refuses) {
  struct Row { const char* target; TargetError error; };
  const Row rows[] = {
      {"", TargetError::bad_url},
      {"/x", TargetError::bad_url},                // names no host to trust
      {"http:///x", TargetError::bad_url},
      {"http://", TargetError::bad_url},
      {"http://a b/", TargetError::bad_url},
      {"http://a.example:99999/", TargetError::bad_url},
      {"nonsense", TargetError::bad_url},
      {"gopher://a.example:70/", TargetError::unsupported_scheme},
      {"ftp://a.example/", TargetError::unsupported_scheme},
  };
  for (const Row& row : rows) {
    Target t = of(forward_port(), row.target, "a.example");
    BOOST_TEST(word(t.error) == word(row.error), "'" << row.target << "' gave " << word(t.error));
  }
}

BOOST_AUTO_TEST_CASE(connect_names_a_tunnel) {
  struct Row { const char* target; const char* url; };
  for (const Row& row : {Row{"A.example:443", "a.example:443"}, Row{"a.example.:22", "a.example:22"}, Row{"[::1]:443", "[::1]:443"}}) {
    Target t = of(forward_port(), row.target, "", Method::connect);
    BOOST_TEST(word(t.kind) == word(TargetKind::tunnel), row.target);
    BOOST_TEST(word(t.error) == word(TargetError::none), row.target);
    BOOST_TEST(t.url == row.url, row.target << " gave " << t.url);
  }
  for (const char* bad : {"a.example", "a.example:0", "a.example:", ":443", "http://a.example:443/", "a.example:99999", ""})
    BOOST_TEST(word(of(forward_port(), bad, "", Method::connect).error) == word(TargetError::bad_authority), bad);
  BOOST_TEST(word(of(accel_port(), "a.example:443", "a.example:443", Method::connect).error) == word(TargetError::bad_url));
}

BOOST_AUTO_TEST_CASE(an_accelerator_chooses_the_site) {
  Port vhost = accel_port(), fixed = accel_port(), named = accel_port(), own = accel_port(), given = accel_port(), tls = accel_port(),
       spoken = accel_port();
  fixed.vhost = false;
  fixed.defaultsite = "site.example";
  named.defaultsite = "site.example:8080";
  own.vport = 0;
  given.vport = 8000;
  tls.tls = true;
  spoken.protocol = "HTTPS";
  struct Row { const char* what; const Port& port; const char* target; const char* host; const char* url; };
  const Row rows[] = {
      {"Host", vhost, "/x", "A.example", "http://a.example/x"},
      {"Host with a port", vhost, "/x", "a.example:81", "http://a.example:81/x"},
      {"no-vhost", fixed, "/x", "a.example", "http://site.example/x"},
      {"defaultsite for a request without Host", named, "/x", "", "http://site.example:8080/x"},
      {"Host wins over defaultsite", named, "/x", "a.example", "http://a.example/x"},
      {"vport alone: this port's number", own, "/x", "a.example:81", "http://a.example:3128/x"},
      {"vport=N", given, "/x", "a.example:81", "http://a.example:8000/x"},
      {"https_port", tls, "/x", "a.example", "https://a.example/x"},
      {"protocol=", spoken, "/x", "a.example", "https://a.example/x"},
      {"absolute form", vhost, "http://b.example/x", "a.example", "http://b.example/x"},
      {"absolute form with no-vhost", fixed, "http://b.example/x", "b.example", "http://site.example/x"},
  };
  for (const Row& row : rows) {
    Target t = of(row.port, row.target, row.host);
    BOOST_TEST(word(t.error) == word(TargetError::none), row.what);
    BOOST_TEST(t.url == row.url, row.what << ": " << t.url);
  }
  BOOST_TEST(word(of(accel_port(), "/x", "").error) == word(TargetError::missing_site));
  BOOST_TEST(word(of(accel_port(), "/x", "a b").error) == word(TargetError::bad_url));
}

BOOST_AUTO_TEST_CASE(the_proxy_itself) {
  struct Row { const Port port; const char* target; const char* host; TargetKind kind; };
  const Row rows[] = {
      {forward_port(), "cache_object://localhost/info", "", TargetKind::manager},
      {forward_port(), "/squid-internal-mgr/info", "127.0.0.1:3128", TargetKind::manager},
      {forward_port(), "/squid-internal-mgr", "", TargetKind::manager},
      {accel_port(), "/squid-internal-mgr/info", "localhost", TargetKind::manager},
      {forward_port(), "/squid-internal-static/icons/x.gif", "", TargetKind::internal},
      {forward_port(), "*", "a.example", TargetKind::server},
      {accel_port(), "*", "a.example", TargetKind::server},
  };
  for (const Row& row : rows) {
    Target t = of(row.port, row.target, row.host, row.kind == TargetKind::server ? Method::options : Method::get);
    BOOST_TEST(word(t.kind) == word(row.kind), row.target);
    BOOST_TEST(word(t.error) == word(TargetError::none), row.target);
  }
  Target m = of(forward_port(), "cache_object://LocalHost/menu@secret");
  BOOST_TEST(m.host == "localhost");
  BOOST_TEST(m.port == 3128);
  Target with_port = of(forward_port(), "cache_object://[::1]:8080/menu");
  BOOST_TEST((with_port.host == "::1" && with_port.port == 8080));
  BOOST_TEST(m.scheme == "cache_object");
  BOOST_TEST(m.host == "localhost");
  BOOST_TEST(m.path_query == "/menu@secret");
  BOOST_TEST(of(forward_port(), "cache_object://localhost").path_query == "/");
  Target star = of(accel_port(), "*", "a.example", Method::options);
  BOOST_TEST(star.path_query == "*");
  BOOST_TEST(star.host == "a.example");
}

// Whatever a client sends: an answer, never more than was given, and no control characters in what goes on.
BOOST_AUTO_TEST_CASE(odd_bytes_do_no_harm) {
  for (std::string_view start : {"http://a.example/", "/", "http://", "cache_object://", "/squid-internal-mgr/", ""})
    for (int c = 1; c < 256; ++c)
      for (const Port& port : {forward_port(), accel_port()}) {
        std::string text = std::string(start) + char(c) + "x";
        Target t = of(port, text, std::string("h") + char(c));
        if (t.error != TargetError::none || t.kind != TargetKind::resource) continue;
        BOOST_TEST(t.host_field.find_first_of("\r\n \t/\\") == std::string::npos, "byte " << c);
        BOOST_TEST(!t.host.empty());
        BOOST_TEST(!t.path_query.empty());
      }
}

BOOST_AUTO_TEST_SUITE_END()
