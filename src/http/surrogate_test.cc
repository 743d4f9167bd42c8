#include "http/surrogate.h"

#include "http/test_head.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(surrogate)

BOOST_AUTO_TEST_CASE(what_is_followed) {
  // max_age kAbsent with no_store false: nothing is for us.
  struct Row { const char* value; bool remote; int64_t max_age, stale; bool no_store; };
  const Row kRows[] = {
      {"max-age=60", false, 60, 0, false},
      {"MAX-AGE=3600+600", false, 3600, 600, false},
      {"max-age=60 + 5", false, 60, 5, false},
      {"no-store", false, kAbsent, 0, true},
      {"no-store, max-age=60", false, 60, 0, true},
      {"content=\"ESI/1.0\"", false, kAbsent, 0, false},
      {"content=\"ESI/1.0 x;front\", max-age=9", false, 9, 0, false},
      {"no-store;other", false, kAbsent, 0, false},
      {"max-age=60;front", false, 60, 0, false},
      {"max-age=60;front, max-age=5", false, 60, 0, false},
      {"max-age=5, max-age=60 ; front ", false, 60, 0, false},
      {"max-age=60;front, no-store", false, 60, 0, false},
      {"max-age=60, no-store;front", false, 60, 0, true},
      {"max-age=60;Front", false, kAbsent, 0, false},
      {"no-store-remote, max-age=5", false, 5, 0, false},
      {"no-store-remote, max-age=5", true, 5, 0, true},
      {"max-age", false, 0, 0, false},
      {"max-age=soon", false, 0, 0, false},
      {"max-age=-1", false, 0, 0, false},
      {"max-age=99999999999999999999", false, kDeltaMax, 0, false},
      {";front", false, kAbsent, 0, false},
      {"", false, kAbsent, 0, false},
  };
  for (const Row& row : kRows) {
    TestHead head = response_with(std::string("Cache-Control: private\r\nSurrogate-Control: ") + row.value + "\r\n");
    auto got = surrogate_cache_control(head.head, head.bytes(), {"front", row.remote});
    const bool none = row.max_age == kAbsent && !row.no_store;
    BOOST_TEST_CONTEXT(row.value) {
      BOOST_TEST(got.has_value() == !none);
      if (!got || none) continue;
      BOOST_TEST(got->no_store == row.no_store);
      BOOST_TEST(got->max_age == row.max_age);
      BOOST_TEST(got->stale_while_revalidate == row.stale);
      BOOST_TEST(!got->private_);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
