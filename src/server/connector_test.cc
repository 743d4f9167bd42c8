#define BOOST_TEST_DYN_LINK
#include "server/connector.h"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <optional>

#include "server/test_support.h"

using namespace loligo;
using namespace loligo::server;
using namespace loligo::server::test;
using base::Milliseconds;

namespace {

net::DnsSettings no_dns() {
  net::DnsSettings s;
  s.dns_nameservers = {"127.0.0.1:9"};   // never asked here
  s.hosts_file = "none";
  return s;
}

struct Setup {
  net::Loop loop;
  net::Resolver resolver;
  Connector connector{loop, resolver};
  std::optional<ConnectResult> result;
  int calls = 0;

  explicit Setup(std::string_view hosts = "") : resolver(loop, no_dns(), net::HostsFile::parse(hosts)) {}
  void start(ConnectTarget target) {
    connector.start(std::move(target), [this](ConnectResult r) {
      ++calls;
      result = std::move(r);
    });
    BOOST_TEST(calls == 0);   // never from within start()
  }
  bool wait(int ms = 5000) { return run_until(loop, [&] { return calls > 0; }, ms); }
};

ConnectTarget target(std::string host, uint16_t port) {
  ConnectTarget t;
  t.host = std::move(host);
  t.port = port;
  return t;
}

// A listener that answers nobody: its accept queue is full, so further SYNs are dropped.
struct Deaf {
  uint16_t port = 0;
  int fd;
  std::vector<int> fill;
  explicit Deaf(const char* host, uint16_t at = 0) : port(at) {
    fd = listen_on(host, port, 0);
    auto address = net::Address::parse(host, port);
    for (int i = 0; i < 4; ++i) {
      int c = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      [[maybe_unused]] int r = ::connect(c, address->data(), address->size());
      fill.push_back(c);
    }
    ::usleep(20'000);
  }
  ~Deaf() {
    for (int c : fill) ::close(c);
    ::close(fd);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(connector)

BOOST_AUTO_TEST_CASE(a_literal_address_that_listens) {
  uint16_t port = 0;
  int fd = listen_on("127.0.0.1", port);
  Setup s;
  s.start(target("127.0.0.1", port));
  BOOST_REQUIRE(s.wait());
  BOOST_TEST((s.result->error == ConnectError::none));
  BOOST_REQUIRE(bool(s.result->connection));
  BOOST_TEST(s.result->connection->address.text() == "127.0.0.1:" + std::to_string(port));
  BOOST_TEST(s.result->connection->local.host() == "127.0.0.1");
  BOOST_TEST(s.result->attempts == 1u);
  BOOST_TEST(s.loop.counters().server_connections.get() == 1u);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(a_refused_first_address_and_a_good_second) {
  uint16_t port = 0;
  int fd = listen_on("127.0.0.1", port);
  Setup s("127.0.0.9 two.example\n127.0.0.1 two.example\n");
  s.start(target("two.example", port));
  BOOST_REQUIRE(s.wait());
  BOOST_REQUIRE(bool(s.result->connection));
  BOOST_TEST(s.result->connection->address.host() == "127.0.0.1");
  BOOST_TEST(s.result->attempts == 2u);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(all_refused) {
  uint16_t port = 0;
  ::close(listen_on("127.0.0.1", port));
  Setup s("127.0.0.9 two.example\n127.0.0.1 two.example\n");
  s.start(target("two.example", port));
  BOOST_REQUIRE(s.wait());
  BOOST_TEST((s.result->error == ConnectError::refused));
  BOOST_TEST(s.result->system_error == ECONNREFUSED);
  BOOST_TEST(!s.result->connection);
  BOOST_TEST(s.result->last_address.port() == port);
  BOOST_TEST(s.result->attempts == 2u);
  run_for(s.loop, 50);
  BOOST_TEST(s.calls == 1);
}

BOOST_AUTO_TEST_CASE(connect_retries_try_each_address_again) {
  uint16_t port = 0;
  ::close(listen_on("127.0.0.1", port));
  Setup s;
  ConnectTarget t = target("127.0.0.1", port);
  t.attempts_per_address = 3;
  s.start(std::move(t));
  BOOST_REQUIRE(s.wait());
  BOOST_TEST(s.result->attempts == 3u);
}

BOOST_AUTO_TEST_CASE(nobody_answers_in_time) {
  Deaf deaf("127.0.0.1");
  Setup s;
  ConnectTarget t = target("127.0.0.1", deaf.port);
  t.timeout = Milliseconds(200);
  int64_t since = s.loop.now_ms();
  s.start(std::move(t));
  BOOST_REQUIRE(s.wait());
  BOOST_TEST((s.result->error == ConnectError::timeout));
  BOOST_TEST(s.loop.now_ms() - since >= 200);
  BOOST_TEST(s.loop.now_ms() - since < 2000);
}

// RFC 8305: the second address is tried while the first still hangs.
BOOST_AUTO_TEST_CASE(a_slow_first_address_does_not_hold_up_the_second) {
  uint16_t port = 0;
  int fd = listen_on("127.0.0.1", port);
  Deaf deaf("127.0.0.9", port);
  BOOST_REQUIRE(deaf.fd >= 0);
  Setup s("127.0.0.9 two.example\n127.0.0.1 two.example\n");
  ConnectTarget t = target("two.example", port);
  t.timeout = Milliseconds(10'000);
  t.stagger = Milliseconds(100);
  int64_t since = s.loop.now_ms();
  s.start(std::move(t));
  BOOST_REQUIRE(s.wait());
  BOOST_REQUIRE(bool(s.result->connection));
  BOOST_TEST(s.result->connection->address.host() == "127.0.0.1");
  BOOST_TEST(s.loop.now_ms() - since < 3000);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(second_attempts_keep_their_distance_and_their_number) {
  SpareAttempts free(Milliseconds(-1), -1), apart(Milliseconds(100), -1), two(Milliseconds(-1), 2), none(Milliseconds(-1), 0);
  SpareAttempts::Place a, b, c;
  BOOST_TEST(free.take(1000, a) == 0);
  BOOST_TEST(free.take(1000, b) == 0);
  BOOST_TEST(apart.take(1000, a) == 0);
  BOOST_TEST(apart.take(1030, b) == 70);
  BOOST_TEST(apart.take(1100, b) == 0);
  BOOST_TEST(two.take(1000, a) == 0);
  BOOST_TEST(two.take(1000, b) == 0);
  BOOST_TEST(two.take(1000, c) > 0);
  BOOST_TEST(!c);
  a.reset();
  BOOST_TEST(two.take(1000, c) == 0);
  BOOST_TEST(none.take(1000, a) > 0);
}

// happy_eyeballs_connect_limit 0: one address after the other. A first attempt that fails leaves the second as the first.
BOOST_AUTO_TEST_CASE(bounds_hold_for_attempts_beside_another_alone) {
  uint16_t port = 0;
  int fd = listen_on("127.0.0.1", port);
  Deaf deaf("127.0.0.9", port);
  for (bool hangs : {true, false}) {
    Setup s(hangs ? "127.0.0.9 two.example\n127.0.0.1 two.example\n" : "127.0.0.8 two.example\n127.0.0.1 two.example\n");
    ConnectTarget t = target("two.example", port);
    t.timeout = Milliseconds(600);
    t.stagger = Milliseconds(50);
    t.spares = std::make_shared<SpareAttempts>(Milliseconds(-1), 0);
    s.start(std::move(t));
    BOOST_REQUIRE(s.wait());
    BOOST_TEST((s.result->error == (hangs ? ConnectError::timeout : ConnectError::none)));
    BOOST_TEST(s.result->attempts == (hangs ? 1u : 2u));
  }
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(an_unknown_name) {
  Setup s;
  s.start(target("not a name", 80));
  BOOST_REQUIRE(s.wait());
  BOOST_TEST((s.result->error == ConnectError::dns));
  BOOST_TEST(!s.result->detail.empty());
  BOOST_TEST(s.result->attempts == 0u);
}

BOOST_AUTO_TEST_CASE(destroying_it_cancels) {
  uint16_t port = 0;
  int fd = listen_on("127.0.0.1", port);
  net::Loop loop;
  net::Resolver resolver(loop, no_dns(), net::HostsFile::parse(""));
  int calls = 0;
  for (const char* host : {"127.0.0.1", "not a name"}) {
    auto c = std::make_unique<Connector>(loop, resolver);
    c->start(target(host, port), [&](ConnectResult) { ++calls; });
    c.reset();
  }
  run_for(loop, 50);
  BOOST_TEST(calls == 0);
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(a_peer_dies_by_failures_in_a_row_and_revives) {
  uint16_t port = 0;
  ::close(listen_on("127.0.0.1", port));
  auto peer = std::make_shared<icp::PeerState>();
  auto attempt = [&] {
    Setup s;
    ConnectTarget t = target("127.0.0.1", port);
    t.peer = peer;
    t.peer_fail_limit = 2;
    s.start(std::move(t));
    BOOST_REQUIRE(s.wait());
    BOOST_TEST(peer->open_connections == (s.result->connection ? 1 : 0));
  };
  attempt();
  BOOST_TEST(peer->alive);
  attempt();
  BOOST_TEST(!peer->alive);
  BOOST_TEST(peer->open_connections == 0);
  int fd = listen_on("127.0.0.1", port);
  attempt();
  BOOST_TEST(peer->alive);
  BOOST_TEST(peer->failures == 0);
  BOOST_TEST(peer->revivals == 1u);
  ::close(fd);
}

BOOST_AUTO_TEST_SUITE_END()
