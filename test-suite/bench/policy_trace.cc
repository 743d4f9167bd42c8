// Drives the replacement policies with a trace, without a proxy, and prints what share of requests and of bytes would
// have been hits. Requests from a cold cache on count.
//
//   policy_trace [OPTION ...] [FILE ...]      lines "key size"; - is standard input
//   policy_trace --generate KIND [OPTION ...]
//
//   --generate KIND     skewed, scan, shifting, news or loop (may be given several times); the same for the same seed
//   --seed N --requests N --objects N --zipf X --median BYTES --sigma X      what is generated
//   --policy WORDS      as in squid.conf, "heap GDSF" for instance; several times; default: all
//   --capacity SIZE     bytes, or a share of the footprint as in 10%; several times; default: 1%, 10%, 30%
//   --log               the disk's log of segments instead of memory, and its write amplification
//   --memory SHARE      with --log: a memory cache of that share of the disk's size before it, as in 10%
//   --cost              nanoseconds of CPU per use and per object that comes and goes, instead of any trace
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "store/policy.h"
#include "test-suite/bench/policy_simulation.h"

using namespace loligo;
using namespace loligo::bench;

namespace {

struct Options {
  WorkloadOptions generated;
  std::vector<std::string> kinds, files, policies, capacities;
  bool log = false, cost = false;
  double memory_share = 0;
};

double number(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= 0) || value > 1e18) throw std::invalid_argument("'" + text + "' is no number");
  return value;
}

uint64_t capacity_of(const std::string& text, uint64_t footprint) {
  if (text.ends_with('%')) return uint64_t(number(text.substr(0, text.size() - 1)) / 100 * double(footprint));
  return uint64_t(number(text));
}

bool read_option(const std::string& name, const std::string& value, Options& o) {
  if (name == "--generate") o.kinds.push_back(value);
  else if (name == "--seed") o.generated.seed = uint64_t(number(value));
  else if (name == "--requests") o.generated.requests = uint32_t(std::min(number(value), 1e9));
  else if (name == "--objects") o.generated.objects = uint32_t(std::min(number(value), 1e8));
  else if (name == "--zipf") o.generated.zipf = number(value);
  else if (name == "--median") o.generated.median = number(value);
  else if (name == "--sigma") o.generated.sigma = number(value);
  else if (name == "--policy") o.policies.push_back(value);
  else if (name == "--capacity") capacity_of(value, 0), o.capacities.push_back(value);
  else if (name == "--memory") o.memory_share = double(capacity_of(value, 1'000'000)) / 1e6;
  else return false;
  return true;
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--log") o.log = true;
    else if (word == "--cost") o.cost = true;
    else if (!word.starts_with("--")) o.files.push_back(word);
    else if (i + 1 == argc || !read_option(word, argv[i + 1], o)) throw std::invalid_argument("unknown option or no value: " + word);
    else ++i;
  }
  if (o.policies.empty()) o.policies = {"lru", "heap LRU", "heap GDSF", "heap LFUDA", "s3fifo", "adaptive"};
  for (auto& policy : o.policies)
    if (!store::make_policy(policy, 1) || policy.empty()) throw std::invalid_argument("'" + policy + "' is no policy");
  if (o.capacities.empty()) o.capacities = {"1%", "10%", "30%"};
  if (o.kinds.empty() && o.files.empty() && !o.cost) throw std::invalid_argument("no trace: --generate KIND, a file, or - for standard input");
  return o;
}

void print_row(const char* name, const Workload& w, const Options& o, const std::string& policy) {
  std::printf("%-14s", name);
  for (auto& text : o.capacities) {
    uint64_t capacity = capacity_of(text, w.footprint);
    LogOptions log{policy, capacity, 64, uint64_t(o.memory_share * double(capacity))};
    Ratios r = o.log ? simulate_log(w, log) : simulate_memory(w, policy, capacity);
    std::printf(" %8.2f %7.2f", r.objects(), r.in_bytes());
    if (o.log) std::printf(" %7.3f", r.amplification());
  }
  std::printf("\n");
}

void run(const Workload& w, const Options& o) {
  std::printf("%s: %zu requests, %u objects, %.1f MB\n%-14s", w.name.c_str(), w.requests.size(), w.objects, double(w.footprint) / 1e6, "hits, %");
  for (auto& capacity : o.capacities) std::printf(o.log ? " %8s   bytes written" : " %8s   bytes", capacity.c_str());
  std::printf("\n");
  if (o.log) print_row("nothing kept", w, o, "");
  for (auto& policy : o.policies) print_row(policy.c_str(), w, o, policy);
  std::printf("\n");
}

// CPU time, so that other load counts less.
double nanoseconds_since(std::clock_t start, double events) { return double(std::clock() - start) * (1e9 / CLOCKS_PER_SEC) / events; }

// Memory as in the proxy: nodes of the size of an object, apart from each other.
void print_cost(const std::string& words, uint32_t objects) {
  struct alignas(64) Spaced { store::PolicyNode node; char rest[128]; };
  std::vector<Spaced> nodes(2 * size_t(objects));
  auto policy = store::make_policy(words, uint64_t(objects) * 10'000);
  std::vector<store::PolicyNode*> spare;
  uint64_t next = 0;
  auto add = [&](store::PolicyNode& n) {
    n = {};
    n.key_hash = (n.size = ++next * 0x9E3779B97F4A7C15u);
    n.size = 1000 + n.size % 18'000;
    policy->added(n);
  };
  for (size_t i = 0; i < nodes.size(); ++i) i < objects ? add(nodes[i].node) : spare.push_back(&nodes[i].node);
  constexpr uint32_t kEvents = 1'000'000;
  std::clock_t start = std::clock();
  for (uint32_t i = 0; i < kEvents; ++i) policy->used(nodes[uint32_t(i * 2654435761u) % objects].node);
  double use = nanoseconds_since(start, kEvents);
  start = std::clock();
  for (uint32_t i = 0; i < kEvents; ++i) {
    store::PolicyNode* victim = policy->victim();
    policy->removed(*victim);
    add(*spare[i % spare.size()]);
    spare[i % spare.size()] = victim;
  }
  std::printf("%-14s %9u %10.1f %10.1f\n", words.c_str(), objects, use, nanoseconds_since(start, kEvents));
}

}  // namespace

int main(int argc, char** argv) try {
  Options o = read_options(argc, argv);
  if (o.cost) {
    std::printf("%-14s %9s %10s %10s\n", "nanoseconds", "objects", "use", "exchange");
    for (uint32_t objects : {1'000u, 100'000u, 1'000'000u})
      for (auto& policy : o.policies) print_cost(policy, objects);
    return 0;
  }
  for (auto& kind : o.kinds) {
    o.generated.kind = kind;
    Workload w = make_workload(o.generated);
    if (w.requests.empty()) throw std::invalid_argument("nothing to generate: '" + kind + "'");
    run(w, o);
  }
  for (auto& name : o.files) {
    Workload w;
    w.name = name;
    std::ifstream file;
    std::string problem;
    if (name != "-") file.open(name);
    if (!file.good()) throw std::invalid_argument("cannot read " + name);
    if (!read_workload(name == "-" ? std::cin : file, w, problem)) throw std::invalid_argument(name + ": " + problem);
    run(w, o);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "policy_trace: %s\n", e.what());
  return 2;
}
