// The hostile corpus (test-suite/badhttp/badhttp.json) against heads, framing, chunked and URIs alone, without sockets:
// each case must get the verdict that its "expected" names. The whole proxy is held to it by test-suite/badhttp.
#define BOOST_TEST_DYN_LINK
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "http/chunked.h"
#include "http/framing.h"
#include "http/head.h"
#include "http/uri.h"

using namespace loligo::http;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(corpus)

using Tokens = std::vector<std::pair<std::string, std::string>>;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

// {{REP:text:n}} is `text` n times; the text itself may hold colons, so the count follows the last one.
void expand_repeats(std::string& text) {
  for (size_t at; (at = text.find("{{REP:")) != text.npos;) {
    size_t end = text.find("}}", at), colon = text.rfind(':', end);
    std::string unit = text.substr(at + 6, colon - at - 6), out;
    for (int n = std::stoi(text.substr(colon + 1, end - colon - 1)); n > 0; --n) out += unit;
    text.replace(at, end + 2 - at, out);
  }
}

// JSON text is UTF-8; the corpus means Latin-1 code points as bytes.
std::string latin1(std::string_view utf8) {
  std::string out;
  for (size_t i = 0; i < utf8.size(); ++i) {
    unsigned char c = utf8[i];
    out += c < 0x80 ? char(c) : char((c & 3) << 6 | (utf8[++i] & 0x3f));
  }
  return out;
}

std::string expand(const json::object& row, const Tokens& tokens) {
  std::string text = latin1(row.at("bytes").as_string());
  for (auto& [from, to] : tokens) replace_all(text, from, to);
  expand_repeats(text);
  return text;
}

json::array cases() {
  const char* source = std::getenv("srcdir");
  std::ifstream in(std::string(source ? source : ".") + "/test-suite/badhttp/badhttp.json");
  std::stringstream text;
  text << in.rdbuf();
  BOOST_REQUIRE_MESSAGE(in, "badhttp.json cannot be read");
  return json::parse(text.str()).as_object().at("cases").as_array();
}

enum class Body { complete, incomplete, failed };

// Reads a body off the front of `rest`.
Body read_body(const Framing& framing, std::string_view& rest) {
  if (framing.kind == BodyKind::to_close) rest = {};
  if (framing.kind == BodyKind::length) {
    if (rest.size() < framing.length) return Body::incomplete;
    rest.remove_prefix(framing.length);
  }
  if (framing.kind != BodyKind::chunked) return Body::complete;
  ChunkedDecoder decoder;
  for (;;) {
    ChunkedDecoder::Result r = decoder.feed(rest);
    rest.remove_prefix(r.consumed);
    if (r.state == ChunkedDecoder::State::failed) return Body::failed;
    if (r.state == ChunkedDecoder::State::end) {
      BOOST_TEST(decoder.trailers() == "");  // no case has a trailer that may pass
      return Body::complete;
    }
    if (r.state == ChunkedDecoder::State::more) return Body::incomplete;
  }
}

// Serves the requests in `bytes` as a connection would; the verdict is about the first.
std::string judge_requests(std::string_view bytes) {
  std::string verdict;
  HeadLimits limits;
  while (!bytes.empty()) {
    Head head;
    auto give_up = [&] { return verdict.empty() ? "rejected" : verdict; };
    if (head.parse_request(bytes.data(), bytes.size(), limits) != ParseState::complete) return give_up();
    std::string_view target = head.target().in(bytes.data());
    BOOST_TEST(target.find("smuggled") == target.npos);
    if (target.front() != '/' && target != "*" && !parse_absolute(target)) return give_up();
    Framing framing = request_framing(head, bytes.data());
    if (framing.error != FramingError::none) return give_up();
    bytes.remove_prefix(head.size());
    if (read_body(framing, bytes) != Body::complete) return give_up();
    verdict = "safe";
    if (!framing.keep_alive) break;
  }
  return verdict;
}

std::string judge_response(std::string_view bytes, Method method) {
  Head head;
  if (head.parse_response(bytes.data(), bytes.size(), {}) != ParseState::complete) return "rejected";
  if (head.status() == 101) return "rejected";  // nobody asked: the server side's rule
  Framing framing = response_framing(head, bytes.data(), method);
  if (framing.error != FramingError::none) return "rejected";
  bytes.remove_prefix(head.size());
  return read_body(framing, bytes) == Body::complete ? "safe" : "aborted";
}

void check(const json::object& row, const std::string& verdict) {
  std::string expected(row.at("expected").as_string());
  BOOST_TEST_CONTEXT(row.at("id").as_string() << " RFC " << row.at("section").as_string() << ": " << row.at("reason").as_string()) {
    const json::array& accept = row.at("accept").as_array();
    BOOST_TEST((std::find(accept.begin(), accept.end(), json::value(verdict)) != accept.end()), verdict);
    if (expected.starts_with("reject")) BOOST_TEST(verdict == "rejected");
    if (expected == "abort") BOOST_TEST((verdict == "aborted" || verdict == "rejected"));
    if (expected == "forward-safe") BOOST_TEST(verdict == "safe");
  }
}

BOOST_AUTO_TEST_CASE(every_case) {
  const std::string host = "127.0.0.1:23090";
  unsigned checked = 0;
  for (const json::value& value : cases()) {
    const json::object& row = value.as_object();
    ++checked;
    if (row.at("side").as_string() == "request") {
      std::string absolute = "http://" + host + "/case/x";
      for (const std::string& target : {absolute, std::string("/case/x")})
        check(row, judge_requests(expand(row, {{"{{T}}", target}, {"{{P}}", "/case/x"}, {"{{A}}", absolute}, {"{{H}}", host}})));
    } else {
      const json::value* method = row.if_contains("method");
      check(row, judge_response(expand(row, {}), method && method->as_string() == "HEAD" ? Method::head : Method::get));
    }
  }
  BOOST_TEST(checked == 71u);
}

BOOST_AUTO_TEST_SUITE_END()
