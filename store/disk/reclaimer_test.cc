#include "store/disk/reclaimer.h"

#include <random>
#include <set>

#include "store/disk/test_support.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using namespace loligo::store::disk_test;
using loligo::store::disk::CarryOver;

namespace {

uint64_t directory_bytes(const std::string& path) {
  uint64_t bytes = 0;
  for (auto it = std::filesystem::recursive_directory_iterator(path); it != std::filesystem::recursive_directory_iterator(); ++it) {
    std::error_code gone;
    if (it->is_regular_file(gone)) {
      uint64_t n = it->file_size(gone);
      if (!gone) bytes += n;
    }
  }
  return bytes;
}

// Stored, or refused because the disk is busy: then again.
void store_patiently(Disk& disk, uint64_t key, size_t bytes) {
  for (int i = 0; i < 5000; ++i) {
    if (disk.store(key_of(key), {}, "head " + std::to_string(key), body_of(bytes_of(key, bytes)), bytes)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  BOOST_ERROR("never stored");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reclaimer)

BOOST_AUTO_TEST_CASE(policies_prefer_differently_and_keep_within_the_share) {
  std::vector<CarryOver::Candidate> c{{100, 0, 1, false}, {1000, 9, 50, false}, {100, 2, 10, false}, {10'000, 9, 5, false}, {100, 0, 9, true}};
  BOOST_TEST(CarryOver("lru", 0.5).choose(c, 20'400) == (std::vector<uint32_t>{4, 3, 2}));
  BOOST_TEST(CarryOver("heap LFUDA", 0.5).choose(c, 4'000) == (std::vector<uint32_t>{1, 2, 4}));
  BOOST_TEST(CarryOver("heap GDSF", 0.5).choose(c, 4'000) == (std::vector<uint32_t>{2, 4, 1}));
  BOOST_TEST(CarryOver("s3fifo", 0.05).choose(c, 4'000) == (std::vector<uint32_t>{2, 4}));
  BOOST_TEST(CarryOver("s3fifo", 0.5).choose(c, 4'000) == (std::vector<uint32_t>{1, 2, 4}));
  BOOST_TEST(CarryOver("adaptive", 0.5).choose(c, 4'000) == (std::vector<uint32_t>{2, 1, 4}));   // 9 uses of 1,000 bytes are worth more than 1 of 100
  BOOST_TEST(CarryOver("adaptive").choose({}, 1000).empty());
}

BOOST_AUTO_TEST_CASE(the_limit_holds_and_what_is_used_stays) {
  Place place;
  const uint64_t capacity = 24 << 20;
  auto disk = open_disk(options_for(place.path, capacity));
  BOOST_TEST(loaded(*disk));
  std::minstd_rand random(3);
  uint64_t largest = 0, stored = 0;
  const uint64_t hot = 100;
  for (uint64_t i = 0; i < 20'000; ++i) {
    store_patiently(*disk, i, 500 + random() % 8000);
    ++stored;
    if (i % 50 == 0) settled(*disk, stored);   // the queue could hold all of it, and uses would come before it is written
    if (i % 2 && i > hot) find(*disk, key_of(random() % hot));
    if (i % 100 == 0) largest = std::max(largest, directory_bytes(place.path));
  }
  settled(*disk, stored);
  auto c = disk->counters();
  BOOST_TEST_MESSAGE("largest " << double(largest) / double(capacity) << " of capacity; written " << c.written_bytes << " stored " << c.stored_bytes
                                << " = " << double(c.written_bytes) / double(c.stored_bytes) << "; carried " << c.carried << " evicted " << c.evicted
                                << " segments " << c.segments_reclaimed << " damaged " << c.damaged << " objects " << disk->objects());
  BOOST_TEST(largest <= capacity + capacity / 100);
  BOOST_TEST(disk->directories()[0].used >= capacity / 100 * 80);
  BOOST_TEST(c.given_up == 0u);   // the queue waits for room
  BOOST_TEST(double(c.written_bytes) <= 1.5 * double(c.stored_bytes));
  BOOST_TEST(c.segments_reclaimed > 10u);
  BOOST_TEST(c.damaged == 0u);
  unsigned hot_there = 0;
  for (uint64_t i = 0; i < hot; ++i)
    if (auto found = find(*disk, key_of(i))) {
      ++hot_there;
      BOOST_REQUIRE(found.head == "head " + std::to_string(i));
      std::string body = read_body(*found.body);
      BOOST_REQUIRE(body == bytes_of(i, body.size()));
    }
  BOOST_TEST(hot_there >= 90u);
  // The index and a rebuild agree.
  uint64_t objects = 0;
  BOOST_TEST(eventually([&] {   // the reclaimer may be at work yet
    objects = disk->objects();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return disk->objects() == objects;
  }));
  disk.reset();
  disk = open_disk(options_for(place.path, 2 * capacity));
  BOOST_TEST(loaded(*disk));
  BOOST_TEST(disk->objects() == objects);
  disk.reset();
  std::filesystem::remove_all(place.path + "/index");
  disk = open_disk(options_for(place.path, 2 * capacity));
  BOOST_TEST(loaded(*disk));
  BOOST_TEST(disk->objects() == objects);
}

// The index grows too, and may take the room that was made for one that waits: it asks again.
BOOST_AUTO_TEST_CASE(a_small_directory_that_is_full_takes_whatever_fits) {
  for (uint64_t round = 0; round < 40; ++round) {
    Place place;
    auto disk = open_disk(options_for(place.path, 1 << 20));
    BOOST_TEST(loaded(*disk));
    uint64_t stored = 0;
    for (uint64_t i = 0; i < 60 + round; ++i) {
      store_patiently(*disk, i, 20'000);
      settled(*disk, ++stored);
    }
    store_patiently(*disk, 1000, 300'000);
    settled(*disk, ++stored);
    BOOST_TEST(disk->counters().given_up == 0u);
    BOOST_TEST(bool(find(*disk, key_of(1000))));
  }
}

// Much used and then no more: it outlives more than one round of the log, and goes in the end.
BOOST_AUTO_TEST_CASE(old_uses_count_for_half_each_round) {
  Place place;
  const uint64_t capacity = 24 << 20;
  auto disk = open_disk(options_for(place.path, capacity));
  BOOST_TEST(loaded(*disk));
  store_patiently(*disk, 1'000'001, 1000);
  settled(*disk, 1);
  for (int i = 0; i < 8; ++i) BOOST_TEST(bool(find(*disk, key_of(1'000'001))));
  uint64_t next = 0;
  auto rounds = [&](double count) {
    for (uint64_t end = next + uint64_t(count * double(capacity) / 40'000); next < end; ++next) store_patiently(*disk, next, 40'000);
  };
  rounds(2.5);
  settled(*disk, 1 + next);
  BOOST_TEST(disk->may_have(key_of(1'000'001)));   // which is no use
  rounds(6);
  settled(*disk, 1 + next);
  BOOST_TEST(!disk->may_have(key_of(1'000'001)));
}

BOOST_AUTO_TEST_CASE(large_objects_and_new_heads_are_carried_whole_or_go) {
  Place place;
  auto options = options_for(place.path, 64 << 20);
  auto disk = open_disk(options);
  BOOST_TEST(loaded(*disk));
  const std::string large = bytes_of(77, 3'500'000);
  disk->store(key_of(1'000'001), {}, "large", body_of(large), large.size());
  disk->store(key_of(1'000'002), {}, "small", body_of("small body"), 10);
  disk->store(key_of(1'000'003), {}, "unused", body_of(large), large.size());
  settled(*disk, 3);
  BOOST_TEST(disk->rehead(key_of(1'000'002), find(*disk, key_of(1'000'002)).id, "small, fresh"));
  BOOST_TEST(eventually([&] { return disk->counters().reheads == 1; }));
  for (uint64_t i = 0; i < 4000; ++i) {
    store_patiently(*disk, i, 40'000);
    if (i % 20) continue;
    settled(*disk, i + 4);
    find(*disk, key_of(1'000'001), 0);
    find(*disk, key_of(1'000'002));
  }
  BOOST_TEST(disk->counters().segments_reclaimed > 10u);
  auto one = find(*disk, key_of(1'000'001)), two = find(*disk, key_of(1'000'002));
  BOOST_REQUIRE((one && two));
  BOOST_TEST(one.head == "large");
  BOOST_TEST(two.head == "small, fresh");
  BOOST_TEST(read_body(*two.body) == "small body");
  // Larger than the share of one segment: what earlier ones did not use is saved up for it.
  BOOST_TEST((read_body(*one.body) == large));
  BOOST_TEST(!find(*disk, key_of(1'000'003)));
  BOOST_TEST(disk->counters().damaged == 0u);
}

BOOST_AUTO_TEST_CASE(a_body_being_sent_stays_readable_although_its_segment_goes) {
  Place place;
  auto disk = open_disk(options_for(place.path, 24 << 20));
  BOOST_TEST(loaded(*disk));
  const std::string large = bytes_of(5, 2'500'000);
  disk->store(key_of(1'000'001), {}, "large", body_of(large), large.size());
  settled(*disk, 1);
  auto found = find(*disk, key_of(1'000'001), 0);
  BOOST_REQUIRE(found);
  for (uint64_t i = 0; i < 1500; ++i) store_patiently(*disk, i, 40'000);
  BOOST_TEST(eventually([&] { return disk->counters().segments_reclaimed > 1; }));
  BOOST_TEST(!find(*disk, key_of(1'000'001), 0));
  BOOST_TEST((read_body(*found.body) == large));
}

BOOST_AUTO_TEST_SUITE_END()
