#include "helpers/reply_watch.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::helpers;

namespace {

struct Row {
  const char* what;
  const char* method;
  std::string bytes;
  bool closes;        // the server closes after the bytes
  int status;
  const char* problem;  // "" = none
  bool finished;
};

const Row kRows[] = {
    {"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", false, 200, "", true},
    {"no body", "GET", "HTTP/1.1 204 No Content\r\n\r\n", false, 204, "", true},
    {"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false, 200, "", true},
    {"to close", "GET", "HTTP/1.0 200 OK\r\n\r\nabc", true, 200, "", true},
    {"to close, still open", "GET", "HTTP/1.0 200 OK\r\n\r\nabc", false, 200, "", false},
    {"chunked", "GET", "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false, 404, "", true},
    {"chunked, cut", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true, 200, "not complete", true},
    {"chunked, bad", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", true, 200, "bad chunk", true},
    {"length, cut", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nok\n", true, 200, "not complete", true},
    {"interim first", "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", false, 503, "", true},
    {"tunnel", "CONNECT", "HTTP/1.1 200 Established\r\n\r\nbytes", true, 200, "", true},
    {"before HTTP/1.0", "GET", "<html>hello", true, 0, "", true},
    {"nothing", "GET", "", true, 0, "without a reply", true},
    {"half a head", "GET", "HTTP/1.1 200 OK\r\nContent-", true, 0, "not complete", true},
    {"no HTTP head", "GET", "HTTP/1.1 2x0 OK\r\n\r\n", true, 0, "malformed", true},
    {"two lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", true, 200, "malformed", true},
};

void check(const Row& row, const ReplyWatch& watch, const std::string& how) {
  BOOST_TEST(watch.status() == row.status, row.what << how);
  BOOST_TEST(watch.finished() == row.finished, row.what << how);
  bool as_wanted = *row.problem ? watch.problem().find(row.problem) != std::string::npos : watch.problem().empty();
  BOOST_TEST(as_wanted, row.what << how << ": problem is '" << watch.problem() << "'");
}

}  // namespace

BOOST_AUTO_TEST_CASE(replies_at_once_and_byte_by_byte) {
  for (const Row& row : kRows) {
    ReplyWatch whole(row.method);
    BOOST_TEST(whole.feed(row.bytes) == row.bytes.size(), row.what);
    if (row.closes) whole.end_of_connection();
    check(row, whole, " at once");
    ReplyWatch piecewise(row.method);
    for (char c : row.bytes) BOOST_TEST(piecewise.feed({&c, 1}) == 1u, row.what);
    if (row.closes) piecewise.end_of_connection();
    check(row, piecewise, " byte by byte");
  }
}

BOOST_AUTO_TEST_CASE(bytes_after_the_end_are_not_the_replys) {
  ReplyWatch watch("GET");
  std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
  BOOST_TEST(watch.feed(reply + "HTTP/1.1 200 OK\r\n") == reply.size());
  BOOST_TEST(watch.finished());
}
