#include "test-suite/bench/policy_simulation.h"

#include <algorithm>
#include <sstream>

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

namespace bench = loligo::bench;

namespace {

const char* const kWords[] = {"adaptive", "s3fifo", "lru", "heap LRU", "heap GDSF", "heap LFUDA"};

bench::Workload workload(const char* kind, uint64_t seed) {
  bench::WorkloadOptions options;
  options.kind = kind;
  options.seed = seed;
  options.requests = 200'000;
  options.objects = 15'000;
  return bench::make_workload(options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(policy_simulation)

// What doc/decisions/0005-replacement.md claims, on smaller traces than there.
BOOST_AUTO_TEST_CASE(the_default_has_at_least_the_object_hit_ratio_of_the_others) {
  for (auto kind : {"skewed", "scan", "shifting"}) {
    auto w = workload(kind, 7);
    for (double share : {0.01, 0.1, 0.3}) {
      auto capacity = uint64_t(share * double(w.footprint));
      bench::Ratios ours = bench::simulate_memory(w, "adaptive", capacity);
      for (auto other : {"lru", "heap GDSF", "heap LFUDA", "s3fifo"}) {
        bench::Ratios theirs = bench::simulate_memory(w, other, capacity);
        BOOST_TEST(ours.objects() >= theirs.objects() - 0.3, kind << ' ' << share << ' ' << other << ' ' << ours.objects() << ' ' << theirs.objects());
      }
      BOOST_TEST(ours.in_bytes() >= bench::simulate_memory(w, "lru", capacity).in_bytes() - 3.5, kind << " " << share);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_log_carries_over_within_its_bound_and_beats_a_fifo) {
  for (auto kind : {"skewed", "scan", "shifting"}) {
    auto w = workload(kind, 7);
    bench::LogOptions plain{"", w.footprint / 10};
    double fifo = bench::simulate_log(w, plain).objects();
    for (auto words : kWords) {
      bench::LogOptions log{words, w.footprint / 10};
      bench::Ratios r = bench::simulate_log(w, log);
      BOOST_TEST(r.objects() > fifo + 1, kind << ' ' << words << ' ' << r.objects() << ' ' << fifo);
      BOOST_TEST(r.amplification() <= 1.5, kind << ' ' << words << ' ' << r.amplification());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_trace_is_read_and_a_bad_line_named) {
  struct Case { const char *text, *problem; size_t requests; };
  for (auto& [text, problem, requests] : {Case{"a 10\nb\t20\n\n# note\na 10 more\nb 21\r\n", "", 4}, {"", "", 0}, {"a 10\nb\n", "line 2 is no 'key size'", 1}, {"a x\n", "line 1 is no 'key size'", 0},
                                          {"a 99999999999999999999999\n", "line 1 is no 'key size'", 0}, {"a 1x\n", "line 1 is no 'key size'", 0}}) {
    std::istringstream in(text);
    bench::Workload w;
    std::string told;
    BOOST_TEST(bench::read_workload(in, w, told) == (*problem == 0), text);
    BOOST_TEST(told == problem);
    BOOST_TEST(w.requests.size() == requests, text);
    if (requests == 4) BOOST_TEST((w.objects == 2 && w.footprint == 31));
  }
}

// On any machine, so that figures can be compared.
BOOST_AUTO_TEST_CASE(what_is_made_up_depends_on_the_seed_alone) {
  for (auto& kind : bench::kWorkloadKinds) {
    auto a = workload(kind.name, 3), b = workload(kind.name, 3), c = workload(kind.name, 4);
    auto same = [](const bench::Workload& x, const bench::Workload& y) {
      return std::equal(x.requests.begin(), x.requests.end(), y.requests.begin(), y.requests.end(), [](auto& p, auto& q) { return p.object == q.object && p.size == q.size; });
    };
    BOOST_TEST(a.requests.size() == 200'000u);
    BOOST_TEST((same(a, b) && !same(a, c)), kind.name);
  }
  BOOST_TEST(bench::make_workload({"no such kind"}).requests.empty());
}

BOOST_AUTO_TEST_SUITE_END()
