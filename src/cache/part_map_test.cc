#define BOOST_TEST_DYN_LINK
#include "cache/part_map.h"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

using loligo::cache::PartMap;

namespace {

// "first-end=part+skip ..."
std::string text(const PartMap& map) {
  std::string out;
  for (auto& [at, p] : map)
    out += (out.empty() ? "" : " ") + std::to_string(p.first) + "-" + std::to_string(p.end) + "=" + std::to_string(p.part) + "+" + std::to_string(p.skip);
  return out;
}

struct Step { char what; uint64_t first, end, part; };   // a(dd), c(ut), r(emove)

PartMap built(const std::vector<Step>& steps) {
  PartMap map;
  for (const Step& s : steps) {
    if (s.what == 'a') map.add(s.first, s.end, s.part);
    else if (s.what == 'c') map.cut(s.first, s.end);
    else map.remove(s.part, s.first, s.end);
  }
  return map;
}

constexpr uint64_t kLarge = uint64_t(1) << 62;

}  // namespace

BOOST_AUTO_TEST_SUITE(part_map)

BOOST_AUTO_TEST_CASE(what_is_known_after_some_steps) {
  struct Row { std::vector<Step> steps; const char* wanted; };
  const Row rows[] = {
      {{}, ""},
      {{{'a', 10, 20, 1}}, "10-20=1+0"},
      {{{'a', 10, 10, 1}}, ""},
      {{{'a', 10, 20, 1}, {'a', 20, 30, 2}}, "10-20=1+0 20-30=2+0"},                      // neighbours
      {{{'a', 20, 30, 2}, {'a', 10, 20, 1}}, "10-20=1+0 20-30=2+0"},                      // in any order
      {{{'a', 10, 20, 1}, {'a', 15, 25, 2}}, "10-20=1+0 20-25=2+5"},                      // who came first has it
      {{{'a', 10, 20, 1}, {'a', 5, 15, 2}}, "5-10=2+0 10-20=1+0"},
      {{{'a', 10, 20, 1}, {'a', 5, 25, 2}}, "5-10=2+0 10-20=1+0 20-25=2+15"},
      {{{'a', 10, 20, 1}, {'a', 12, 18, 2}}, "10-20=1+0"},                                // nothing new
      {{{'a', 10, 20, 1}, {'a', 30, 40, 2}, {'a', 0, 50, 3}}, "0-10=3+0 10-20=1+0 20-30=3+20 30-40=2+0 40-50=3+40"},
      {{{'a', 0, 50, 1}, {'c', 10, 20, 0}}, "0-10=1+0 20-50=1+20"},
      {{{'a', 0, 50, 1}, {'c', 0, 50, 0}}, ""},
      {{{'a', 0, 50, 1}, {'c', 50, 60, 0}}, "0-50=1+0"},
      {{{'a', 0, 10, 1}, {'a', 10, 20, 2}, {'c', 5, 15, 0}}, "0-5=1+0 15-20=2+5"},
      {{{'a', 0, 50, 1}, {'c', 10, 20, 0}, {'a', 0, 50, 2}}, "0-10=1+0 10-20=2+10 20-50=1+20"},
      {{{'a', 10, 20, 1}, {'a', 0, 30, 2}, {'r', 0, 30, 2}}, "10-20=1+0"},                // only its own
      {{{'a', 10, 20, 1}, {'a', 0, 30, 2}, {'r', 10, 20, 1}}, "0-10=2+0 20-30=2+20"},
      {{{'a', 0, 30, 1}, {'r', 20, 30, 1}}, "0-20=1+0"},                                  // it broke off
      {{{'a', 10, 20, 1}, {'a', 0, 30, 2}, {'r', 5, 30, 2}}, "0-5=2+0 10-20=1+0"},
      {{{'a', kLarge, kLarge + 5, 1}, {'a', 0, kLarge + 9, 2}}, "0-4611686018427387904=2+0 4611686018427387904-4611686018427387909=1+0 4611686018427387909-4611686018427387913=2+4611686018427387909"},
  };
  for (const Row& row : rows) BOOST_TEST(text(built(row.steps)) == row.wanted);
}

