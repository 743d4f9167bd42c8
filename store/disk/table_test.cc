#include "store/disk/table.h"

#include <map>
#include <random>

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;
using namespace loligo::store::disk;

namespace {

Key key_of(uint64_t n) { return {n * 0xD6E8FEB86659FD93u, (n + 1) * 0x9E3779B97F4A7C15u}; }
Entry entry(uint64_t key, uint16_t family, uint16_t variant, uint32_t unit) {
  return make_entry(key_of(key), {family, variant}, number_of({1, unit}), {1, unit}, 160, 32, false);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(random_changes_agree_with_a_map) {
  Table table;
  std::map<std::pair<uint64_t, uint16_t>, uint32_t> model;
  std::minstd_rand random(1);
  for (uint32_t i = 1; i < 200'000; ++i) {
    uint64_t k = random() % 5000;
    auto v = uint16_t(random() % 3);
    std::vector<Entry> gone;
    switch (random() % 4) {
      case 0: case 1:
        table.insert(entry(k, 7, v, i), gone);
        BOOST_REQUIRE(gone.size() == model.count({k, v}));
        model[{k, v}] = i;
        break;
      case 2: {
        auto it = model.find({k, v});
        uint64_t id = it == model.end() ? 1 : number_of({1, it->second});
        BOOST_REQUIRE(table.erase(key_of(k), id) == (it != model.end()));
        if (it != model.end()) model.erase(it);
        break;
      }
      case 3: {
        auto found = table.find(key_of(k), Variant{7, v});
        auto it = model.find({k, v});
        BOOST_REQUIRE(bool(found) == (it != model.end()));
        if (found) BOOST_REQUIRE(found->place.unit == it->second);
        break;
      }
    }
  }
  BOOST_TEST(table.objects() == model.size());
  std::vector<Entry> gone;
  for (uint64_t k = 0; k < 5000; ++k) table.erase(key_of(k), gone);
  BOOST_TEST(gone.size() == model.size());
  BOOST_TEST(table.objects() == 0u);
}

BOOST_AUTO_TEST_CASE(a_million_entries_take_at_most_52_bytes_each) {
  Table table;
  std::vector<Entry> gone;
  for (uint32_t i = 0; i < 1'000'000; ++i) table.insert(entry(i, 0, 0, i), gone);
  BOOST_TEST_MESSAGE("bytes an entry: " << double(table.memory()) / 1e6);
  BOOST_TEST(table.memory() <= 52'000'000u);
  for (uint32_t i = 0; i < 1'000'000; i += 997) BOOST_REQUIRE(table.contains(key_of(i)));
}

BOOST_AUTO_TEST_CASE(a_key_has_at_most_64_variants_and_the_oldest_goes) {
  Table table;
  std::vector<Entry> gone;
  for (uint16_t v = 0; v < 70; ++v) table.insert(entry(1, 0, v, 100u + v), gone);
  BOOST_TEST(table.find(key_of(1)).size() == 64u);
  BOOST_REQUIRE(gone.size() == 6u);
  BOOST_TEST(gone[0].place.unit == 100u);
  BOOST_TEST(table.find(key_of(1))[0].place.unit == 169u);
}

BOOST_AUTO_TEST_CASE(while_loading_what_is_newer_wins) {
  Table table;
  std::vector<Entry> gone;
  table.begin_loading();
  table.insert(entry(1, 0, 0, 50), gone);                  // stored in this session: what is older no longer counts
  Entry old[2] = {entry(1, 0, 0, 10), entry(1, 0, 1, 11)};
  BOOST_TEST(table.insert_older(old, 2) == 0u);
  Entry newest = entry(2, 1, 0, 40), same_family = entry(2, 1, 1, 39), other_family = entry(2, 0, 1, 38), same = entry(2, 1, 0, 37);
  BOOST_TEST(table.insert_older(&newest, 1) == 1u);
  BOOST_TEST(table.insert_older(&same_family, 1) == 1u);
  BOOST_TEST(table.insert_older(&other_family, 1) == 0u);
  BOOST_TEST(table.insert_older(&same, 1) == 0u);
  BOOST_TEST(table.touch(key_of(3)));
  BOOST_TEST(!table.touch(key_of(3)));
  Entry erased = entry(3, 0, 0, 5);
  BOOST_TEST(table.insert_older(&erased, 1) == 0u);
  table.forget_older();
  BOOST_TEST(table.find(key_of(1)).size() == 1u);
  BOOST_TEST(table.find(key_of(2)).empty());
  table.end_loading();
  BOOST_TEST(table.touched(key_of(2)));
}

BOOST_AUTO_TEST_SUITE_END()
