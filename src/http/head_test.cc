#define BOOST_TEST_DYN_LINK
#include "http/head.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "base/text.h"
#include "http/scan.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;
using namespace std::literals;

BOOST_AUTO_TEST_SUITE(head)

struct HeadRow { std::string_view bytes; HeadError error; std::string_view section; };

constexpr HeadError kGood = HeadError::none;
const HeadRow kRequests[] = {
    {"GET / HTTP/1.1\r\n\r\n", kGood, "9112 3"},
    {"GET / HTTP/1.0\r\n\r\n", kGood, "9112 2.3"},
    {"GET / HTTP/1.2\r\n\r\n", kGood, "9110 2.5"},
    {"GET / HTTP/1.9\r\nA: b\r\n\r\n", kGood, "9110 2.5"},
    {"get / HTTP/1.1\r\n\r\n", kGood, "9110 9.1"},
    {"M-SEARCH * HTTP/1.1\r\n\r\n", kGood, "9110 9.1"},
    {"!#$%&'*+-.^_`|~9 / HTTP/1.1\r\n\r\n", kGood, "9110 5.6.2"},
    {"OPTIONS * HTTP/1.1\r\n\r\n", kGood, "9112 3.2.4"},
    {"CONNECT a:443 HTTP/1.1\r\n\r\n", kGood, "9112 3.2.3"},
    {"GET /\"<>\\^`{|} HTTP/1.1\r\n\r\n", kGood, "9112 3.2"},
    {"\r\nGET / HTTP/1.1\r\n\r\n", kGood, "9112 2.2"},
    {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", kGood, "9112 2.2"},
    {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 2.2"},
    {"\nGET / HTTP/1.1\r\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"\rGET / HTTP/1.1\r\n\r\n", HeadError::bare_carriage_return, "9112 2.2"},
    {" GET / HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 3"},
    {"GET  / HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 3"},
    {"GET\t/ HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 3"},
    {"GET /  HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 3"},
    {"GET / HTTP/1.1 \r\n\r\n", HeadError::bad_request_line, "9112 3"},
    {"GET /\tHTTP/1.1\r\n\r\n", HeadError::bad_target, "9112 3"},
    {"GET / x HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9112 3.2"},
    {"GET /\r\n", HeadError::no_version, "9112 2.3"},
    {"GET / \r\n\r\n", HeadError::bad_request_line, "9112 2.3"},
    {"GET / HTTP/1.1\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET /\nHost: a\r\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET / HTTP/1.1\rX", HeadError::bare_carriage_return, "9112 2.2"},
    {"GET / http/1.1\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"GET / HTTp/1.1\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"GET / HTTP/1\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"GET / HTTP/1.11\r\n\r\n", HeadError::bad_request_line, "9112 2.3"},
    {"GET / HTTP/11.1\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"GET / HTTP/-1.1\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"GET / HTTP 1.1\r\n\r\n", HeadError::bad_request_line, "9112 2.3"},
    {"GET / HTTP/2.0\r\n\r\n", HeadError::unsupported_version, "9110 15.6.6"},
    {"GET / HTTP/0.9\r\n\r\n", HeadError::unsupported_version, "9110 15.6.6"},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HeadError::unsupported_version, "9113 3.4"},
    {"GE(T / HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9110 9.1"},
    {"G\x80T / HTTP/1.1\r\n\r\n", HeadError::bad_request_line, "9110 9.1"},
    {"\x16\x03\x01\x02", HeadError::bad_request_line, "9112 3"},
    {"GET /\x01 HTTP/1.1\r\n\r\n", HeadError::bad_target, "9112 3.2"},
    {"GET /\x7f HTTP/1.1\r\n\r\n", HeadError::bad_target, "9112 3.2"},
    {"GET /\xc3\xa4 HTTP/1.1\r\n\r\n", kGood, "as Squid and nginx; 3986 2 has no such byte"},
    {"GET /a-long-enough-target-\xff HTTP/1.1\r\n\r\n", kGood, "the same"},
    {"GET /a-long-enough-target-\x7f HTTP/1.1\r\n\r\n", HeadError::bad_target, "3986 2"},
    {"GET /a\0b HTTP/1.1\r\n\r\n"sv, HeadError::bad_target, "9112 3.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n\r\n", kGood, "9112 5"},
    {"GET / HTTP/1.1\r\nA:b\r\n\r\n", kGood, "9112 5"},
    {"GET / HTTP/1.1\r\nA:\r\n\r\n", kGood, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: \t \r\n\r\n", kGood, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: b\tc\r\n\r\n", kGood, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: \x80\xff\r\n\r\n", kGood, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: b:c\r\n\r\n", kGood, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA\r\n\r\n", HeadError::bad_field_name, "9112 5"},
    {"GET / HTTP/1.1\r\nA\r\nB: c\r\n\r\n", HeadError::bad_field_name, "9112 5"},
    {"GET / HTTP/1.1\r\n: b\r\n\r\n", HeadError::bad_field_name, "9112 5"},
    {"GET / HTTP/1.1\r\nA : b\r\n\r\n", HeadError::bad_field_name, "9112 5.1"},
    {"GET / HTTP/1.1\r\nHost : b\r\n\r\n", HeadError::bad_field_name, "9112 5.1"},
    {"GET / HTTP/1.1\r\nHost\t: b\r\n\r\n", HeadError::bad_field_name, "9112 5.1"},
    {"GET / HTTP/1.1\r\nA B: c\r\n\r\n", HeadError::bad_field_name, "9110 5.1"},
    {"GET / HTTP/1.1\r\nA@: c\r\n\r\n", HeadError::bad_field_name, "9110 5.1"},
    {"GET / HTTP/1.1\r\nA\x80: c\r\n\r\n", HeadError::bad_field_name, "9110 5.1"},
    {"GET / HTTP/1.1\r\nH\0st: c\r\n\r\n"sv, HeadError::bad_field_name, "9110 5.1"},
    {"GET / HTTP/1.1\r\nAccept\rEncoding: c\r\n\r\n", HeadError::bad_field_name, "9110 5.1"},
    {"GET / HTTP/1.1\r\n A: b\r\n\r\n", HeadError::leading_blank, "9112 2.2"},
    {"GET / HTTP/1.1\r\n\tA: b\r\n\r\n", HeadError::leading_blank, "9112 2.2"},
    {"GET / HTTP/1.1\r\n \r\n\r\n", HeadError::leading_blank, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", HeadError::obsolete_fold, "9112 5.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", HeadError::obsolete_fold, "9112 5.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n \r\n\r\n", HeadError::obsolete_fold, "9112 5.2"},
    {"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA\nB: c\r\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\n\n", HeadError::bare_line_feed, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", HeadError::bare_carriage_return, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\r\r\n\r\n", HeadError::bare_carriage_return, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\r\n\rX", HeadError::bare_carriage_return, "9112 2.2"},
    {"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n"sv, HeadError::bad_field_value, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: b\x0b\r\n\r\n", HeadError::bad_field_value, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: b\x1b[0m\r\n\r\n", HeadError::bad_field_value, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n", HeadError::bad_field_value, "9110 5.5"},
    {"GET / HTTP/1.1\r\nA: a value longer than sixteen bytes\x01\r\n\r\n", HeadError::bad_field_value, "9110 5.5"},
};

const HeadRow kResponses[] = {
    {"HTTP/1.1 200 OK\r\n\r\n", kGood, "9112 4"},
    {"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n", kGood, "9112 4"},
    {"HTTP/1.1 200 \r\n\r\n", kGood, "9112 4"},
    {"HTTP/1.1 200\r\n\r\n", kGood, "9112 4"},
    {"HTTP/1.1 999 Odd\r\n\r\n", kGood, "9110 15"},
    {"HTTP/1.1 200 gr\xfc\xdf\tgott\r\n\r\n", kGood, "9112 4"},
    {"HTTP/1.1 2000 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 20 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 099 OK\r\n\r\n", HeadError::bad_status_line, "9110 15"},
    {"HTTP/1.1 +20 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1  200 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1\t200 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 200\tOK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 200 O\0K\r\n\r\n"sv, HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 200 OK\n\r\n", HeadError::bare_line_feed, "9112 2.2"},
    {"HTTP/1.1 200 OK\rX\r\n\r\n", HeadError::bare_carriage_return, "9112 2.2"},
    {"\r\nHTTP/1.1 200 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"HTTP/2.0 200 OK\r\n\r\n", HeadError::unsupported_version, "9110 2.5"},
    {"http/1.1 200 OK\r\n\r\n", HeadError::bad_version, "9112 2.3"},
    {"ICY 200 OK\r\n\r\n", HeadError::bad_status_line, "9112 4"},
    {"<html>", HeadError::bad_status_line, "9112 4"},
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", HeadError::obsolete_fold, "9112 5.2"},
    {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", HeadError::bad_field_name, "9112 5.1"},
};

template <class Parse> void check_row(const HeadRow& row, Parse parse) {
  BOOST_TEST_CONTEXT("[" << row.bytes << "] RFC " << row.section) {
    Head head;
    ParseState state = parse(head, row.bytes.size());
    BOOST_TEST(describe(head.error()).text == describe(row.error).text);
    BOOST_TEST(int(state) == int(row.error == kGood ? ParseState::complete : ParseState::failed));
    // Whatever the bytes are cut at: a beginning is incomplete or fails as the whole does.
    for (size_t size = 0; size < row.bytes.size(); ++size) {
      Head part;
      ParseState early = parse(part, size);
      bool allowed = early == ParseState::incomplete || (early == ParseState::failed && row.error != kGood && part.error() == row.error);
      BOOST_TEST(allowed, "at " << size << ": " << describe(part.error()).text);
    }
  }
}

BOOST_AUTO_TEST_CASE(requests) {
  for (const HeadRow& row : kRequests)
    check_row(row, [&](Head& head, size_t size) { return head.parse_request(row.bytes.data(), size, {}); });
}

BOOST_AUTO_TEST_CASE(responses) {
  for (const HeadRow& row : kResponses)
    check_row(row, [&](Head& head, size_t size) { return head.parse_response(row.bytes.data(), size, {}); });
}

BOOST_AUTO_TEST_CASE(every_byte_in_every_place) {
  for (unsigned c = 0; c < 256; ++c) {
    std::string target = "GET /0123456789abcdef0 HTTP/1.1\r\n\r\n", name = "GET / HTTP/1.1\r\nAxB: c\r\n\r\n";
    std::string value = "GET / HTTP/1.1\r\nA: 0123456789abcdef0123456789\r\n\r\n";
    target[12] = name[17] = value[30] = char(c);
    Head head;
    BOOST_TEST_CONTEXT("byte " << c) {
      BOOST_TEST((head.parse_request(target.data(), target.size(), {}) == ParseState::complete) == (c > 0x20 && c != 0x7f));
      bool good_value = c == '\t' || (c >= 0x20 && c != 0x7f);
      BOOST_TEST((head.parse_request(value.data(), value.size(), {}) == ParseState::complete) == good_value);
      bool in_name = (c < 0x80 && isalnum(int(c))) || (c && "!#$%&'*+-.^_`|~:"sv.find(char(c)) != std::string_view::npos);
      BOOST_TEST((head.parse_request(name.data(), name.size(), {}) == ParseState::complete) == in_name);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_request) {
  std::string text = "\r\nPURGE http://a/b?c HTTP/1.0\r\nhOST:\t a \t\r\nX-One: 1\r\nx-one: 2\r\nAccept: */*\r\nACCEPT: x\r\n\r\nrest";
  Head head;
  BOOST_REQUIRE(head.parse_request(text.data(), text.size(), {}) == ParseState::complete);
  BOOST_TEST(head.size() == text.size() - 4);
  BOOST_TEST(int(head.method()) == int(Method::purge));
  BOOST_TEST(head.method_text().in(text.data()) == "PURGE");
  BOOST_TEST(head.target().in(text.data()) == "http://a/b?c");
  BOOST_TEST(head.minor_version() == 0);
  BOOST_TEST(head.field_count() == 5u);
  BOOST_TEST(head.value(FieldId::host, text.data()) == "a");
  BOOST_TEST(head.value("X-ONE", text.data()) == "1");
  BOOST_TEST(head.value("accept", text.data()) == "*/*");
  BOOST_TEST(head.occurrences(FieldId::accept) == 2u);
  BOOST_TEST(!head.has(FieldId::cookie));
  BOOST_TEST(head.value("x-two", text.data()) == "");
  std::string moved = text;  // offsets, not pointers
  text.assign(text.size(), '?');
  BOOST_TEST(head.value(FieldId::host, moved.data()) == "a");
  Head copy = head;
  BOOST_TEST(copy.field_count() == 5u);
  BOOST_TEST(copy.value("X-One", moved.data()) == "1");
}

BOOST_AUTO_TEST_CASE(parts_of_a_response) {
  TestHead r = response_with("", "HTTP/1.1 404 Not  Found ");
  BOOST_TEST(r.head.status() == 404);
  BOOST_TEST(r.head.reason().in(r.bytes()) == "Not  Found ");
  BOOST_TEST(response_with("", "HTTP/1.0 200").head.reason().length == 0u);
}

BOOST_AUTO_TEST_CASE(known_methods) {
  struct Row { std::string_view text; Method method; };
  const Row rows[] = {{"GET", Method::get}, {"HEAD", Method::head}, {"POST", Method::post}, {"PUT", Method::put},
                      {"DELETE", Method::delete_}, {"CONNECT", Method::connect}, {"OPTIONS", Method::options},
                      {"TRACE", Method::trace}, {"PATCH", Method::patch}, {"PURGE", Method::purge},
                      {"Get", Method::other}, {"GETX", Method::other}, {"GE", Method::other}, {"PROPFIND", Method::other}};
  for (const Row& row : rows)
    BOOST_TEST(int(request_with("", std::string(row.text) + " / HTTP/1.1").head.method()) == int(row.method), row.text);
}

// Limits (RFC 9112 3: 414; RFC 6585 5: 431). A full buffer without an end must not wait for more.
BOOST_AUTO_TEST_CASE(limits) {
  struct Row { std::string text; uint32_t max_bytes; HeadError error; };
  std::string request = "GET /0123456789 HTTP/1.1\r\nA: b\r\n\r\n";
  const Row rows[] = {
      {request, uint32_t(request.size()), HeadError::none},
      {request, uint32_t(request.size() - 1), HeadError::too_large},
      {request + "body", uint32_t(request.size()), HeadError::none},
      {request, 30, HeadError::too_large},
      {request, 26, HeadError::too_large},
      {request, 25, HeadError::target_too_long},
      {request, 10, HeadError::target_too_long},
      {request, 20, HeadError::target_too_long},
      {"GET", 3, HeadError::target_too_long},
      {"\r\n", 2, HeadError::target_too_long},
  };
  for (const Row& row : rows) {
    Head head;
    ParseState state = head.parse_request(row.text.data(), row.text.size(), {row.max_bytes, 100});
    BOOST_TEST(describe(head.error()).text == describe(row.error).text, row.text << " in " << row.max_bytes);
    BOOST_TEST((state == ParseState::complete) == (row.error == HeadError::none));
  }
  BOOST_TEST(describe(HeadError::too_large).status == 431);
  BOOST_TEST(describe(HeadError::target_too_long).status == 414);
  BOOST_TEST(describe(HeadError::unsupported_version).status == 505);
}

BOOST_AUTO_TEST_CASE(field_count_limit) {
  auto parse = [](unsigned fields, uint32_t max) {
    std::string text = "GET / HTTP/1.1\r\n";
    for (unsigned i = 0; i < fields; ++i) text += "A: b\r\n";
    text += "\r\n";
    Head head;
    head.parse_request(text.data(), text.size(), {64 * 1024, max});
    return head.error();
  };
  BOOST_TEST(int(parse(100, 100)) == int(HeadError::none));
  BOOST_TEST(int(parse(101, 100)) == int(HeadError::too_many_fields));
  BOOST_TEST(int(parse(256, 1000)) == int(HeadError::none));
  BOOST_TEST(int(parse(257, 1000)) == int(HeadError::too_many_fields));  // never more than kMaxFields
}

BOOST_AUTO_TEST_CASE(error_table_is_in_order) {
  for (unsigned i = 0; i <= unsigned(HeadError::too_many_fields); ++i) BOOST_TEST(unsigned(describe(HeadError(i)).error) == i);
}

BOOST_AUTO_TEST_CASE(a_head_is_reusable) {
  Head head;
  std::string first = "GET / HTTP/1.1\r\nCookie: a\r\n\r\n", second = "GET /x HTTP/1.1\r\nHost: b\r\n\r\n", bad = "GET / x";
  BOOST_TEST(int(head.parse_request(first.data(), first.size(), {})) == int(ParseState::complete));
  BOOST_TEST(int(head.parse_request(bad.data(), bad.size(), {})) == int(ParseState::failed));
  BOOST_TEST(int(head.parse_request(second.data(), second.size(), {})) == int(ParseState::complete));
  BOOST_TEST(int(head.error()) == int(HeadError::none));
  BOOST_TEST(!head.has(FieldId::cookie));
  BOOST_TEST(head.field_count() == 1u);
}

BOOST_AUTO_TEST_CASE(end_of_head_in_new_bytes) {
  std::string text = "GET / HTTP/1.1\r\nA: b\r\n\r\nbody\r\n";
  size_t end = text.find("\r\n\r\n") + 4;
  for (size_t seen = 0; seen <= text.size(); ++seen)
    for (size_t size = seen; size <= text.size(); ++size)
      BOOST_TEST(may_end_head(text.data(), seen, size) == (seen < end && size >= end), seen << " " << size);
}

BOOST_AUTO_TEST_CASE(field_names) {
  std::set<FieldId> seen;
  for (unsigned i = 1; i < unsigned(FieldId::count_); ++i) {
    std::string name(field_name(FieldId(i))), upper = name;
    for (char& c : upper) c = char(toupper(c));
    BOOST_TEST(unsigned(field_id(name)) == i, name);
    BOOST_TEST(unsigned(field_id(upper)) == i, name);
    BOOST_TEST(unsigned(field_id(base::to_lower(name))) == i, name);
    BOOST_TEST(is_token(name));
    for (size_t at = 0; at < name.size(); ++at) {  // no other byte passes for the right one
      for (unsigned c = 0; c < 256; ++c) {
        std::string other = name;
        other[at] = char(c);
        if (!base::iequals(other, name)) BOOST_REQUIRE(unsigned(field_id(other)) != i);
      }
    }
    BOOST_TEST(unsigned(field_id(name + "x")) != i);
    BOOST_TEST(unsigned(field_id(name.substr(1))) != i);
  }
  BOOST_TEST(int(field_id("")) == int(FieldId::other));
  BOOST_TEST(int(field_id("X")) == int(FieldId::other));
  BOOST_TEST(field_name(FieldId::other) == "");
  BOOST_TEST(field_name(FieldId::te) == "TE");
}

BOOST_AUTO_TEST_SUITE_END()