BOOST_AUTO_TEST_CASE(gaps_and_what_is_covered) {
  const PartMap map = built({{'a', 10, 20, 1}, {'a', 20, 30, 2}, {'a', 40, 50, 3}});
  struct Gap { uint64_t from, limit, wanted; };
  for (Gap g : {Gap{0, 100, 10}, Gap{0, 5, 5}, Gap{30, 100, 40}, Gap{35, 38, 38}, Gap{50, 100, 100}, Gap{15, 100, 15}}) BOOST_TEST(map.gap_end(g.from, g.limit) == g.wanted);
  struct Cover { uint64_t first, end; bool wanted; };
  for (Cover c : {Cover{10, 30, true}, Cover{12, 28, true}, Cover{10, 31, false}, Cover{9, 12, false}, Cover{25, 45, false}, Cover{40, 50, true}, Cover{60, 60, true}, Cover{49, 50, true}})
    BOOST_TEST(map.covers(c.first, c.end) == c.wanted, c.first << "-" << c.end);
  BOOST_TEST(!map.at(9));
  BOOST_TEST(map.at(10)->part == 1u);
  BOOST_TEST(map.at(19)->part == 1u);
  BOOST_TEST(map.at(20)->part == 2u);
  BOOST_TEST(!map.at(30));
  BOOST_TEST(map.bytes() == 30u);
  BOOST_TEST(map.within(15, 45).size() == 3u);
  BOOST_TEST(map.within(30, 40).empty());
}

BOOST_AUTO_TEST_CASE(pieces_are_bounded) {
  PartMap map;
  for (uint64_t n = 0; n < PartMap::kMostPieces; ++n) BOOST_TEST_REQUIRE(map.add(2 * n, 2 * n + 1, n + 1));
  BOOST_TEST(!map.add(1'000'000, 1'000'001, 9));
  BOOST_TEST(!map.restore({1'000'000, 1'000'001, 9, 0}));
  BOOST_TEST(map.size() == PartMap::kMostPieces);
}

BOOST_AUTO_TEST_CASE(restored_pieces_must_make_sense) {
  PartMap map;
  BOOST_TEST(map.restore({10, 20, 1, 3}));
  for (PartMap::Piece bad : {PartMap::Piece{10, 20, 2, 0}, {15, 16, 2, 0}, {5, 11, 2, 0}, {30, 30, 2, 0}, {40, 35, 2, 0}}) BOOST_TEST(!map.restore(bad));
  BOOST_TEST(text(map) == "10-20=1+3");
}

// Against a plain array that says for each byte whose it is, and which of its bytes.
BOOST_AUTO_TEST_CASE(the_same_as_byte_by_byte) {
  struct Byte { uint64_t part = 0, at = 0; };
  constexpr unsigned kSize = 60;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    PartMap map;
    std::vector<Byte> plain(kSize);
    std::vector<uint64_t> firsts(1);
    for (int n = 0; n < 30; ++n) {
      uint64_t first = random() % kSize, end = first + random() % (kSize - first + 1);
      switch (random() % 4) {
        case 0: {
          map.cut(first, end);
          for (uint64_t i = first; i < end; ++i) plain[i] = {};
          break;
        }
        case 1: {
          uint64_t part = random() % firsts.size();
          map.remove(part, first, end);
          for (uint64_t i = first; i < end; ++i) if (plain[i].part == part) plain[i] = {};
          break;
        }
        default: {
          uint64_t part = firsts.size();
          firsts.push_back(first);
          map.add(first, end, part);
          for (uint64_t i = first; i < end; ++i) if (!plain[i].part) plain[i] = {part, i - first};
        }
      }
      for (uint64_t i = 0; i < kSize; ++i) {
        const PartMap::Piece* p = map.at(i);
        BOOST_TEST_REQUIRE((p ? p->part : 0) == plain[i].part, "round " << round << " byte " << i);
        if (p) BOOST_TEST_REQUIRE(p->skip + (i - p->first) == plain[i].at);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
