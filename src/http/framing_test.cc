#define BOOST_TEST_DYN_LINK
#include "http/framing.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "http/hop_by_hop.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(framing)

constexpr FramingError kGood = FramingError::none;
constexpr bool kKeep = true, kClose = false;

struct RequestRow {
  std::string_view line, fields;  // "Host: a" is added where `fields` has no Host and does not start with "-"
  FramingError error;
  BodyKind kind;
  uint64_t length;
  bool keep_alive;
  std::string_view section;
};

const std::string_view kGet = "GET / HTTP/1.1", kPost = "POST / HTTP/1.1", kPost10 = "POST / HTTP/1.0", kGet10 = "GET / HTTP/1.0";
const RequestRow kRequests[] = {
    {kGet, "", kGood, BodyKind::none, 0, kKeep, "9112 6.3(7)"},
    {kPost, "", kGood, BodyKind::none, 0, kKeep, "9112 6.3(7)"},
    {kPost, "Content-Length: 5\r\n", kGood, BodyKind::length, 5, kKeep, "9112 6.3(6)"},
    {kGet, "Content-Length: 5\r\n", kGood, BodyKind::length, 5, kKeep, "9110 9.3.1"},
    {kPost, "Content-Length: 0\r\n", kGood, BodyKind::none, 0, kKeep, "9112 6.3(6)"},
    {kPost, "Content-Length: 007\r\n", kGood, BodyKind::length, 7, kKeep, "9110 8.6"},
    {kPost, "Content-Length: 5, 5\r\n", kGood, BodyKind::length, 5, kKeep, "9112 6.3(5)"},
    {kPost, "Content-Length: 5\r\nContent-Length: 5\r\n", kGood, BodyKind::length, 5, kKeep, "9112 6.3(5)"},
    {kPost, "Content-Length: 5, 6\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9112 6.3(5)"},
    {kPost, "Content-Length: 5\r\nContent-Length: 6\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9112 6.3(5)"},
    {kPost, "Content-Length: 5, 05\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9112 6.3(5)"},
    {kPost, "Content-Length: 5,\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: ,5\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: \r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: +5\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: -5\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 0x5\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 5 5\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 5;a=b\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: \"5\"\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 5.0\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: \xb2\r\n", FramingError::bad_content_length, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 9223372036854775807\r\n", kGood, BodyKind::length, 9223372036854775807u, kKeep, "9110 8.6"},
    {kPost, "Content-Length: 9223372036854775808\r\n", FramingError::length_overflow, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Content-Length: 18446744073709551621\r\n", FramingError::length_overflow, BodyKind::length, 0, kClose, "9110 8.6"},
    {kPost, "Transfer-Encoding: chunked\r\n", kGood, BodyKind::chunked, 0, kKeep, "9112 6.3(4)"},
    {kPost, "Transfer-Encoding: CHUNKED\r\n", kGood, BodyKind::chunked, 0, kKeep, "9112 7"},
    {kPost, "Transfer-Encoding: ,chunked\r\n", kGood, BodyKind::chunked, 0, kKeep, "9110 5.6.1"},
    {kPost, "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n", kGood, BodyKind::chunked, 0, kKeep, "9110 5.6.1"},
    {kPost, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", FramingError::length_and_transfer, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: \r\nContent-Length: 5\r\n", FramingError::length_and_transfer, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: chunked, chunked\r\n", FramingError::chunked_not_final, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", FramingError::chunked_not_final, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", FramingError::chunked_not_final, BodyKind::chunked, 0, kClose, "9112 6.3(4)"},
    {kPost, "Transfer-Encoding: chunked, gzip\r\n", FramingError::chunked_not_final, BodyKind::chunked, 0, kClose, "9112 6.3(4)"},
    {kPost, "Transfer-Encoding: \r\n", FramingError::chunked_not_final, BodyKind::chunked, 0, kClose, "9112 6.3"},
    {kPost, "Transfer-Encoding: gzip, chunked\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: gzip\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: identity\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: xchunked\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost, "Transfer-Encoding: chunked;q=1\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 7.1"},
    {kPost, "Transfer-Encoding: \"chunked\"\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 7"},
    {kPost, "Transfer-Encoding: chunked chunked\r\n", FramingError::unknown_transfer_coding, BodyKind::chunked, 0, kClose, "9112 7"},
    {kPost10, "Transfer-Encoding: chunked\r\n", FramingError::transfer_in_http_1_0, BodyKind::chunked, 0, kClose, "9112 6.1"},
    {kPost10, "Content-Length: 5\r\n", kGood, BodyKind::length, 5, kClose, "9112 9.3"},
    {"CONNECT a:443 HTTP/1.1", "Content-Length: 0\r\n", kGood, BodyKind::none, 0, kKeep, "9110 9.3.6"},
    {"CONNECT a:443 HTTP/1.1", "Content-Length: 5\r\n", FramingError::body_not_allowed, BodyKind::length, 5, kClose, "9110 9.3.6"},
    {"CONNECT a:443 HTTP/1.1", "Transfer-Encoding: chunked\r\n", FramingError::body_not_allowed, BodyKind::chunked, 0, kClose, "9110 9.3.6"},
    {"TRACE / HTTP/1.1", "", kGood, BodyKind::none, 0, kKeep, "9110 9.3.8"},
    {"TRACE / HTTP/1.1", "Content-Length: 1\r\n", FramingError::body_not_allowed, BodyKind::length, 1, kClose, "9110 9.3.8"},
    // Host
    {kGet, "-", FramingError::bad_host, BodyKind::none, 0, kClose, "9112 3.2"},
    {kGet10, "-", kGood, BodyKind::none, 0, kClose, "9112 3.2"},
    {kGet, "Host: a\r\nHost: a\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9112 3.2"},
    {kGet10, "Host: a\r\nHost: b\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9112 3.2"},
    {kGet, "Host: a/b\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9112 3.2"},
    {kGet, "Host: \r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9110 7.2"},
    {"OPTIONS * HTTP/1.1", "Host:\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9110 7.2"},
    {"GET http://a/ HTTP/1.1", "Host:\r\n", kGood, BodyKind::none, 0, kKeep, "9112 3.2.2"},
    {"GET http://a/ HTTP/1.1", "Host: b\r\n", kGood, BodyKind::none, 0, kKeep, "9112 3.2.2"},
    {kGet, "Host: a, b\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9110 7.2"},
    {kGet, "Host: u@a\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9110 7.2"},
    {kGet, "Host: a:99999\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "9110 7.2"},
    {kGet, "Host: [::1\r\n", FramingError::bad_host, BodyKind::none, 0, kClose, "3986 3.2.2"},
    {kGet, "Host: [::1]:8080\r\n", kGood, BodyKind::none, 0, kKeep, "3986 3.2.2"},
    {kGet, "Host: under_score.example:80\r\n", kGood, BodyKind::none, 0, kKeep, "3986 3.2.2"},
    // Persistence
    {kGet, "Connection: close\r\n", kGood, BodyKind::none, 0, kClose, "9112 9.3"},
    {kGet, "Connection: CLOSE\r\n", kGood, BodyKind::none, 0, kClose, "9110 7.6.1"},
    {kGet, "Connection: x, close\r\n", kGood, BodyKind::none, 0, kClose, "9112 9.3"},
    {kGet, "Connection: x\r\nConnection: close\r\n", kGood, BodyKind::none, 0, kClose, "9112 9.3"},
    {kGet, "Connection: keep-alive, close\r\n", kGood, BodyKind::none, 0, kClose, "9112 9.3"},
    {kGet, "Connection: closed\r\n", kGood, BodyKind::none, 0, kKeep, "9112 9.3"},
    {kGet, "Proxy-Connection: close\r\n", kGood, BodyKind::none, 0, kClose, "9112 C.2.2"},
    {kGet10, "Connection: keep-alive\r\n", kGood, BodyKind::none, 0, kKeep, "9112 9.3"},
    {kGet10, "Proxy-Connection: Keep-Alive\r\n", kGood, BodyKind::none, 0, kKeep, "9112 C.2.2"},
    {kGet10, "Connection: x\r\n", kGood, BodyKind::none, 0, kClose, "9112 9.3"},
};

BOOST_AUTO_TEST_CASE(requests) {
  for (const RequestRow& row : kRequests) {
    BOOST_TEST_CONTEXT(row.line << " [" << row.fields << "] RFC " << row.section) {
      std::string fields(row.fields == "-" ? "" : row.fields);
      if (row.fields != "-" && fields.find("Host:") == fields.npos) fields += "Host: a\r\n";
      TestHead r = request_with(fields, row.line);
      Framing f = request_framing(r.head, r.bytes());
      BOOST_TEST(describe(f.error).text == describe(row.error).text);
      BOOST_TEST(f.keep_alive == row.keep_alive);
      if (row.error == kGood) {
        BOOST_TEST(int(f.kind) == int(row.kind));
        BOOST_TEST(f.length == row.length);
      }
    }
  }
}

struct ResponseRow {
  std::string_view line, fields;
  Method method;
  FramingError error;
  BodyKind kind;
  uint64_t length;
  bool keep_alive;
  std::string_view section;
};

const std::string_view kOk = "HTTP/1.1 200 OK", kOk10 = "HTTP/1.0 200 OK";
const ResponseRow kResponses[] = {
    {kOk, "Content-Length: 5\r\n", Method::get, kGood, BodyKind::length, 5, kKeep, "9112 6.3(6)"},
    {kOk, "Content-Length: 0\r\n", Method::get, kGood, BodyKind::length, 0, kKeep, "9112 6.3(6)"},
    {kOk, "Transfer-Encoding: chunked\r\n", Method::get, kGood, BodyKind::chunked, 0, kKeep, "9112 6.3(4)"},
    {kOk, "", Method::get, kGood, BodyKind::to_close, 0, kClose, "9112 6.3(8)"},
    {kOk, "Connection: close\r\nContent-Length: 5\r\n", Method::get, kGood, BodyKind::length, 5, kClose, "9112 9.3"},
    {kOk10, "Content-Length: 5\r\n", Method::get, kGood, BodyKind::length, 5, kClose, "9112 9.3"},
    {kOk10, "Content-Length: 5\r\nConnection: keep-alive\r\n", Method::get, kGood, BodyKind::length, 5, kKeep, "9112 9.3"},
    {kOk, "Content-Length: 5\r\n", Method::head, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {kOk, "Transfer-Encoding: chunked\r\n", Method::head, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {kOk, "Content-Length: +5\r\n", Method::head, FramingError::bad_content_length, BodyKind::none, 0, kClose, "9110 8.6"},
    {"HTTP/1.1 304 Not Modified", "Content-Length: 6\r\n", Method::get, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {"HTTP/1.1 204 No Content", "", Method::get, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {"HTTP/1.1 204 No Content", "Content-Length: 6\r\n", Method::get, kGood, BodyKind::none, 0, kClose, "9110 8.6"},
    {"HTTP/1.1 204 No Content", "Transfer-Encoding: chunked\r\n", Method::get, kGood, BodyKind::none, 0, kClose, "9112 6.1"},
    {"HTTP/1.1 100 Continue", "", Method::post, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {"HTTP/1.1 103 Early Hints", "Link: x\r\n", Method::get, kGood, BodyKind::none, 0, kKeep, "9112 6.3(1)"},
    {"HTTP/1.1 205 Reset Content", "Content-Length: 0\r\n", Method::get, kGood, BodyKind::length, 0, kKeep, "9110 15.3.6"},
    {kOk, "Content-Length: 5\r\n", Method::connect, kGood, BodyKind::none, 0, kKeep, "9112 6.3(2)"},
    {kOk, "Transfer-Encoding: chunked\r\nContent-Length: x\r\n", Method::connect, kGood, BodyKind::none, 0, kKeep, "9112 6.3(2)"},
    {"HTTP/1.1 403 No", "Content-Length: 5\r\n", Method::connect, kGood, BodyKind::length, 5, kKeep, "9112 6.3"},
    {kOk, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Method::get, FramingError::length_and_transfer, BodyKind::none, 0, kClose, "9112 6.3(3)"},
    {kOk, "Content-Length: 5, 6\r\n", Method::get, FramingError::bad_content_length, BodyKind::none, 0, kClose, "9112 6.3(5)"},
    {kOk, "Content-Length: 5, 5\r\n", Method::get, kGood, BodyKind::length, 5, kKeep, "9112 6.3(5)"},
    {kOk, "Content-Length: 18446744073709551621\r\n", Method::get, FramingError::length_overflow, BodyKind::none, 0, kClose, "9112 6.3(5)"},
    {kOk, "Transfer-Encoding: foo\r\n", Method::get, FramingError::unknown_transfer_coding, BodyKind::none, 0, kClose, "9112 6.3(4)"},
    {kOk, "Transfer-Encoding: gzip, chunked\r\n", Method::get, FramingError::unknown_transfer_coding, BodyKind::none, 0, kClose, "9112 6.3(4)"},
    {kOk, "Transfer-Encoding: chunked, chunked\r\n", Method::get, FramingError::chunked_not_final, BodyKind::none, 0, kClose, "9112 6.1"},
    {kOk10, "Transfer-Encoding: chunked\r\n", Method::get, FramingError::transfer_in_http_1_0, BodyKind::none, 0, kClose, "9112 6.1"},
};

BOOST_AUTO_TEST_CASE(responses) {
  for (const ResponseRow& row : kResponses) {
    BOOST_TEST_CONTEXT(row.line << " [" << row.fields << "] RFC " << row.section) {
      TestHead r = response_with(row.fields, row.line);
      Framing f = response_framing(r.head, r.bytes(), row.method);
      BOOST_TEST(describe(f.error).text == describe(row.error).text);
      BOOST_TEST(f.keep_alive == row.keep_alive);
      if (row.error == kGood) {
        BOOST_TEST(int(f.kind) == int(row.kind));
        BOOST_TEST(f.length == row.length);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(error_table_is_in_order) {
  for (unsigned i = 0; i <= unsigned(FramingError::body_not_allowed); ++i) BOOST_TEST(unsigned(describe(FramingError(i)).error) == i);
  BOOST_TEST(describe(FramingError::unknown_transfer_coding).status == 501);
}

// RFC 9110 7.6.1
BOOST_AUTO_TEST_CASE(nominated_fields) {
  struct Row { std::string_view connection, field; bool nominated; };
  const Row rows[] = {
      {"X-A", "X-A: 1", true},           {"x-a", "X-A: 1", true},           {"close, X-A", "X-A: 1", true},
      {"X-B", "X-A: 1", false},          {"close", "Close: 1", false},      {"Host", "Host: a", false},
      {"Content-Length", "Content-Length: 5", false}, {"Cache-Control", "Cache-Control: x", false}, {"Date", "Date: x", false},
      {"Cookie", "Cookie: a", true},     {"Authorization", "Authorization: x", false},
      {"keep-alive, upgrade", "X-A: 1", false},       {"X-A X-B", "X-A: 1", false}, {",,X-A,", "X-A: 1", true},
  };
  for (const Row& row : rows) {
    TestHead r = request_with("Connection: " + std::string(row.connection) + "\r\n" + std::string(row.field) + "\r\n");
    ConnectionOptions options(r.head, r.bytes());
    BOOST_TEST(options.nominated(r.head.field(1), r.bytes()) == row.nominated, row.connection << " / " << row.field);
  }
}

BOOST_AUTO_TEST_CASE(connection_options) {
  TestHead r = request_with("Connection: Upgrade, keep-alive\r\nProxy-Connection: X-P\r\nX-P: 1\r\nX-Q: 1\r\nHost: a\r\n");
  ConnectionOptions options(r.head, r.bytes());
  BOOST_TEST(options.upgrade());
  BOOST_TEST(options.keep_alive());
  BOOST_TEST(!options.close());
  BOOST_TEST(options.nominated(r.head.field(2), r.bytes()));
  BOOST_TEST(!options.nominated(r.head.field(3), r.bytes()));
}

BOOST_AUTO_TEST_CASE(too_many_options_nominate_all) {
  std::string list;
  for (int i = 0; i < 100; ++i) list += "n" + std::to_string(i) + ",";
  TestHead r = request_with("Connection: " + list + "\r\nn99: 1\r\nX-Q: 1\r\nHost: a\r\n");
  ConnectionOptions options(r.head, r.bytes());
  BOOST_TEST(options.nominated(r.head.field(1), r.bytes()));
  BOOST_TEST(options.nominated(r.head.field(2), r.bytes()));
  BOOST_TEST(!options.nominated(r.head.field(3), r.bytes()));
}

BOOST_AUTO_TEST_CASE(hop_by_hop_names) {
  for (FieldId id : {FieldId::connection, FieldId::proxy_connection, FieldId::keep_alive, FieldId::te, FieldId::trailer,
                     FieldId::transfer_encoding, FieldId::upgrade, FieldId::proxy_authenticate, FieldId::http2_settings})
    BOOST_TEST(is_hop_by_hop(id), field_name(id));
  for (FieldId id : {FieldId::other, FieldId::host, FieldId::content_length, FieldId::via, FieldId::authorization})
    BOOST_TEST(!is_hop_by_hop(id), field_name(id));
}

BOOST_AUTO_TEST_SUITE_END()
