// The client against a scripted server on loopback: what is printed, and what the exit code says.
#include "helpers/client_exchange.h"

#define BOOST_TEST_DYN_LINK
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <thread>

#include "helpers/client_ping.h"

using namespace loligo::helpers;

namespace {

// Listens on a free port; serve() answers one connection with `reply` after it has read up to the blank line.
class Server {
 public:
  Server() {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    BOOST_REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&a), size) == 0 && ::listen(fd_, 8) == 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size);
    port = std::to_string(ntohs(a.sin_port));
  }
  ~Server() {
    if (thread_.joinable()) thread_.join();
    ::close(fd_);
  }
  void serve(std::string reply, size_t body_bytes = 0, int times = 1) {
    thread_ = std::thread([=, this] {
      for (int i = 0; i < times; ++i) answer(reply, body_bytes);
    });
  }
  void join() { thread_.join(); }
  std::string port, seen;

 private:
  void answer(const std::string& reply, size_t body_bytes) {
    int c = ::accept(fd_, nullptr, nullptr);
    char buffer[4096];
    seen.clear();
    for (size_t end; (end = seen.find("\r\n\r\n")) == seen.npos || seen.size() < end + 4 + body_bytes;) {
      ssize_t n = ::recv(c, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      seen.append(buffer, size_t(n));
    }
    (void)!::write(c, reply.data(), reply.size());
    ::close(c);
  }
  int fd_;
  std::thread thread_;
};

ClientOptions options_for(const Server& server) {
  ClientOptions o;
  o.host = "127.0.0.1";
  o.port = server.port;
  o.url = "http://origin.example/x";
  o.timeout_seconds = 5;
  return o;
}

}  // namespace

BOOST_AUTO_TEST_CASE(exit_codes) {
  struct { const char* reply; int code; } table[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0},       {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 0},
      {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 2}, {"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n", 3},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1},       {"plain text", 0},
      {"", 1},
  };
  for (auto& row : table) {
    Server server;
    server.serve(row.reply);
    BOOST_TEST(exit_code(exchange(options_for(server), nullptr)) == row.code, row.reply);
  }
}

BOOST_AUTO_TEST_CASE(the_reply_is_printed_as_it_came) {
  Server server;
  const std::string reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  server.serve(reply);
  char* text = nullptr;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  Exchange e = exchange(options_for(server), out);
  fclose(out);
  BOOST_TEST(std::string(text, size) == reply);
  BOOST_TEST(e.reply_bytes == reply.size());
  BOOST_TEST(e.status == 200);
  free(text);
}

BOOST_AUTO_TEST_CASE(a_file_goes_as_the_body) {
  char path[] = "/tmp/loligo-payload-XXXXXX";
  int fd = mkstemp(path);
  std::string body(200'000, 'b');
  BOOST_REQUIRE(::write(fd, body.data(), body.size()) == ssize_t(body.size()));
  ::close(fd);
  Server server;
  server.serve("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", body.size());
  ClientOptions o = options_for(server);
  o.method = "PUT";
  o.payload_path = path;
  Exchange e = exchange(o, nullptr);
  server.join();
  ::unlink(path);
  BOOST_TEST(e.error == "");
  BOOST_TEST(server.seen.ends_with("\r\n\r\n" + body));
  BOOST_TEST(server.seen.find("Content-length: 200000\r\n") != std::string::npos);
  o.payload_path = "/nonexistent";
  BOOST_TEST(exchange(o, nullptr).error == "Cannot open /nonexistent: No such file or directory");
}

BOOST_AUTO_TEST_CASE(no_server_and_no_such_host) {
  std::string port;
  { Server gone; port = gone.port; }
  ClientOptions o;
  o.url = "mgr:info";
  o.host = "127.0.0.1";
  o.port = port;
  BOOST_TEST(exchange(o, nullptr).error == "Cannot connect to 127.0.0.1:" + port);
  o.local_address = "192.0.2.1";  // documentation address: nobody has it
  BOOST_TEST(exchange(o, nullptr).error == "Cannot use the local address 192.0.2.1");
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_given_up) {
  Server server;  // accepts in the kernel, never answers
  ClientOptions o = options_for(server);
  o.timeout_seconds = 1;
  BOOST_TEST(exchange(o, nullptr).error == "Timed out after 1 seconds");
}

BOOST_AUTO_TEST_CASE(ping_summary) {
  PingSummary s;
  BOOST_TEST(s.text() == "0 requests, round-trip (secs) min/avg/max = 0.000/0.000/0.000");
  for (int ms : {5, 0, 1}) s.add(ms);
  BOOST_TEST(s.text() == "3 requests, round-trip (secs) min/avg/max = 0.000/0.002/0.005");
}

BOOST_AUTO_TEST_CASE(ping_repeats) {
  Server server;
  server.serve("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0, 2);
  ClientOptions o = options_for(server);
  o.ping_count = 2;
  o.ping_interval_seconds = 0;
  BOOST_TEST(ping(o) == 2);
}
