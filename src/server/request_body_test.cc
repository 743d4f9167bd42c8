#define BOOST_TEST_DYN_LINK
#include "server/request_body.h"

#include <boost/test/unit_test.hpp>

using loligo::server::RequestBody;

namespace {
struct Producer final : RequestBody::Producer {
  int told = 0;
  void body_space() override { ++told; }
};
struct Consumer final : RequestBody::Consumer {
  int told = 0;
  void body_arrived() override { ++told; }
};
constexpr size_t kCapacity = 40'000;
}  // namespace

BOOST_AUTO_TEST_SUITE(request_body)

BOOST_AUTO_TEST_CASE(bytes_come_out_as_they_went_in) {
  RequestBody body;
  Consumer consumer;
  body.push("before anybody listens, ");
  body.consumer = &consumer;
  body.push("and after");
  BOOST_TEST(consumer.told == 1);
  BOOST_TEST(body.data() == "before anybody listens, and after");
  BOOST_TEST(body.untouched());
  body.consume(7);
  BOOST_TEST(!body.untouched());
  BOOST_TEST(body.data() == "anybody listens, and after");
  body.finish("X-T: 1\r\n");
  BOOST_TEST(consumer.told == 2);
  BOOST_TEST(body.finished());
  BOOST_TEST(body.trailers() == "X-T: 1\r\n");
  body.consume(body.data().size());
  BOOST_TEST(body.data().empty());
  BOOST_TEST(body.total() == 33u);
}

BOOST_AUTO_TEST_CASE(the_producer_hears_of_space_and_never_has_more_than_the_capacity) {
  RequestBody body(kCapacity);
  Producer producer;
  body.producer = &producer;
  BOOST_TEST(body.space() == kCapacity);
  body.push(std::string(kCapacity, 'x'));
  BOOST_TEST(body.space() == 0u);
  body.consume(10);
  BOOST_TEST(producer.told == 0);   // not worth a read yet
  BOOST_TEST(body.space() == 10u);
  body.consume(kCapacity / 2);
  BOOST_TEST(producer.told == 1);
  BOOST_TEST(body.space() == kCapacity / 2 + 10);
}

// What has been consumed does not stay in memory while the other side keeps the buffer from running empty.
BOOST_AUTO_TEST_CASE(a_long_stream_keeps_its_order) {
  RequestBody body;
  std::string sent, seen;
  for (int i = 0; i < 1000; ++i) {
    std::string piece = std::to_string(i) + std::string(size_t(i) % 700, '.');
    sent += piece;
    body.push(piece);
    size_t take = std::min<size_t>(body.data().size(), 300);
    seen += body.data().substr(0, take);
    body.consume(take);
  }
  seen += body.data();
  BOOST_TEST((seen == sent));
}

BOOST_AUTO_TEST_CASE(what_nobody_wants_is_counted_and_dropped) {
  RequestBody body;
  Producer producer;
  body.producer = &producer;
  body.push("abc");
  body.discard();
  BOOST_TEST(producer.told == 1);
  body.push("defg");
  BOOST_TEST(body.data().empty());
  BOOST_TEST(body.total() == 7u);
}

BOOST_AUTO_TEST_CASE(an_abort_is_told) {
  RequestBody body;
  Consumer consumer;
  body.consumer = &consumer;
  body.abort();
  BOOST_TEST(body.aborted());
  BOOST_TEST(!body.finished());
  BOOST_TEST(consumer.told == 1);
}

BOOST_AUTO_TEST_SUITE_END()
