#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "store/memory.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using loligo::base::Ref;
using loligo::base::make_ref;

namespace {

struct Text final : Object {
  Text(Key k, Ref<Body> b, std::string name = {}) : Object(k, std::move(b)), name(std::move(name)) {}
  uint64_t head_memory() const override { return 0; }
  std::string name;
};

Ref<Object> object(uint64_t key, size_t size, std::string name = {}) {
  auto body = make_ref<Body>(size, true, 0);
  body->append(std::string(size, 'x'));
  body->complete();
  return make_ref<Text>(Key{key, key * 0x9E3779B97F4A7C15u}, body, name);
}
Key key(uint64_t k) { return {k, k * 0x9E3779B97F4A7C15u}; }
const auto any = [](const Object&) { return true; };
const auto none = [](const Object&) { return false; };

struct TestReader : Reader {
  using Reader::Reader;
  std::atomic<int> wakes{0};
  void woken() override { ++wakes; }
};
struct TestWriter : Writer {
  std::atomic<int> wakes{0};
  void writer_woken() override { ++wakes; }
};

std::string read_all(const Body& body, uint64_t from) {
  iovec parts[64];
  auto view = body.view(from, parts, 64, kUnknownLength);
  std::string out;
  for (int i = 0; i < view.parts; ++i) out.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(body)

BOOST_AUTO_TEST_CASE(a_reader_is_woken_once_for_bytes_past_its_place) {
  auto body = make_ref<Body>(kUnknownLength, true, 0);
  TestReader reader;
  BOOST_TEST(body->attach(&reader, 0, 0));
  BOOST_TEST(body->wait(&reader, 0));
  body->append("ab");
  body->append("cd");
  BOOST_TEST(reader.wakes == 1);
  BOOST_TEST(read_all(*body, 1) == "bcd");
  BOOST_TEST(!body->wait(&reader, 0));
  BOOST_TEST(body->wait(&reader, 4));
  body->complete("X: 1\r\n");
  BOOST_TEST(reader.wakes == 2);
  BOOST_TEST((body->state() == Body::State::complete));
  BOOST_TEST(body->trailers() == "X: 1\r\n");
  body->detach(&reader);
}

BOOST_AUTO_TEST_CASE(an_expected_length_takes_exactly_that_memory) {
  auto body = make_ref<Body>(10'000, true, 0);
  body->append(std::string(10'000, 'a'));
  body->complete();
  BOOST_TEST(body->memory() == 10'000u);
  auto unknown = make_ref<Body>(kUnknownLength, true, 0);
  unknown->append(std::string(5000, 'a'));
  unknown->complete();
  BOOST_TEST(unknown->memory() <= 5000u + 512);
}

BOOST_AUTO_TEST_CASE(an_unretained_body_holds_only_what_its_reader_has_not_taken) {
  auto body = make_ref<Body>(kUnknownLength, false, 64 * 1024);
  TestReader reader;
  TestWriter writer;
  body->attach_writer(&writer);
  BOOST_TEST(body->attach(&reader, 0, 0));
  uint64_t sent = 0;
  std::string block(16 * 1024, 'b');
  for (int i = 0; i < 10'000; ++i) {
    if (body->room() == 0) {
      sent = body->length();
      body->advance(&reader, sent, 0);
    }
    body->append(block);
    BOOST_REQUIRE(body->memory() <= 3 * 64 * 1024u + block.size());
  }
  BOOST_TEST(body->length() == 10'000 * block.size());
  BOOST_TEST(writer.wakes > 100);
  TestReader late;
  BOOST_TEST(!body->attach(&late, 0, 0));
  body->detach(&reader);
}

// So that a fetch for nobody can end at once (quick_abort), and not with its next byte.
BOOST_AUTO_TEST_CASE(the_writer_hears_that_the_last_reader_has_gone) {
  for (bool retained : {true, false}) {
    auto body = make_ref<Body>(kUnknownLength, retained, 64 * 1024);
    TestReader first, second;
    TestWriter writer;
    body->attach_writer(&writer);
    BOOST_TEST(body->attach(&first, 0, 0));
    BOOST_TEST(body->attach(&second, 0, 0));
    body->append("some");
    body->detach(&first);
    BOOST_TEST(writer.wakes == 0);
    body->detach(&second);
    BOOST_TEST(writer.wakes == 1);
    body->detach_writer();
    BOOST_TEST(body->attach(&first, 0, 0));
    body->detach(&first);
    BOOST_TEST(writer.wakes == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_reader_of_a_later_part_lets_what_lies_before_pass) {
  auto body = make_ref<Body>(kUnknownLength, false, 64 * 1024);
  TestReader reader;
  BOOST_TEST(body->attach(&reader, 1'000'000, 0));
  std::string block(10'000, 'd');
  while (body->length() < 1'000'000) {
    BOOST_REQUIRE(body->room() > 0u);
    body->append(block);
    BOOST_REQUIRE(body->memory() <= 4 * 64 * 1024u);
  }
  BOOST_TEST(body->wait(&reader, 1'000'000));
  body->append("here");
  BOOST_TEST(reader.wakes == 1);
  BOOST_TEST(read_all(*body, 1'000'000) == "here");
  body->detach(&reader);
}

BOOST_AUTO_TEST_CASE(a_stalled_reader_is_cut_off_and_the_others_go_on) {
  auto body = make_ref<Body>(kUnknownLength, false, 64 * 1024);
  TestReader fast, stalled;
  TestWriter writer;
  body->attach_writer(&writer);
  BOOST_TEST(body->attach(&fast, 0, 0));
  BOOST_TEST(body->attach(&stalled, 0, 0));
  std::string block(32 * 1024, 'c');
  while (body->room() > 0) {
    body->append(block);
    body->advance(&fast, body->length(), 1);
  }
  BOOST_TEST(body->memory() <= Body::kHoldLimit + 128 * 1024);
  BOOST_TEST(body->cut_laggards(1000) == 0u);
  BOOST_TEST(body->cut_laggards(60'000) == 1u);
  BOOST_TEST(stalled.cut());
  BOOST_TEST(!fast.cut());
  BOOST_TEST(stalled.wakes == 1);
  BOOST_TEST(writer.wakes == 1);
  BOOST_TEST(body->room() > 0u);
  body->detach(&stalled);
  body->detach(&fast);
}

struct TestHistory final : BodySource {
  Ready piece(uint64_t offset, Piece& piece) override { return piece.file_offset = offset, Ready::now; }
  bool wait(Reader*, uint64_t) override { return false; }
  void leave(Reader*) override {}
};

BOOST_AUTO_TEST_CASE(what_memory_has_let_go_is_read_from_history) {
  auto body = make_ref<Body>(kUnknownLength, false, 64 * 1024);
  TestWriter writer;
  body->attach_writer(&writer);
  Budget budget(64 << 20);
  TestReader client, slow, late, other, disk{&budget};
  BOOST_TEST(body->attach(&client, 0, 0, true));
  BOOST_TEST(body->attach(&slow, 0, 0, true));
  BOOST_TEST(body->attach(&disk, 0, 0));
  BOOST_TEST(body->followed());
  auto history = loligo::base::Ref<BodySource>(new TestHistory);
  std::string block(64 * 1024, 'h');
  iovec parts[128];
  // The disk writes a megabyte whenever it has one; until then memory holds it.
  uint64_t written = 0;
  auto go_on = [&](uint64_t to) {
    while (body->length() < to) {
      BOOST_REQUIRE(body->room() > 0u);
      body->append(block);
      body->advance(&client, body->length(), 0);
      if (body->length() - written >= 1 << 20) body->keep_history(history, written = body->length());
      body->advance(&disk, body->length(), 0, written);
    }
  };
  go_on(512 << 10);
  BOOST_TEST(body->view(&slow, 0, parts, 128, kUnknownLength).bytes == 512u << 10);   // and looks at it
  // One that lags is behind instead of holding the others back; what it looks at stays as long as it does.
  while (body->room() > 0) go_on(body->length() + block.size());
  BOOST_TEST(slow.behind());
  BOOST_TEST(!slow.cut());
  BOOST_TEST(body->memory() >= Body::kHoldLimit);
  BOOST_TEST(static_cast<const char*>(parts[0].iov_base)[0] == 'h');
  body->end_view(&slow);
  go_on(11 << 20);
  BOOST_TEST(body->memory() <= (5 << 20) + 128 * 1024);
  // One that comes late begins there, and one that cannot read files cannot begin.
  BOOST_TEST(!body->attach(&other, 0, 0));
  BOOST_TEST(body->attach(&late, 0, 0, true));
  BOOST_TEST(late.behind());
  BOOST_TEST(body->reader_count() == 3u);
  BOOST_TEST(body->view(&late, 0, parts, 128, kUnknownLength).bytes == 0u);
  BOOST_TEST(!body->wait(&late, 0));
  BOOST_TEST(!body->catch_up(&late, 1000));
  BOOST_TEST(body->history() == history.get());
  // Caught up, it is as the others, up to the end.
  BOOST_TEST(body->catch_up(&late, written));
  BOOST_TEST(!late.behind());
  BOOST_TEST(body->view(&late, written, parts, 128, kUnknownLength).bytes == body->length() - written);
  body->detach(&client);
  body->detach(&slow);
  // With nobody in front the disk leads.
  body->advance(&late, body->length(), 0);
  body->detach(&late);
  BOOST_TEST(body->attach(&late, 0, 0, true));
  uint64_t before = body->length();
  while (body->room() > 0) body->append(block);
  BOOST_TEST(body->length() < before + (1 << 20));
  body->advance(&disk, body->length(), 0, written);
  BOOST_TEST(body->room() > 0u);
  // Over, and written: memory keeps nothing, and late ones may still come.
  body->complete();
  body->keep_history(history, body->length());
  body->detach(&disk);
  body->detach(&late);
  BOOST_TEST(body->memory() == 0u);
  BOOST_TEST(!body->followed());
  BOOST_TEST(body->attach(&late, 0, 0, true));
  BOOST_TEST(late.behind());
  body->detach(&late);
}

BOOST_AUTO_TEST_CASE(a_background_reader_holds_nobody_up_and_is_nobody_who_wants_it) {
  auto body = make_ref<Body>(kUnknownLength, false, 16 * 1024);
  TestWriter writer;
  body->attach_writer(&writer);
  Budget budget(8 << 20);
  TestReader client, disk{&budget};
  BOOST_TEST(body->attach(&client, 0, 0));
  BOOST_TEST(body->attach(&disk, 0, 0));
  BOOST_TEST(body->reader_count() == 1u);
  // It does not lead: a client that takes nothing holds the writer as if alone.
  std::string block(8 * 1024, 'c');
  while (body->room() > 0) {
    body->append(block);
    body->advance(&disk, body->length(), 0);
  }
  BOOST_TEST(body->length() <= 24 * 1024u);
  BOOST_TEST(!disk.cut());
  // It does not hold back. What it lags is held within its budget, and given back when it catches up; one that stands still
  // is cut when more would be held for it alone.
  auto go_on = [&](uint64_t to) {
    while (body->length() < to && body->room() > 0) {
      body->append(block);
      body->advance(&client, body->length(), 0);
    }
    BOOST_TEST(body->length() >= to);
  };
  body->advance(&client, body->length(), 0);
  go_on(8 << 20);
  BOOST_TEST(!disk.cut());
  BOOST_TEST(budget.used() > 4u << 20);
  BOOST_TEST(budget.used() <= 8u << 20);
  body->advance(&disk, 7 << 20, 0);
  BOOST_TEST(budget.used() == 0u);
  BOOST_TEST(body->memory() <= (1 << 20) + 128 * 1024);
  BOOST_TEST(budget.take(4 << 20));   // others hold something
  go_on(11 << 20);
  BOOST_TEST(!disk.cut());
  go_on(32 << 20);
  BOOST_TEST(disk.cut());
  BOOST_TEST(budget.used() == 4u << 20);
  BOOST_TEST(body->memory() <= Body::kHoldLimit + 128 * 1024);
  // Alone it leads, and its going is told when the last client has gone.
  body->detach(&client);
  BOOST_TEST(writer.wakes > 0);
  body->detach(&disk);

  // However fast it is, the start stays for whom it was fetched, until the writer knows that nobody comes.
  auto third = make_ref<Body>(kUnknownLength, false, 16 * 1024);
  TestReader early{&budget}, late;
  BOOST_TEST(third->attach(&early, 0, 0));
  for (int i = 0; i < 4; ++i) {
    third->append(block);
    third->advance(&early, third->length(), 0);
  }
  BOOST_TEST(third->attach(&late, 0, 0));
  iovec parts[8];
  BOOST_TEST(third->view(0, parts, 8, kUnknownLength).bytes == third->length());
  third->detach(&late);
  third->advance(&early, third->length(), 0);
  BOOST_TEST(!third->attach(&late, 0, 0));
  third->detach(&early);

  auto second = make_ref<Body>(kUnknownLength, false, 16 * 1024);
  second->release_start();
  TestReader alone{&budget};
  BOOST_TEST(second->attach(&alone, 0, 0));
  BOOST_TEST(second->reader_count() == 0u);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST_REQUIRE(second->room() > 0u);
    second->append(block);
    second->advance(&alone, second->length(), 0);
  }
  second->detach(&alone);
}

BOOST_AUTO_TEST_CASE(a_failed_body_never_looks_whole) {
  auto body = make_ref<Body>(100, true, 0);
  body->append("half");
  body->fail();
  iovec parts[4];
  auto view = body->view(4, parts, 4, 100);
  BOOST_TEST((view.bytes == 0 && view.state == Body::State::failed));
}

BOOST_AUTO_TEST_CASE(many_threads_read_one_writer) {
  auto body = make_ref<Body>(kUnknownLength, true, 0);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      TestReader reader;
      body->attach(&reader, 0, 0);
      uint64_t at = 0;
      for (;;) {
        iovec parts[8];
        auto view = body->view(at, parts, 8, 100'000);
        for (int i = 0; i < view.parts; ++i)
          for (size_t j = 0; j < parts[i].iov_len; ++j)
            if (static_cast<char*>(parts[i].iov_base)[j] != char('a' + (at++ % 26))) ++wrong;
        body->advance(&reader, at, 0);
        if (view.bytes == 0 && view.state == Body::State::complete) break;
      }
      if (at != 1'000'000) ++wrong;
      body->detach(&reader);
    });
  std::string piece;
  for (int i = 0; i < 1'000'000; ++i) {
    piece += char('a' + i % 26);
    if (piece.size() == 999) { body->append(piece); piece.clear(); }
  }
  body->append(piece);
  body->complete();
  for (auto& t : threads) t.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(variants_are_found_newest_first_and_purged_together) {
  Memory memory({1 << 20, 1 << 16, "lru"}, 1);
  memory.insert(object(1, 10, "de"), none);
  memory.insert(object(1, 10, "en"), none);
  auto is = [](std::string_view n) { return [n](const Object& o) { return static_cast<const Text&>(o).name == n; }; };
  BOOST_TEST((memory.find(key(1), any).get() == memory.find(key(1), is("en")).get()));
  BOOST_TEST(bool(memory.find(key(1), is("de"))));
  memory.insert(object(1, 10, "de2"), is("de"));
  BOOST_TEST(!memory.find(key(1), is("de")));
  BOOST_TEST(memory.erase_all(key(1)) == 2u);
  BOOST_TEST(memory.erase_all(key(1)) == 0u);
  BOOST_TEST(memory.totals().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(the_capacity_holds_to_the_byte) {
  for (auto policy : {"adaptive", "s3fifo", "lru", "heap LRU", "heap GDSF", "heap LFUDA"}) {
    Memory memory({1 << 20, 1 << 16, policy}, 1);
    for (uint64_t i = 0; i < 5000; ++i) {
      memory.insert(object(i, 100 + (i * 7919) % 20'000), none);
      if (i % 3 == 0) memory.find(key(i / 2), any);
      if (i % 11 == 0) memory.erase_all(key(i - 5));
      BOOST_REQUIRE_MESSAGE(memory.totals().bytes <= memory.totals().capacity, policy);
    }
    BOOST_TEST(memory.totals().evictions > 100u, policy);
    memory.clear();
    BOOST_TEST(memory.totals().bytes == 0u, policy);
  }
}

BOOST_AUTO_TEST_CASE(lru_keeps_what_was_used) {
  Memory memory({20'000, 10'000, "lru"}, 1);
  for (uint64_t i = 0; i < 200; ++i) {
    memory.insert(object(i, 1000), none);
    BOOST_TEST(bool(memory.find(key(0), any)));
  }
}

BOOST_AUTO_TEST_CASE(s3fifo_survives_a_scan) {
  Memory memory({200'000, 10'000, "s3fifo"}, 1);
  for (int round = 0; round < 5; ++round)
    for (uint64_t i = 0; i < 50; ++i)
      if (!memory.find(key(i), any)) memory.insert(object(i, 1000), none);
  for (uint64_t i = 1000; i < 3000; ++i) memory.insert(object(i, 1000), none);
  int kept = 0;
  for (uint64_t i = 0; i < 50; ++i) kept += bool(memory.find(key(i), any));
  BOOST_TEST(kept >= 45);
}

BOOST_AUTO_TEST_CASE(variants_are_bounded) {
  Memory memory({1 << 20, 1 << 16, "lru"}, 1);
  for (int i = 0; i < 500; ++i) memory.insert(object(7, 10, std::to_string(i)), none);
  BOOST_TEST(memory.totals().objects == Memory::kMaxVariants);
}

BOOST_AUTO_TEST_CASE(what_is_added_unless_gives_way_to_what_is_there) {
  Memory memory({1 << 20, 1 << 16, "lru"}, 1);
  auto first = object(3, 10, "first"), second = object(3, 10, "second");
  BOOST_TEST(!memory.add_unless(first, any));
  BOOST_TEST((memory.add_unless(second, any) == first));
  BOOST_TEST(!memory.add_unless(second, [](const Object&) { return false; }));
  BOOST_TEST(memory.totals().objects == 2u);
  BOOST_TEST(memory.has(key(3)));
  memory.erase_if(key(3), [&](const Object& o) { return &o == first.get(); });
  BOOST_TEST(memory.totals().objects == 1u);
  memory.erase_all(key(3));
  BOOST_TEST(!memory.has(key(3)));
}

BOOST_AUTO_TEST_CASE(a_growing_body_is_charged_when_told) {
  Memory memory({400'000, 50'000, "lru"}, 1);
  auto body = make_ref<Body>(kUnknownLength, true, 0);
  auto growing = make_ref<Text>(key(1), body);
  memory.insert(Ref<Object>(growing), none);
  body->append(std::string(40'000, 'x'));
  memory.recharge(*growing);
  BOOST_TEST(memory.totals().bytes >= 40'000u);
  // A new head took its place while the body grew: the one who has the body pays.
  auto second = make_ref<Text>(key(1), body);
  memory.replace(Ref<Object>(second), [&](const Object& o) { return o.body == body; });
  const uint64_t before = memory.totals().bytes;
  body->append(std::string(60'000, 'x'));
  memory.recharge(*growing);
  BOOST_TEST(memory.totals().bytes >= before + 30'000u);
  memory.erase(*second);
  memory.recharge(*growing);
  BOOST_TEST(memory.totals().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(all_objects_are_listed_some_at_a_time) {
  for (unsigned workers : {1u, 4u}) {
    Memory memory({64 << 20, 16 << 10, "lru"}, workers);
    constexpr uint64_t kObjects = 3000;
    for (uint64_t i = 0; i < kObjects; ++i) memory.insert(object(i, 10, i % 10 ? "" : "one"), none);
    for (uint64_t i = 0; i < kObjects; i += 10) memory.insert(object(i, 10, "other"), none);
    auto list = [&](auto&& between) {
      std::map<const Object*, int> seen;
      Memory::Cursor cursor;
      std::vector<Memory::Listed> some;
      for (int calls = 0; memory.list(cursor, 32, some); ++calls) {
        BOOST_REQUIRE(calls < 3000);
        BOOST_REQUIRE(some.size() <= 96u);
        for (auto& listed : some) ++seen[listed.object.get()];
        between(some);
        some.clear();
      }
      return seen;
    };
    auto seen = list([](auto&) {});
    BOOST_TEST(seen.size() == memory.totals().objects);
    for (auto& [o, times] : seen) BOOST_TEST(times == 1);
    // What goes while it is listed, the last one of the batch included, does not end the list.
    uint64_t n = 0, gone = 0;
    seen = list([&](auto& some) { if (n++ % 2) gone += memory.erase_all(some.back().object->key); });
    BOOST_TEST(seen.size() == memory.totals().objects + gone);
    // All that was just listed goes: the list finds its place all the same.
    gone = 0;
    seen = list([&](auto& some) { for (auto& listed : some) gone += memory.erase_all(listed.object->key); });
    BOOST_TEST(seen.size() >= gone);
    BOOST_TEST(memory.totals().objects <= 30u);
    for (uint64_t i = 0; i < kObjects; ++i) memory.insert(object(i, 10), none);
    // It grows meanwhile.
    seen = list([&](auto&) { memory.insert(object(kObjects + n++, 10), none); });
    BOOST_TEST(seen.size() <= memory.totals().objects);
  }
}

BOOST_AUTO_TEST_CASE(an_observer_hears_what_leaves_memory) {
  struct Ear final : MemoryObserver {
    std::vector<uint64_t> heard;
    bool wants() const override { return true; }
    void removed(const Object& o) override { heard.push_back(o.key.low); }
  } ear;
  {
    Memory memory({50'000, 10'000, "lru"}, 1);
    memory.set_observer(&ear);
    memory.insert(object(1, 10), none);
    memory.insert(object(1, 10), any);
    BOOST_TEST(ear.heard.size() == 1u);           // replaced
    memory.replace(object(1, 10), any);           // a new head: not told
    BOOST_TEST(ear.heard.size() == 1u);
    memory.erase_all(key(1));
    BOOST_TEST(ear.heard.size() == 2u);
    for (uint64_t i = 10; i < 100; ++i) memory.insert(object(i, 1000), none);
    BOOST_TEST(ear.heard.size() == 2 + memory.totals().evictions);
    BOOST_TEST(memory.totals().evictions > 0u);
    memory.set_observer(nullptr);
  }
}

BOOST_AUTO_TEST_SUITE_END()
