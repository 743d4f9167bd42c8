#include "net/loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::net;
using loligo::base::Milliseconds;

BOOST_AUTO_TEST_SUITE(loop)

BOOST_AUTO_TEST_CASE(timers_fire_in_their_order_and_never_early) {
  Loop loop;
  std::vector<int> order;
  FunctionTimer a, b, c, moved, cancelled;
  int64_t start = loop.now_ms();
  a.call = [&] { order.push_back(1); BOOST_TEST(loop.now_ms() - start >= 10); };
  b.call = [&] { order.push_back(2); BOOST_TEST(loop.now_ms() - start >= 150); };
  moved.call = [&] { order.push_back(3); BOOST_TEST(loop.now_ms() - start >= 300); };
  cancelled.call = [&] { order.push_back(99); };
  c.call = [&] { loop.stop(); };
  loop.arm(a, Milliseconds(10));
  loop.arm(b, Milliseconds(150));
  loop.arm(moved, Milliseconds(20));
  loop.arm(moved, Milliseconds(300));
  loop.arm(cancelled, Milliseconds(100));
  cancelled.cancel();
  loop.arm(c, Milliseconds(500));
  loop.run();
  BOOST_TEST(order == (std::vector<int>{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(a_timer_moved_earlier_fires_earlier) {
  Loop loop;
  FunctionTimer timer;
  timer.call = [&] { loop.stop(); };
  int64_t start = loop.now_ms();
  loop.arm(timer, Milliseconds(100'000));
  loop.arm(timer, Milliseconds(50));
  loop.run();
  BOOST_TEST(loop.now_ms() - start < 2000);
}

BOOST_AUTO_TEST_CASE(a_timer_may_destroy_its_neighbour) {
  Loop loop;
  auto a = std::make_unique<FunctionTimer>(), b = std::make_unique<FunctionTimer>();
  int fired = 0;
  a->call = [&] { ++fired; b.reset(); };
  b->call = [&] { ++fired; a.reset(); };
  FunctionTimer end;
  end.call = [&] { loop.stop(); };
  loop.arm(*a, Milliseconds(10));
  loop.arm(*b, Milliseconds(10));
  loop.arm(end, Milliseconds(200));
  loop.run();
  BOOST_TEST(fired == 1);
}

BOOST_AUTO_TEST_CASE(a_long_deadline_of_an_idle_loop_is_met_to_the_slot) {
  Loop loop;
  FunctionTimer timer;
  timer.call = [&] { loop.stop(); };
  // Beyond the fine wheel, and early in its coarse slot: a timer put off to the next one would be seconds late.
  int64_t due = (loop.now_ms() / 4096 + 1) * 4096 + 200;
  if (due - loop.now_ms() < 4300) due += 4096;
  loop.arm(timer, Milliseconds(due - loop.now_ms()));
  loop.run();
  BOOST_TEST(loop.now_ms() >= due);
  BOOST_TEST(loop.now_ms() < due + 1000);
}

BOOST_AUTO_TEST_CASE(posts_from_another_thread_wake_the_loop) {
  Loop loop;
  int seen = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop.post([&] { ++seen; });
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  BOOST_TEST(seen == 1000);
}

BOOST_AUTO_TEST_CASE(what_is_handed_over_runs_later_on_the_loops_thread) {
  Loop loop;
  std::vector<int> order;
  auto hand_over = [&](int n) { loop.hand_over([&order, &loop, n] { order.push_back(n); BOOST_TEST(loop.in_this_thread()); }); };
  loop.post([&] {
    hand_over(2);
    order.push_back(1);
    std::thread([&] { hand_over(3); }).join();
    loop.defer([&] { loop.defer([&] { loop.defer([&] { loop.stop(); }); }); });
  });
  loop.run();
  BOOST_TEST(order == (std::vector<int>{1, 2, 3}));
}

struct Echo : Watcher {
  std::function<void(uint32_t)> call;
  void on_event(uint32_t events) override { call(events); }
};

BOOST_AUTO_TEST_CASE(no_event_comes_after_remove) {
  Loop loop;
  int a[2], b[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, a) == 0);
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, b) == 0);
  int events = 0;
  Echo first, second;
  // Both become readable in the same turn; whichever runs first removes the other.
  first.call = [&](uint32_t e) { if (e & EPOLLIN) { ++events; loop.remove(b[0], &second); } };
  second.call = [&](uint32_t e) { if (e & EPOLLIN) { ++events; loop.remove(a[0], &first); } };
  BOOST_TEST(loop.add(a[0], &first, EPOLLIN | EPOLLET));
  BOOST_TEST(loop.add(b[0], &second, EPOLLIN | EPOLLET));
  BOOST_TEST(::write(a[1], "x", 1) == 1);
  BOOST_TEST(::write(b[1], "x", 1) == 1);
  FunctionTimer end;
  end.call = [&] { loop.stop(); };
  loop.arm(end, Milliseconds(50));
  loop.run();
  BOOST_TEST(events == 1);
  for (int fd : {a[0], a[1], b[0], b[1]}) ::close(fd);
}

BOOST_AUTO_TEST_SUITE_END()
