#define BOOST_TEST_DYN_LINK
#include "server/pool.h"

#include <boost/test/unit_test.hpp>

#include "server/test_support.h"

using namespace loligo;
using namespace loligo::server;
using namespace loligo::server::test;
using base::Milliseconds;

namespace {

constexpr Milliseconds kLong{60'000}, kNoLimit{0};

// A connection whose other end is `peer`, registered as the connector would have done.
ServerConnectionPtr connection(net::Loop& loop, std::string key, int* peer = nullptr) {
  int fds[2] = {-1, -1};
  if (peer) {
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    *peer = fds[1];
  }
  auto c = std::make_unique<ServerConnection>(loop, std::make_unique<net::PlainStream>(fds[0]), nullptr);
  c->pool_key = std::move(key);
  c->opened_ms = loop.now_ms();
  c->requests = 1;
  if (peer) loop.add(fds[0], c.get());
  return c;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(the_last_one_in_is_the_first_one_out_by_key) {
  net::Loop loop;
  Pool pool(loop);
  auto a = connection(loop, "a"), b = connection(loop, "b"), a2 = connection(loop, "a");
  ServerConnection *first = a.get(), *second = a2.get(), *other = b.get();
  pool.put(std::move(a), kLong, kNoLimit);
  pool.put(std::move(b), kLong, kNoLimit);
  pool.put(std::move(a2), kLong, kNoLimit);
  BOOST_TEST(pool.idle() == 3u);
  BOOST_TEST((pool.take("c") == nullptr));
  BOOST_TEST(pool.take("a").get() == second);   // (destroyed at once: it is ours)
  BOOST_TEST(pool.take("a").get() == first);
  BOOST_TEST((pool.take("a") == nullptr));
  BOOST_TEST(pool.take("b").get() == other);
  BOOST_TEST(pool.idle() == 0u);
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_or_speaks_while_idle_loses_its_connection) {
  for (bool speaks : {false, true}) {
    net::Loop loop;
    Pool pool(loop);
    int peer = -1;
    pool.put(connection(loop, "a", &peer), kLong, kNoLimit);
    run_for(loop, 5);
    BOOST_TEST(pool.idle() == 1u);
    if (speaks) send_all(peer, "HTTP/1.1 200 OK\r\n\r\n");
    else ::shutdown(peer, SHUT_WR);
    BOOST_TEST(run_until(loop, [&] { return pool.idle() == 0; }));
    BOOST_TEST((pool.take("a") == nullptr));
    BOOST_TEST(pool.requests_per_connection()[1] == 1u);
    ::close(peer);
  }
}

BOOST_AUTO_TEST_CASE(an_idle_connection_goes_after_its_time) {
  net::Loop loop;
  Pool pool(loop);
  int peer = -1;
  pool.put(connection(loop, "a", &peer), Milliseconds(100), kNoLimit);
  pool.put(connection(loop, "b"), kLong, kNoLimit);
  BOOST_TEST(run_until(loop, [&] { return pool.idle() == 1; }));
  BOOST_TEST((pool.take("a") == nullptr));
  char c;
  BOOST_TEST(run_until(loop, [&] { return ::recv(peer, &c, 1, 0) == 0; }));   // closed, not leaked
  ::close(peer);
}

BOOST_AUTO_TEST_CASE(what_may_not_be_reused_is_not_kept) {
  net::Loop loop;
  Pool pool(loop);
  auto closed = connection(loop, "a");
  closed->peer_closed = true;
  pool.put(std::move(closed), kLong, kNoLimit);
  auto old = connection(loop, "a");
  old->opened_ms -= 5000;
  pool.put(std::move(old), kLong, Milliseconds(5000));
  pool.put(connection(loop, "a"), Milliseconds(0), kNoLimit);
  BOOST_TEST(pool.idle() == 0u);
  BOOST_TEST(pool.requests_per_connection()[1] == 3u);
  size_t keys = 0;
  pool.for_each_key([&](auto&, size_t) { ++keys; });
  BOOST_TEST(keys == 0u);
}

BOOST_AUTO_TEST_CASE(the_number_is_bounded_by_key_and_over_all) {
  net::Loop loop;
  Pool pool(loop);
  for (size_t i = 0; i < Pool::kMaxIdlePerKey + 10; ++i) {
    auto c = connection(loop, "a");
    c->opened_ms = int64_t(i);
    pool.put(std::move(c), kLong, kNoLimit);
  }
  BOOST_TEST(pool.idle() == Pool::kMaxIdlePerKey);
  int64_t oldest = 1000;
  pool.for_each_idle([&](const ServerConnection& c) { oldest = std::min(oldest, c.opened_ms); });
  BOOST_TEST(oldest == 10);   // the newest stay
  for (size_t i = 0; i < Pool::kMaxIdle; ++i) pool.put(connection(loop, std::to_string(i)), kLong, kNoLimit);
  BOOST_TEST(pool.idle() == Pool::kMaxIdle);
  BOOST_TEST((pool.take("a") == nullptr));    // the oldest went
  BOOST_TEST((pool.take("0") != nullptr));
  pool.close_all();
  BOOST_TEST(pool.idle() == 0u);
}

BOOST_AUTO_TEST_CASE(a_peer_knows_its_open_connections) {
  net::Loop loop;
  auto peer = std::make_shared<icp::PeerState>();
  Pool pool(loop);
  {
    auto c = std::make_unique<ServerConnection>(loop, std::make_unique<net::PlainStream>(-1), peer);
    c->pool_key = "p";
    pool.put(std::move(c), kLong, kNoLimit);
    BOOST_TEST(peer->open_connections == 1);
  }
  pool.take("p");
  BOOST_TEST(peer->open_connections == 0);
}

BOOST_AUTO_TEST_SUITE_END()
