#include <algorithm>
#include <map>
#include <set>

#include "store/disk/carry_over.h"
#include "store/policy_adaptive.h"
#include "store/settings.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo::store;

namespace {

const char* const kWords[] = {"adaptive", "s3fifo", "lru", "heap LRU", "heap GDSF", "heap LFUDA"};

struct Random {
  uint64_t state = 1;
  uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t((state >> 33) % n);
  }
};

// A cache of so many bytes under a policy, and what it holds.
struct Cache {
  Cache(const char* words, uint64_t capacity) : policy(make_policy(words, capacity)), capacity(capacity) {}
  bool ask(uint64_t key, uint64_t size = 1000) {
    auto [it, fresh] = held.try_emplace(key);
    PolicyNode& n = it->second;
    if (!fresh) return policy->used(n), true;
    n.key_hash = key * 0x9E3779B97F4A7C15u;
    n.size = size;
    bytes += size;
    policy->added(n);
    while (bytes > capacity) drop(*policy->victim());
    return false;
  }
  void drop(PolicyNode& n) {
    bytes -= n.size;
    policy->removed(n);
    std::erase_if(held, [&](auto& pair) { return &pair.second == &n; });
  }
  std::unique_ptr<Policy> policy;
  uint64_t capacity, bytes = 0;
  std::map<uint64_t, PolicyNode> held;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(policy)

BOOST_AUTO_TEST_CASE(every_word_of_squid_conf_has_its_policy) {
  for (auto words : kWords) BOOST_TEST(bool(make_policy(words, 1000)), words);
  for (auto value : {Replacement::lru, Replacement::heap_lru, Replacement::heap_gdsf, Replacement::heap_lfuda, Replacement::s3fifo, Replacement::adaptive})
    BOOST_TEST(bool(make_policy(policy_name(value), 1000)), policy_name(value));
  for (auto words : {"LRU", "heap", "heap lru", "fifo", "adaptive "}) BOOST_TEST(!make_policy(words, 1000), words);
  BOOST_TEST(policy_name(Settings{}.memory_replacement_policy) == "adaptive");
}

BOOST_AUTO_TEST_CASE(a_victim_is_always_an_object_that_is_there_and_all_of_them_go) {
  for (auto words : kWords) {
    BOOST_TEST_CONTEXT(words) {
      Random random;
      auto policy = make_policy(words, 1'000'000);
      std::vector<PolicyNode> nodes(500);
      std::set<PolicyNode*> there;
      auto remove = [&](PolicyNode* n) {
        BOOST_REQUIRE(there.erase(n) == 1u);
        policy->removed(*n);
        policy->removed(*n);   // once more does no harm
      };
      for (int step = 0; step < 200'000; ++step) {
        PolicyNode* n = &nodes[random.below(500)];
        bool is_there = there.contains(n);
        switch (random.below(8)) {
          case 0: case 1: case 2:
            if (is_there) policy->used(*n);
            break;
          case 3:
            if (is_there) policy->resized(*n, random.below(2) ? random.below(1 << 30) : 0);
            if (is_there) BOOST_REQUIRE(n->queue != 0);
            break;
          case 4:
            if (is_there) remove(n);
            break;
          case 5:
            if (PolicyNode* victim = policy->victim()) {
              BOOST_REQUIRE(there.contains(victim));
              if (random.below(4)) remove(victim);
            } else BOOST_REQUIRE(there.empty());
            break;
          default:
            if (is_there) break;
            *n = {};
            n->key_hash = random.below(1000) * 0x9E3779B97F4A7C15u;
            n->size = 1 + random.below(100'000);
            policy->added(*n);
            there.insert(n);
        }
        if (step % 50'000 == 49'999) policy->set_capacity(random.below(1 << 24));
      }
      while (PolicyNode* victim = policy->victim()) remove(victim);
      BOOST_TEST(there.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(lru_and_heap_lru_are_the_same) {
  Random random;
  Cache list("lru", 50'000), heap("heap LRU", 50'000);
  for (int i = 0; i < 20'000; ++i) {
    uint64_t key = random.below(10) + random.below(200), size = 100 + key * 37 % 3000;
    BOOST_REQUIRE(list.ask(key, size) == heap.ask(key, size));
  }
}

// Used a hundred times and never again: it must go in the end, whatever the policy.
BOOST_AUTO_TEST_CASE(old_fame_fades) {
  for (auto words : kWords) {
    Cache cache(words, 100'000);
    for (int i = 0; i < 100; ++i)
      for (uint64_t key = 0; key < 20; ++key) cache.ask(key);
    Random random;
    for (int i = 0; i < 200'000; ++i) cache.ask(1000 + i / 1000 + random.below(60));
    size_t kept = 0;
    for (uint64_t key = 0; key < 20; ++key) kept += cache.held.contains(key);
    BOOST_TEST(kept == 0u, words << " keeps " << kept);
  }
}

BOOST_AUTO_TEST_CASE(a_scan_leaves_what_is_used_again) {
  struct Case { const char* words; size_t least; };
  for (auto& [words, least] : {Case{"adaptive", 45}, {"s3fifo", 45}, {"heap GDSF", 35}, {"heap LFUDA", 35}, {"lru", 0}}) {
    Cache cache(words, 100'000);
    for (int round = 0; round < 50; ++round) {
      for (uint64_t key = 0; key < 50; ++key) cache.ask(key);
      for (uint64_t key = 0; key < 60; ++key) cache.ask(1000 + uint64_t(round) * 60 + key);
    }
    for (uint64_t key = 0; key < 60; ++key) cache.ask(100'000 + key);
    size_t kept = 0;
    for (uint64_t key = 0; key < 50; ++key) kept += cache.held.contains(key);
    BOOST_TEST(kept >= least, words << " keeps " << kept);
    if (least == 0) BOOST_TEST(kept == 0u, words);
  }
}

BOOST_AUTO_TEST_CASE(the_larger_of_two_equals_goes_where_size_counts) {
  struct Case { const char* words; bool small_stay; };
  for (auto& [words, small_stay] : {Case{"adaptive", true}, {"heap GDSF", true}, {"heap LFUDA", false}, {"lru", false}}) {
    Cache cache(words, 1'000'000);
    for (uint64_t key = 0; key < 40; ++key) cache.ask(key, 1000);
    for (uint64_t key = 100; key < 140; ++key) cache.ask(key, 100'000);
    bool all = true, none = true;
    for (uint64_t key = 0; key < 40; ++key) (cache.held.contains(key) ? none : all) = false;
    BOOST_TEST((small_stay ? all : none), words);
  }
}

// A body is small when its object comes in, and grows: its size counts from then on.
BOOST_AUTO_TEST_CASE(a_size_that_changes_counts) {
  for (auto words : {"adaptive", "heap GDSF"}) {
    Cache cache(words, 1'000'000);
    for (uint64_t key = 0; key < 20; ++key) cache.ask(key, 1000);
    PolicyNode& grown = cache.held.at(7);
    cache.policy->resized(grown, 500'000);
    BOOST_TEST(grown.size == 500'000u);
    BOOST_TEST(cache.policy->victim() == &grown, words);
    cache.policy->resized(grown, 10);
    BOOST_TEST(cache.policy->victim() != &grown, words);
  }
}

BOOST_AUTO_TEST_CASE(what_comes_back_is_known) {
  UseHistory history;
  BOOST_TEST(history.take(5 << 8) == 0);
  history.put(5 << 8, 3);   // no room yet: nothing is kept
  BOOST_TEST(history.take(5 << 8) == 0);
  history.reserve(1000);
  auto hash = [](uint64_t i) { return i * 0x9E3779B97F4A7C15u; };
  for (uint64_t i = 1; i <= 300; ++i) history.put(hash(i), uint8_t(i % 250 + 1));
  history.reserve(100'000);
  size_t known = 0;
  for (uint64_t i = 1; i <= 300; ++i) {
    uint8_t uses = history.take(hash(i));
    if (uses) BOOST_TEST(unsigned(uses) == i % 250 + 1);
    known += uses != 0;
    BOOST_TEST(history.take(hash(i)) == 0);
  }
  BOOST_TEST(known >= 295u);
  history.reserve(size_t(1) << 40);
  BOOST_TEST(history.places() == UseHistory::kMostPlaces);
}

BOOST_AUTO_TEST_CASE(carried_is_at_most_its_share_and_nothing_unused) {
  Random random;
  for (auto words : kWords)
    for (int round = 0; round < 200; ++round) {
      std::vector<disk::CarryOver::Candidate> objects(random.below(300));
      uint64_t total = 0, carried = 0;
      for (auto& o : objects) {
        o = {random.below(1 << 20), random.below(4), random.below(10), random.below(8) == 0};
        total += o.bytes;
      }
      std::set<uint32_t> chosen;
      for (uint32_t i : disk::CarryOver(words).choose(objects, total)) {
        BOOST_REQUIRE(chosen.insert(i).second);
        BOOST_REQUIRE((objects[i].uses > 0 || objects[i].in_memory));
        carried += objects[i].bytes;
      }
      BOOST_REQUIRE(double(carried) <= double(total) * disk::CarryOver::kShare);
    }
}

BOOST_AUTO_TEST_SUITE_END()
