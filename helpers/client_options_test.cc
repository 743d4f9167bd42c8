#include "helpers/client_options.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <vector>

using namespace loligo::helpers;

static ParsedOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "loligoclient");
  return parse_client_options(int(words.size()), words.data());
}

BOOST_AUTO_TEST_CASE(defaults) {
  ClientOptions o = parse({"mgr:info"}).options;
  BOOST_TEST(o.host == "localhost");
  BOOST_TEST(o.port == "3128");
  BOOST_TEST(o.method == "GET");
  BOOST_TEST(o.version == "1.0");
  BOOST_TEST(o.url == "mgr:info");
  BOOST_TEST(o.user_agent.starts_with("loligoclient/"));
  BOOST_TEST(o.accept);
}

BOOST_AUTO_TEST_CASE(every_option_reaches_its_field) {
  ParsedOptions p = parse({"-h", "h1", "-p", "81", "-s", "-r", "-vv", "-k", "-a", "-A", "ua", "-H", "X: 1\\n", "-i", "7", "-j", "j", "-l",
                           "127.0.0.9", "-m", "PURGE", "-P", "f", "-T", "9", "-u", "u", "-w", "w", "-U", "U", "-W", "W", "-V", "1.1",
                           "--ping", "-g", "3", "-I", "2", "http://x/"});
  BOOST_TEST(p.error == "");
  const ClientOptions& o = p.options;
  BOOST_TEST(o.host == "h1");
  BOOST_TEST(o.port == "81");
  BOOST_TEST(o.quiet);
  BOOST_TEST(o.reload);
  BOOST_TEST(o.verbosity == 2);
  BOOST_TEST(o.keep_alive);
  BOOST_TEST(!o.accept);
  BOOST_TEST(o.user_agent == "ua");
  BOOST_TEST(o.extra_fields == "X: 1\n");
  BOOST_TEST(o.modified_since == 7);
  BOOST_TEST(*o.host_field == "j");
  BOOST_TEST(o.local_address == "127.0.0.9");
  BOOST_TEST(o.method == "PURGE");
  BOOST_TEST(o.payload_path == "f");
  BOOST_TEST(o.timeout_seconds == 9);
  BOOST_TEST(*o.proxy_user == "u");
  BOOST_TEST(*o.proxy_password == "w");
  BOOST_TEST(*o.www_user == "U");
  BOOST_TEST(*o.www_password == "W");
  BOOST_TEST(o.version == "1.1");
  BOOST_TEST(o.ping);
  BOOST_TEST(o.ping_count == 3u);
  BOOST_TEST(o.ping_interval_seconds == 2u);
}

BOOST_AUTO_TEST_CASE(purge_is_a_word_of_its_own) {
  ParsedOptions p = parse({"purge", "-p", "81", "--soft", "http://x/a"});
  BOOST_TEST(p.error == "");
  BOOST_TEST(p.options.method == "PURGE");
  BOOST_TEST(p.options.port == "81");
  BOOST_TEST(p.options.url == "http://x/a");
  BOOST_TEST(p.options.extra_fields == "Soft-Purge: 1\r\n");
  p = parse({"purge", "--tag", "a b", "-p", "81"});
  BOOST_TEST(p.error == "");
  BOOST_TEST(p.options.extra_fields == "Surrogate-Key: a b\r\n");
  BOOST_TEST(p.options.url == "http://purge.invalid/");
  BOOST_TEST(parse({"purge", "--regex", "^http://x/"}).options.extra_fields == "X-Ban-Url: ^http://x/\r\n");
  BOOST_TEST(parse({"purge", "--tag"}).error != "");
  BOOST_TEST(parse({"purge", "--tag", "a\r\nX: y"}).error != "");
  BOOST_TEST(parse({"purge", "--soft"}).error != "");
  BOOST_TEST(parse({"purge"}).error != "");
}

BOOST_AUTO_TEST_CASE(trace_sets_the_method) {
  ClientOptions o = parse({"-t", "0", "http://x/"}).options;
  BOOST_TEST(o.method == "TRACE");
  BOOST_TEST(*o.max_forwards == 0u);
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_named) {
  struct { std::vector<const char*> words; const char* part; } table[] = {
      {{}, "last argument"},
      {{"mgr:info", "-v"}, "last argument"},
      {{"-m", "http://x/"}, "-m needs a value"},
      {{"--host", "http://x/"}, "--host needs a value"},
      {{"-Z", "http://x/"}, "unknown option -Z"},
      {{"--nosuch", "http://x/"}, "unknown option --nosuch"},
      {{"-p", "0", "http://x/"}, "'0' of -p"},
      {{"-p", "65536", "http://x/"}, "'65536' of -p"},
      {{"-T", "-3", "http://x/"}, "'-3' of -T"},
      {{"-i", "x", "http://x/"}, "'x' of -i"},
      {{"-g", "0", "http://x/"}, "'0' of -g"},
      {{"-n", "http://x/"}, "Negotiate"},
  };
  for (auto& row : table) {
    ParsedOptions p = parse(row.words);
    BOOST_TEST(p.error.find(row.part) != std::string::npos, row.part << " not in: " << p.error);
  }
}

BOOST_AUTO_TEST_CASE(help_wins_wherever_it_stands) {
  BOOST_TEST(parse({"--help"}).options.help);
  BOOST_TEST(parse({"-m", "--help"}).options.help);
}

BOOST_AUTO_TEST_CASE(escapes) {
  BOOST_TEST(unescape("a\\r\\nb\\t\\\\c\\q\\") == "a\r\nb\t\\cq\\");
}
