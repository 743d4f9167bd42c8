#include "store/disk/disk.h"

#include "store/disk/test_support.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using namespace loligo::store::disk_test;
using loligo::base::make_ref;
using loligo::base::Ref;

BOOST_AUTO_TEST_SUITE(disk)

BOOST_AUTO_TEST_CASE(what_is_stored_is_found_and_survives_a_restart) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  for (uint64_t i = 0; i < 500; ++i) BOOST_TEST(disk->store(key_of(i), {1, 2}, "head" + std::to_string(i), body_of(bytes_of(i, i * 37)), i * 37));
  BOOST_TEST(settled(*disk, 500));
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 500; ++i) {
      auto found = find(*disk, key_of(i));
      BOOST_REQUIRE(found);
      BOOST_REQUIRE(found.head == "head" + std::to_string(i));
      BOOST_REQUIRE(read_body(*found.body) == bytes_of(i, i * 37));
    }
    BOOST_TEST(!find(*disk, key_of(1000)));
    disk.reset();
    disk = open_disk(options_for(place.path));
    if (round == 1) BOOST_TEST(loaded(*disk));
  }
  BOOST_TEST(loaded(*disk));
  BOOST_TEST(disk->objects() == 500u);
}

BOOST_AUTO_TEST_CASE(without_its_index_everything_is_rebuilt_but_what_was_erased) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  for (uint64_t i = 0; i < 200; ++i) disk->store(key_of(i), {}, "old", body_of(bytes_of(i, 100)), 100);
  settled(*disk, 200);
  for (uint64_t i = 0; i < 50; ++i) disk->store(key_of(i), {}, "new", body_of(bytes_of(i + 7, 100)), 100);
  settled(*disk, 250);
  for (uint64_t i = 0; i < 20; ++i) BOOST_TEST(erase(*disk, key_of(i)) == 1);
  auto one = find(*disk, key_of(20));
  disk->erase(key_of(20), one.id);
  disk.reset();
  std::filesystem::remove_all(place.path + "/index");
  disk = open_disk(options_for(place.path));
  BOOST_TEST(loaded(*disk));
  BOOST_TEST(disk->objects() == 179u);
  BOOST_TEST(disk->counters().rebuilt_objects == 179u);
  for (uint64_t i = 0; i < 200; ++i) {
    auto found = find(*disk, key_of(i));
    BOOST_REQUIRE(bool(found) == (i > 20));
    if (found) BOOST_REQUIRE(found.head == (i < 50 ? "new" : "old"));
  }
  // And the new index says the same.
  disk.reset();
  disk = open_disk(options_for(place.path));
  BOOST_TEST(loaded(*disk));
  BOOST_TEST(disk->objects() == 179u);
  BOOST_TEST(disk->counters().rebuilt_objects == 0u);
}

BOOST_AUTO_TEST_CASE(variants_live_together_within_a_family) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  auto wants = [](std::string_view w) { return [w](std::string_view head) { return head == w; }; };
  disk->store(key_of(1), {1, 1}, "de", body_of("guten Tag"), 9);
  disk->store(key_of(1), {1, 2}, "en", body_of("good day"), 8);
  settled(*disk, 2);
  BOOST_TEST(read_body(*find(*disk, key_of(1), 1000, wants("de")).body) == "guten Tag");
  BOOST_TEST(read_body(*find(*disk, key_of(1), 1000, wants("en")).body) == "good day");
  auto none = find(*disk, key_of(1), 1000, wants("fr"));
  BOOST_TEST((!none && none.other_variant));
  disk->store(key_of(1), {1, 2}, "en", body_of("good evening"), 12);
  settled(*disk, 3);
  BOOST_TEST(read_body(*find(*disk, key_of(1), 1000, wants("en")).body) == "good evening");
  BOOST_TEST(disk->objects() == 2u);
  disk->store(key_of(1), {2, 1}, "all", body_of("hello"), 5);
  settled(*disk, 4);
  BOOST_TEST(disk->objects() == 1u);
  BOOST_TEST(!find(*disk, key_of(1), 1000, wants("de")));
  BOOST_TEST(erase(*disk, key_of(1)) == 1);
  BOOST_TEST(erase(*disk, key_of(1)) == 0);
}

