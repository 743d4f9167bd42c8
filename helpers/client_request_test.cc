#include "helpers/client_request.h"

#define BOOST_TEST_DYN_LINK
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <vector>

using namespace loligo::helpers;

static std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, "cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "squidclient -H 'X: 1\\n' url" as a list; within quotes a doubled backslash is one.
static std::vector<std::string> split_command(std::string_view line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') quoted = !quoted;
    else if (line[i] == ' ' && !quoted) words.emplace_back();
    else {
      if (quoted && line[i] == '\\' && i + 1 < line.size()) ++i;
      words.back() += line[i];
    }
  }
  return words;
}

static ClientOptions options_of(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  for (auto& w : words) argv.push_back(w.c_str());
  ParsedOptions p = parse_client_options(int(argv.size()), argv.data());
  BOOST_REQUIRE_EQUAL(p.error, "");
  return p.options;
}

// Every recorded request of the real squidclient comes out byte for byte; only the program's own name differs.
BOOST_AUTO_TEST_CASE(requests_are_those_of_squidclient) {
  const std::string folder = TEST_SUITE "/manager/squidclient-requests/";
  const std::string payload = "hello payload\n";  // what -P named when the requests were recorded
  unsigned compared = 0;
  const boost::json::value index = boost::json::parse(whole_file(folder + "index.json"));
  for (auto& item : index.as_array()) {
    std::string name(item.at("name").as_string()), wanted(item.at("request").as_string());
    if (wanted.empty()) continue;  // an invocation that sends nothing
    ClientOptions o = options_of(split_command(item.at("args").as_string()));
    if (o.user_agent.starts_with("loligoclient/")) o.user_agent = "squidclient/5.7";
    bool body = !o.payload_path.empty();
    std::string built = request_head(o, body ? std::optional<uint64_t>(payload.size()) : std::nullopt) + (body ? payload : "");
    BOOST_TEST(built == wanted, name << ": built\n" << built << "wanted\n" << wanted);
    if (std::ifstream(folder + name + ".bin")) BOOST_TEST(built == whole_file(folder + name + ".bin"), name);
    ++compared;
  }
  BOOST_TEST(compared == 44u);
}

BOOST_AUTO_TEST_CASE(all_fields_stand_in_their_order) {
  ClientOptions o = options_of({"x", "-u", "u", "-w", "p", "-U", "v", "-W", "q", "-r", "-i", "5", "-t", "1", "-P", "f", "-A", "ua", "http://a?x/"});
  BOOST_TEST(request_head(o, 14) ==
             "TRACE http://a?x/ HTTP/1.0\r\nHost: a\r\nUser-Agent: ua\r\nCache-Control: no-cache\r\nContent-length: 14\r\nAccept: */*\r\n"
             "If-Modified-Since: Thu, 01 Jan 1970 00:00:05 GMT\r\nMax-Forwards: 1\r\nProxy-Authorization: Basic dTpw\r\n"
             "Authorization: Basic djpx\r\nConnection: close\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(targets) {
  struct { std::vector<std::string> words; const char* target; } table[] = {
      {{"x", "mgr:"}, "cache_object://localhost/"},
      {{"x", "-h", "::1", "mgr:info"}, "cache_object://[::1]/info"},
      {{"x", "-h", "[::1]", "mgr:info"}, "cache_object://[::1]/info"},
      {{"x", "-w", "a", "mgr:info@b"}, "cache_object://localhost/info@b"},
      {{"x", "-w", "a", "http://h/"}, "http://h/"},
      {{"x", "MGR:info"}, "MGR:info"},
  };
  for (auto& row : table) BOOST_TEST(request_target(options_of(row.words)) == row.target);
}

BOOST_AUTO_TEST_CASE(host_field) {
  struct { const char* url; const char* line; } table[] = {
      {"http://[::1]:80/x", "Host: [::1]:80\r\n"}, {"http://u:p@h:8/x", "Host: h:8\r\n"}, {"http://h?q", "Host: h\r\n"}, {"http://h", "Host: h\r\n"}};
  for (auto& row : table) BOOST_TEST(request_head(options_of({"x", row.url}), {}).find(row.line) != std::string::npos, row.url);
  BOOST_TEST(request_head(options_of({"x", "/path"}), {}).find("Host:") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(base64_rfc4648) {
  struct { const char *in, *out; } table[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}};
  for (auto& row : table) BOOST_TEST(base64(row.in) == row.out);
}
