#define BOOST_TEST_DYN_LINK
#include "server/relay.h"

#include <boost/test/unit_test.hpp>
#include <optional>

#include "server/test_support.h"

using namespace loligo;
using namespace loligo::server;
using namespace loligo::server::test;
using base::Milliseconds;

namespace {

// A relay between two socket pairs; the tests hold the far ends.
struct Setup final : net::Watcher {
  net::Loop loop;
  std::vector<char> scratch = std::vector<char>(64 * 1024);
  int client = -1, server = -1;   // far ends, non-blocking
  std::unique_ptr<net::Stream> near_client;
  std::unique_ptr<Relay> relay;
  std::optional<Relay::End> end;
  int ends = 0;

  explicit Setup(Milliseconds idle = Milliseconds(60'000), std::string to_server = {}, std::string to_client = {}) {
    int c[2], s[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, c) == 0);
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) == 0);
    client = c[1], server = s[1];
    near_client = std::make_unique<net::PlainStream>(c[0]);
    auto connection = std::make_unique<ServerConnection>(loop, std::make_unique<net::PlainStream>(s[0]), nullptr);
    loop.add(c[0], this);
    loop.add(s[0], connection.get());
    relay = std::make_unique<Relay>(loop, *near_client, std::move(connection), scratch);
    relay->start(std::move(to_server), std::move(to_client), idle, [this](Relay::End e) {
      end = e;
      ++ends;
      relay.reset();   // as a connection does
      loop.forget(this);
      near_client.reset();
    });
    BOOST_TEST(ends == 0);
  }
  ~Setup() {
    relay.reset();
    ::close(client);
    ::close(server);
  }
  void on_event(uint32_t events) override { if (relay) relay->client_event(events); }

  // What arrives at a far end until `size` bytes are there or it is closed.
  std::string receive(int fd, size_t size) {
    std::string text;
    bool closed = false;
    run_until(loop, [&] {
      char buffer[16384];
      for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) >= 0;) {
        if (n == 0) { closed = true; break; }
        text.append(buffer, size_t(n));
      }
      return closed || text.size() >= size;
    });
    return text;
  }
  bool at_end(int fd) {
    char c;
    return run_until(loop, [&] { return ::recv(fd, &c, 1, 0) == 0; });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(relay)

BOOST_AUTO_TEST_CASE(first_bytes_then_both_ways) {
  Setup s(Milliseconds(60'000), "early from client;", "200 established;");
  BOOST_TEST(s.receive(s.server, 18) == "early from client;");
  BOOST_TEST(s.receive(s.client, 16) == "200 established;");
  send_all(s.client, "ping");
  BOOST_TEST(s.receive(s.server, 4) == "ping");
  send_all(s.server, "pong");
  BOOST_TEST(s.receive(s.client, 4) == "pong");
  BOOST_TEST(s.relay->bytes_to_server() == 22u);
  BOOST_TEST(s.relay->bytes_to_client() == 20u);
}

// Bytes that were there before the relay raise no event any more.
BOOST_AUTO_TEST_CASE(a_server_that_spoke_first_is_heard) {
  Setup s;
  send_all(s.server, "220 welcome\r\n");
  BOOST_TEST(s.receive(s.client, 13) == "220 welcome\r\n");
}

BOOST_AUTO_TEST_CASE(half_close_passes_through_both_ways) {
  for (bool client_first : {true, false}) {
    Setup s;
    int first = client_first ? s.client : s.server, second = client_first ? s.server : s.client;
    send_all(first, "last words");
    ::shutdown(first, SHUT_WR);
    BOOST_TEST(s.receive(second, 10) == "last words");
    BOOST_TEST(s.at_end(second));
    BOOST_TEST(s.ends == 0);
    send_all(second, "answer after the end");   // the other direction goes on
    BOOST_TEST(s.receive(first, 20) == "answer after the end");
    ::shutdown(second, SHUT_WR);
    BOOST_TEST(run_until(s.loop, [&] { return s.ends == 1; }));
    BOOST_TEST((s.end == Relay::End::finished));
  }
}

BOOST_AUTO_TEST_CASE(a_side_that_does_not_read_holds_the_other_back) {
  Setup s;
  // The server pours; the client reads nothing. What the relay takes is what fits two socket buffers and its own.
  size_t poured = 0;
  auto pour = [&] {
    static const std::string block(64 * 1024, 'x');
    for (ssize_t n; (n = ::send(s.server, block.data(), block.size(), MSG_NOSIGNAL)) > 0;) poured += size_t(n);
    return false;
  };
  run_until(s.loop, pour, 300);
  BOOST_TEST(poured < 4u << 20);
  size_t before = poured;
  run_until(s.loop, pour, 100);
  BOOST_TEST(poured == before);
  // The quiet direction still works meanwhile.
  send_all(s.client, "hello");
  BOOST_TEST(s.receive(s.server, 5) == "hello");
  // And everything arrives once the client reads.
  size_t total = poured;
  BOOST_TEST(s.receive(s.client, total).size() == total);
}

BOOST_AUTO_TEST_CASE(two_full_streams_at_once_arrive_whole) {
  Setup s;
  constexpr size_t kTotal = 8u << 20;
  size_t sent[2] = {}, received[2] = {};
  const std::string block(64 * 1024, 'y');
  std::vector<char> sink(64 * 1024);
  bool all = run_until(s.loop, [&] {
    int fds[2] = {s.client, s.server};
    for (int i = 0; i < 2; ++i) {
      ssize_t n;
      while (sent[i] < kTotal && (n = ::send(fds[i], block.data(), std::min(block.size(), kTotal - sent[i]), MSG_NOSIGNAL)) > 0)
        sent[i] += size_t(n);
      while ((n = ::recv(fds[i], sink.data(), sink.size(), 0)) > 0) received[i] += size_t(n);
    }
    return received[0] == kTotal && received[1] == kTotal;
  }, 20'000);
  BOOST_TEST(all);
}

BOOST_AUTO_TEST_CASE(silence_ends_it) {
  Setup s(Milliseconds(150));
  run_for(s.loop, 100);
  send_all(s.client, "x");   // counts as life
  BOOST_TEST(s.receive(s.server, 1) == "x");
  int64_t since = s.loop.now_ms();
  BOOST_TEST(run_until(s.loop, [&] { return s.ends == 1; }));
  BOOST_TEST((s.end == Relay::End::idle_timeout));
  BOOST_TEST(s.loop.now_ms() - since >= 100);
  BOOST_TEST(s.at_end(s.server));
}

BOOST_AUTO_TEST_CASE(destroying_it_in_flight_is_quiet) {
  Setup s;
  send_all(s.client, "abc");
  s.relay.reset();
  run_for(s.loop, 10);
  BOOST_TEST(s.ends == 0);
}

// Over TCP, since only there a reset exists: a client that has ended its direction and then vanishes is noticed.
BOOST_AUTO_TEST_CASE(a_reset_after_half_close_ends_it) {
  net::Loop loop;
  std::vector<char> scratch(64 * 1024);
  uint16_t port = 0;
  int listening = listen_on("127.0.0.1", port);
  auto address = net::Address::parse("127.0.0.1", port);
  int far = ::socket(AF_INET, SOCK_STREAM, 0);
  BOOST_REQUIRE(::connect(far, address->data(), address->size()) == 0);
  int near = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK);
  int pair[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
  net::PlainStream client(near);
  auto connection = std::make_unique<ServerConnection>(loop, std::make_unique<net::PlainStream>(pair[0]), nullptr);
  struct Events final : net::Watcher {
    Relay* relay = nullptr;
    void on_event(uint32_t e) override { if (relay) relay->client_event(e); }
  } events;
  loop.add(near, &events);
  loop.add(pair[0], connection.get());
  Relay relay(loop, client, std::move(connection), scratch);
  events.relay = &relay;
  std::optional<Relay::End> end;
  relay.start({}, {}, Milliseconds(60'000), [&](Relay::End e) { end = e; });
  ::shutdown(far, SHUT_WR);
  char c;
  BOOST_TEST(run_until(loop, [&] { return ::recv(pair[1], &c, 1, 0) == 0; }));
  BOOST_TEST(!end.has_value());
  struct ::linger hard{1, 0};
  ::setsockopt(far, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(far);
  BOOST_TEST(run_until(loop, [&] { return end.has_value(); }));
  BOOST_TEST((end == Relay::End::client_error));
  loop.forget(&events);
  ::close(listening);
  ::close(pair[1]);
}

BOOST_AUTO_TEST_SUITE_END()