BOOST_AUTO_TEST_CASE(large_bodies_go_by_extents_and_come_back_on_file) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  const std::string bytes = bytes_of(5, 5'300'000);
  // Retained and known, unretained and unknown, and one that ends early.
  auto known = make_ref<Body>(bytes.size(), true, 0);
  auto passing = make_ref<Body>(kUnknownLength, false, 64 << 10);
  auto failing = make_ref<Body>(kUnknownLength, false, 64 << 10);
  BOOST_TEST(disk->store(key_of(1), {}, "known", known, bytes.size()));
  BOOST_TEST(disk->store(key_of(2), {}, "passing", passing, kUnknownLength));
  BOOST_TEST(disk->store(key_of(3), {}, "failing", failing, kUnknownLength));
  passing->release_start();   // nobody but the disk wants them
  failing->release_start();
  for (size_t at = 0; at < bytes.size();) {
    size_t n = std::min<size_t>(bytes.size() - at, 50'000);
    known->append({bytes.data() + at, n});
    BOOST_REQUIRE(eventually([&] { return passing->room() >= n && failing->room() >= n; }));
    passing->append({bytes.data() + at, n});
    failing->append({bytes.data() + at, n});
    at += n;
  }
  known->complete();
  passing->complete();
  failing->fail();
  BOOST_TEST(settled(*disk, 3));
  BOOST_TEST(disk->counters().given_up == 1u);
  BOOST_TEST(passing->memory() < 400'000u);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t k : {1, 2})
      for (uint64_t limit : {0, 1 << 20, 8 << 20}) {
        auto found = find(*disk, key_of(k), limit);
        BOOST_TEST_CONTEXT("key " << k << " limit " << limit << " round " << round) BOOST_REQUIRE(found);
        BOOST_TEST(bool(found.body->source()) == (limit < bytes.size()));
        BOOST_TEST((read_body(*found.body) == bytes));
      }
    BOOST_TEST(!find(*disk, key_of(3)));
    disk.reset();
    disk = open_disk(options_for(place.path));
  }
}

BOOST_AUTO_TEST_CASE(a_small_body_is_awaited_and_one_that_fails_takes_the_older_with_it) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  auto body = make_ref<Body>(kUnknownLength, true, 0);
  BOOST_TEST(disk->store(key_of(1), {}, "h", body, kUnknownLength));
  body->append("some ");
  body->append("bytes");
  BOOST_TEST(body->reader_count() == 0u);
  BOOST_TEST(!find(*disk, key_of(1)));
  body->complete();
  BOOST_TEST(settled(*disk, 1));
  BOOST_TEST(read_body(*find(*disk, key_of(1)).body) == "some bytes");
  auto next = make_ref<Body>(kUnknownLength, true, 0);
  BOOST_TEST(disk->store(key_of(1), {}, "h", next, kUnknownLength));
  next->append("more");
  BOOST_TEST(bool(find(*disk, key_of(1))));
  next->fail();
  BOOST_TEST(settled(*disk, 2));
  BOOST_TEST(!find(*disk, key_of(1)));
  // Unless it is to stay for that very case.
  BOOST_TEST(disk->store(key_of(3), {}, "older", body_of("older"), 5));
  BOOST_TEST(settled(*disk, 3));
  auto cut = make_ref<Body>(kUnknownLength, true, 0);
  BOOST_TEST(disk->store(key_of(3), {}, "newer", cut, kUnknownLength, true));
  cut->append("new");
  cut->fail();
  BOOST_TEST(settled(*disk, 4));
  BOOST_TEST(find(*disk, key_of(3)).head == "older");
  // What is under way is erased as well.
  auto erased = make_ref<Body>(kUnknownLength, true, 0);
  BOOST_TEST(disk->store(key_of(1), {}, "h", erased, kUnknownLength));
  BOOST_TEST((!disk->may_have(key_of(1)) && disk->is_writing(key_of(1))));
  BOOST_TEST(erase(*disk, key_of(1)) == 1);
  erased->append("late");
  erased->complete();
  BOOST_TEST(disk->store(key_of(2), {}, "h", body_of("x"), 1));
  BOOST_TEST(eventually([&] { return bool(find(*disk, key_of(2))); }));
  BOOST_TEST(!find(*disk, key_of(1)));
}

BOOST_AUTO_TEST_CASE(one_erased_while_it_is_written_takes_the_older_with_it) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  BOOST_TEST(disk->store(key_of(1), {}, "old", body_of("old"), 3));
  BOOST_TEST(eventually([&] { return bool(find(*disk, key_of(1))); }));
  auto body = make_ref<Body>(kUnknownLength, true, 0);
  uint64_t id = disk->store(key_of(1), {}, "new", body, kUnknownLength);
  BOOST_TEST(id != 0u);
  disk->erase(key_of(1), id);
  BOOST_TEST(!disk->is_writing(key_of(1)));
  BOOST_TEST(!find(*disk, key_of(1)));
  body->append("late");
  body->complete();
  BOOST_TEST(disk->store(key_of(2), {}, "h", body_of("x"), 1));
  BOOST_TEST(eventually([&] { return bool(find(*disk, key_of(2))); }));
  BOOST_TEST(!find(*disk, key_of(1)));
}

