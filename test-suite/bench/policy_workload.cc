#include "test-suite/bench/policy_workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <unordered_map>

namespace loligo::bench {

namespace {

uint64_t mix(uint64_t x) {   // the finaliser of SplitMix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed)) {}
  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  double unit() { return double(next() >> 11) * 0x1p-53; }          // [0, 1)
  uint32_t below(uint32_t n) { return uint32_t(unit() * n); }

 private:
  uint64_t state_;
};

// Ranks from 0, the most popular first.
class Zipf {
 public:
  Zipf(uint32_t n, double exponent) : sums_(n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sums_[i] = sum += std::pow(i + 1, -exponent);
  }
  uint32_t draw(Random& random) const {
    double x = random.unit() * sums_.back();
    return uint32_t(std::upper_bound(sums_.begin(), sums_.end() - 1, x) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

class Maker {
 public:
  explicit Maker(const WorkloadOptions& options) : options_(options), random_(options.seed), zipf_(options.objects, options.zipf), at_rank_(options.objects) {
    for (auto& object : at_rank_) object = fresh();
  }
  bool make(Workload& out) {
    out.requests.reserve(options_.requests);
    while (out.requests.size() < options_.requests) {
      auto i = uint32_t(out.requests.size());
      if (options_.kind == "skewed") ask(out, popular());
      else if (options_.kind == "scan") ask(out, i / scan_length() % 2 ? fresh() : popular());
      else if (options_.kind == "shifting") shift(i), ask(out, popular());
      else if (options_.kind == "news") ask(out, news(i));
      else if (options_.kind == "loop") ask(out, i % 4 ? popular() : at_rank_[i / 4 % (options_.objects / 5)]);
      else return false;
    }
    return true;
  }

 private:
  uint32_t fresh() { return objects_++; }
  uint32_t popular() { return at_rank_[zipf_.draw(random_)]; }
  uint32_t scan_length() const { return std::max(1u, options_.requests / 40); }
  // A size belongs to an object, and does not depend on when it is first asked for.
  uint64_t size_of(uint32_t object) const {
    Random own(options_.seed * 1'000'003 + object);
    double normal = std::sqrt(-2 * std::log(1 - own.unit())) * std::cos(2 * M_PI * own.unit());
    return uint64_t(std::clamp(options_.median * std::exp(options_.sigma * normal), 64.0, 1e9));
  }
  void ask(Workload& out, uint32_t object) { out.requests.push_back({object, size_of(object)}); }
  // 2 % of the ranks go to new objects 200 times, and half of them at once at each quarter.
  void shift(uint32_t i) {
    uint32_t step = std::max(1u, options_.requests / 200), quarter = std::max(1u, options_.requests / 4);
    if (i == 0 || i % step) return;
    uint32_t changes = i % quarter ? options_.objects / 50 : options_.objects / 2;
    for (uint32_t n = 0; n < changes; ++n) at_rank_[random_.below(options_.objects)] = fresh();
  }
  // The latest object is the most popular one, and fades.
  uint32_t news(uint32_t i) {
    if (i % 10 == 0) at_rank_[newest_ = (newest_ + 1) % options_.objects] = fresh();
    return at_rank_[(newest_ + options_.objects - zipf_.draw(random_)) % options_.objects];
  }

  const WorkloadOptions& options_;
  Random random_;
  Zipf zipf_;
  std::vector<uint32_t> at_rank_;
  uint32_t objects_ = 0, newest_ = 0;
};

// Numbers the objects that were asked for without gaps, and adds them up.
void finish(Workload& w) {
  std::vector<uint32_t> number;
  std::vector<uint64_t> sizes;
  for (Request& r : w.requests) {
    if (r.object >= number.size()) number.resize(r.object + 1, UINT32_MAX);
    if (number[r.object] == UINT32_MAX) {
      number[r.object] = uint32_t(sizes.size());
      sizes.push_back(0);
    }
    r.object = number[r.object];
    sizes[r.object] = r.size;
  }
  w.objects = uint32_t(sizes.size());
  for (uint64_t size : sizes) w.footprint += size;
}

}  // namespace

const std::vector<WorkloadKind> kWorkloadKinds = {
    {"skewed", "Zipf popularity that stays"},
    {"scan", "the same, half of the requests in long runs for objects asked for once"},
    {"shifting", "the popular set moves, slowly all the time and by half three times"},
    {"news", "the newest objects are the most popular, and fade"},
    {"loop", "skewed, and every fourth request walks round a fifth of the objects"},
};

Workload make_workload(const WorkloadOptions& options) {
  Workload w;
  w.name = options.kind;
  if (options.objects < 5 || options.requests == 0) return w;
  if (Maker(options).make(w)) finish(w);
  return w;
}

bool read_workload(std::istream& in, Workload& w, std::string& problem) {
  std::unordered_map<std::string, uint32_t> numbers;
  std::string line;
  for (uint64_t at = 1; std::getline(in, line); ++at) {
    size_t space = line.find_first_of(" \t");
    if (line.empty() || line[0] == '#') continue;
    size_t digits = space == line.npos ? line.size() : line.find_first_not_of(" \t", space);
    uint64_t size = 0;
    const char* end = line.data() + line.size();
    auto parsed = digits < line.size() ? std::from_chars(line.data() + digits, end, size) : std::from_chars_result{end, std::errc::invalid_argument};
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr > ' ')) {
      problem = "line " + std::to_string(at) + " is no 'key size'";
      return false;
    }
    auto number = numbers.try_emplace(line.substr(0, space), uint32_t(numbers.size())).first->second;
    w.requests.push_back({number, size});
  }
  finish(w);
  return true;
}

}  // namespace loligo::bench