BOOST_AUTO_TEST_CASE(the_older_is_not_found_once_the_newer_is_whole) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  BOOST_TEST(disk->store(key_of(1), {}, "old", body_of("old"), 3));
  BOOST_TEST(eventually([&] { return bool(find(*disk, key_of(1))); }));
  disk->store(key_of(1), {}, "new", body_of("new"), 3);
  Disk::Found found;
  do {
    found = find(*disk, key_of(1));
    BOOST_REQUIRE((!found || found.head == "new"));
  } while (!found && disk->is_writing(key_of(1)));
  BOOST_TEST((eventually([&] { return bool(found = find(*disk, key_of(1))); }) && found.head == "new"));
}

BOOST_AUTO_TEST_CASE(what_was_to_be_replaced_by_one_that_is_replaced_itself_goes) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  for (uint64_t key = 0; key < 50; ++key) {   // whether the second is written yet when the third comes is chance
    disk->store(key_of(key), {1, 1}, "old", body_of("old"), 3);
    BOOST_TEST(eventually([&] { return bool(find(*disk, key_of(key))); }));
    disk->store(key_of(key), {2, 1}, "other", body_of("other"), 5, true);
    disk->store(key_of(key), {1, 2}, "new", make_ref<Body>(kUnknownLength, true, 0), kUnknownLength);
    Disk::Found found = find(*disk, key_of(key));
    BOOST_TEST((!found || found.head == "other"));
  }
}

BOOST_AUTO_TEST_CASE(a_new_head_leaves_the_body) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  const std::string large = bytes_of(9, 3'000'000);
  disk->store(key_of(1), {3, 4}, "one", body_of("small body"), 10);
  disk->store(key_of(2), {}, "two", body_of(large), large.size());
  settled(*disk, 2);
  for (int i = 0; i < 3; ++i) {
    disk->rehead(key_of(1), find(*disk, key_of(1)).id, "one, fresh " + std::to_string(i));
    disk->rehead(key_of(2), find(*disk, key_of(2)).id, "two, fresh " + std::to_string(i));
    BOOST_TEST(eventually([&] { return disk->counters().reheads == unsigned(2 * i + 2); }));
  }
  for (int round = 0; round < 3; ++round) {
    auto one = find(*disk, key_of(1)), two = find(*disk, key_of(2));
    BOOST_REQUIRE((one && two));
    BOOST_TEST(one.head == "one, fresh 2");
    BOOST_TEST(read_body(*one.body) == "small body");
    BOOST_TEST(two.head == "two, fresh 2");
    BOOST_TEST((read_body(*two.body) == large));
    disk.reset();
    if (round == 1) std::filesystem::remove_all(place.path + "/index");
    disk = open_disk(options_for(place.path));
    BOOST_TEST(loaded(*disk));
    BOOST_TEST(disk->objects() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(a_second_opener_is_refused_by_name) {
  Place place;
  auto disk = open_disk(options_for(place.path));
  std::vector<std::string> failures;
  auto second = Disk::open(options_for(place.path), system_files(), failures);
  BOOST_REQUIRE(failures.size() == 1u);
  BOOST_TEST(failures[0].find(place.path) != std::string::npos);
  BOOST_TEST(!second->store(key_of(1), {}, "", body_of("x"), 1));
  failures.clear();
  auto third = Disk::open(options_for("/proc/loligo-cannot-be"), system_files(), failures);
  BOOST_TEST(failures.size() == 1u);
}

BOOST_AUTO_TEST_CASE(limits_and_lists) {
  Place place;
  auto options = options_for(place.path);
  options.directories[0].min_object = 10;
  options.directories[0].max_object = 1000;
  auto disk = open_disk(options);
  BOOST_TEST(!disk->store(key_of(1), {}, "", body_of("small"), 5));
  BOOST_TEST(!disk->store(key_of(1), {}, "", body_of(bytes_of(1, 1001)), 1001));
  for (uint64_t i = 0; i < 300; ++i) disk->store(key_of(i), {}, "head", body_of(bytes_of(i, 50)), 50);
  settled(*disk, 300);
  std::vector<Disk::Listed> listed;
  uint64_t cursor = 0;
  while (disk->list(cursor, 7, listed)) {}
  BOOST_TEST(listed.size() == 300u);
  for (auto& l : listed) BOOST_REQUIRE(find(*disk, l.key).id == l.id);
}

BOOST_AUTO_TEST_SUITE_END()
