#include "access/pattern_set.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <map>

#include "base/text.h"

namespace loligo::access {

namespace {

constexpr size_t kSetFrom = 5;                  // fewer patterns than this run faster one by one
constexpr unsigned kWidths[] = {8, 4, 3};       // of grams, widest first
constexpr unsigned kLeast = 3;                  // a shorter literal sifts too little
constexpr size_t kFew = 64;                     // literals for which strides pay
constexpr size_t kLongestStride = 8;

constexpr unsigned width_of(size_t literal_length) {
  for (unsigned width : kWidths)
    if (literal_length >= width) return width;
  return 0;
}

RE2::Options options_of(int64_t memory, bool ignore_case) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);  // POSIX: "." is any byte
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_case_sensitive(!ignore_case);
  options.set_max_mem(memory);
  return options;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

// ASCII lower case of eight bytes at once.
constexpr uint64_t fold8(uint64_t x) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  uint64_t low7 = x & (0x7f * kOnes);
  uint64_t above_z = low7 + (0x7f - 'Z') * kOnes, from_a = low7 + (0x80 - 'A') * kOnes;
  uint64_t upper = ~x & (from_a ^ above_z) & (0x80 * kOnes);
  return x | upper >> 2;
}

constexpr uint64_t gram_mask(unsigned width) { return width == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * width)) - 1; }

// `width` bytes of lower case text.
uint64_t gram_at(const char* at, unsigned width) {
  uint64_t value = 0;
  memcpy(&value, at, width);
  return value;
}

// `text` in ASCII lower case, with room for a wide read at its last byte. Lives until this thread's next call.
std::string_view folded(std::string_view text) {
  static thread_local std::vector<char> buffer;  // grows to the longest subject seen, then stays
  if (buffer.size() < text.size() + 16) buffer.resize(text.size() + 16);
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t eight;
    memcpy(&eight, text.data() + i, 8);
    eight = fold8(eight);
    memcpy(buffer.data() + i, &eight, 8);
  }
  for (; i < text.size(); ++i) buffer[i] = base::ascii_lower(text[i]);
  return {buffer.data(), text.size()};
}

// Which buckets a thread has run in the match under way, so that a subject that repeats a literal runs its patterns once.
class Marks {
 public:
  void begin(size_t count) {
    if (seen_.size() < count) seen_.resize(count);
    if (++round_ == 0) std::fill(seen_.begin(), seen_.end(), 0), round_ = 1;
  }
  bool first(size_t i) {
    if (seen_[i] == round_) return false;
    seen_[i] = round_;
    return true;
  }

 private:
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
};
thread_local Marks marks;

}  // namespace

class PatternSet::Expressions {
 public:
  explicit Expressions(int64_t memory) : memory_(memory) {}
  void add(const Pattern& pattern) {
    const std::string& text = pattern.translation.re2;
    single_.push_back(std::make_unique<RE2>(text, options_of(RE2::Options::kDefaultMaxMem, pattern.ignore_case)));
    texts_.push_back(pattern.ignore_case ? "(?i:" + text + ")" : text);
  }
  void finish() {
    if (single_.size() >= kSetFrom) {
      set_ = std::make_unique<RE2::Set>(options_of(memory_, false), RE2::UNANCHORED);
      bool whole = true;
      for (const std::string& text : texts_) whole &= set_->Add(text, nullptr) >= 0;
      if (!whole || !set_->Compile()) set_ = nullptr;  // too large for the budget: one by one
    }
    texts_ = {};
  }
  bool match(std::string_view subject) const {
    if (set_) {
      RE2::Set::ErrorInfo error{RE2::Set::kNoError};
      if (set_->Match(piece(subject), nullptr, &error)) return true;
      if (error.kind == RE2::Set::kNoError) return false;
    }
    for (const auto& one : single_)
      if (RE2::PartialMatch(piece(subject), *one)) return true;
    return false;
  }
  bool empty() const { return single_.empty(); }

 private:
  int64_t memory_;
  std::vector<std::unique_ptr<RE2>> single_;
  std::vector<std::string> texts_;
  std::unique_ptr<RE2::Set> set_;
};

struct PatternSet::Bucket {
  struct Pure {
    std::string text;
    bool ignore_case, at_start, at_end;
  };
  std::string literal;  // lower case
  std::vector<Pure> pure;
  std::unique_ptr<Expressions> expressions;  // null if all are pure

  // The literal stands at `at`, case ignored: does a pure pattern match there?
  bool pure_match(std::string_view subject, size_t at) const {
    for (const Pure& one : pure) {
      if (one.at_start && at != 0) continue;
      if (one.at_end && at + one.text.size() != subject.size()) continue;
      if (one.ignore_case || subject.compare(at, one.text.size(), one.text) == 0) return true;
    }
    return false;
  }
};

// The grams of one width: a bit per hash value to say "no" at once, and a table from gram to the places it stands for.
class PatternSet::GramIndex {
 public:
  struct Place {
    uint32_t bucket, offset;  // the gram stands `offset` bytes into the bucket's literal
    uint32_t next;            // 1 + index of the next place with this gram
  };
  GramIndex(unsigned width, unsigned stride) : width_(width), stride_(stride) {}

  void add(uint64_t gram, uint32_t bucket, uint32_t offset) {
    uint32_t& head = heads_[gram];
    places_.push_back({bucket, offset, head});
    head = uint32_t(places_.size());
  }
  void finish() {
    unsigned bits = 9;
    while ((size_t(1) << bits) < heads_.size() * 32) ++bits;
    shift_ = 64 - bits;
    bits_.assign((size_t(1) << bits) / 64, 0);
    for (auto& [gram, head] : heads_) bits_[hash(gram) / 64] |= uint64_t(1) << (hash(gram) % 64);
  }

  // `lower` is folded(subject).
  bool matches(std::string_view subject, std::string_view lower, const std::vector<Bucket>& buckets, bool& marking) const {
    if (lower.size() < width_) return false;
    const uint64_t mask = gram_mask(width_);
    for (size_t i = 0, last = lower.size() - width_; i <= last; i += stride_) {
      uint64_t gram;
      memcpy(&gram, lower.data() + i, 8);  // folded() left room
      gram &= mask;
      if (may_hold(gram) && candidate(gram, subject, lower, i, buckets, marking)) return true;
    }
    return false;
  }

 private:
  size_t hash(uint64_t gram) const { return size_t((gram * 0x9e3779b97f4a7c15u) >> shift_); }
  bool may_hold(uint64_t gram) const {
    size_t h = hash(gram);
    return (bits_[h / 64] >> (h % 64)) & 1;
  }
  bool candidate(uint64_t gram, std::string_view subject, std::string_view lower, size_t at, const std::vector<Bucket>&, bool& marking) const;

  unsigned width_, stride_, shift_ = 0;
  std::vector<uint64_t> bits_;
  boost::unordered_flat_map<uint64_t, uint32_t> heads_;
  std::vector<Place> places_;
};

bool PatternSet::GramIndex::candidate(uint64_t gram, std::string_view subject, std::string_view lower, size_t at,
                                      const std::vector<Bucket>& buckets, bool& marking) const {
  auto head = heads_.find(gram);
  if (head == heads_.end()) return false;
  for (uint32_t i = head->second; i != 0; i = places_[i - 1].next) {
    const Place& place = places_[i - 1];
    const Bucket& bucket = buckets[place.bucket];
    if (at < place.offset || lower.compare(at - place.offset, bucket.literal.size(), bucket.literal) != 0) continue;
    if (bucket.pure_match(subject, at - place.offset)) return true;
    if (!bucket.expressions) continue;
    if (!marking) marks.begin(buckets.size()), marking = true;
    if (marks.first(place.bucket) && bucket.expressions->match(subject)) return true;
  }
  return false;
}

PatternSet::PatternSet(int64_t set_memory) : set_memory_(set_memory) {}
PatternSet::~PatternSet() = default;
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;

void PatternSet::add(std::string_view pattern, bool ignore_case, const config::Place& place, config::Problems& problems) {
  Translation translation = translate_regex(pattern);
  std::string shown = "\"" + std::string(pattern) + "\"";
  if (translation.error.empty()) {
    // RE2 has the last word: nested repetitions can be too large for it.
    RE2 trial(translation.re2, options_of(RE2::Options::kDefaultMaxMem, ignore_case));
    if (!trial.ok()) translation.error = trial.error();
  }
  if (!translation.error.empty()) return problems.error(place, "the pattern " + shown + " cannot be used: " + translation.error, translation.fix);
  if (!translation.warning.empty()) problems.warning(place, "the pattern " + shown + ": " + translation.warning);
  patterns_.push_back({std::move(translation), ignore_case});
}

void PatternSet::fill_bucket(Bucket& bucket, const std::vector<uint32_t>& members) {
  for (uint32_t i : members) {
    const Pattern& pattern = patterns_[i];
    const Translation& t = pattern.translation;
    if (t.pure) {
      bucket.pure.push_back({t.literal, pattern.ignore_case, t.at_start, t.at_end});
      continue;
    }
    if (!bucket.expressions) bucket.expressions = std::make_unique<Expressions>(set_memory_);
    bucket.expressions->add(pattern);
  }
  if (bucket.expressions) bucket.expressions->finish();
}

void PatternSet::finish() {
  std::map<std::string, std::vector<uint32_t>> by_literal;
  boost::unordered_flat_set<std::string> known;
  others_ = std::make_unique<Expressions>(set_memory_);
  for (uint32_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (!known.insert((pattern.ignore_case ? "i" : "=") + pattern.translation.re2).second) continue;
    if (pattern.translation.literal.size() < kLeast) others_->add(pattern);
    else by_literal[base::to_lower(pattern.translation.literal)].push_back(i);
  }
  others_->finish();
  buckets_.clear();
  for (auto& [literal, members] : by_literal) {
    Bucket& bucket = buckets_.emplace_back();
    bucket.literal = literal;
    fill_bucket(bucket, members);
  }
  index_buckets();
  for (Pattern& pattern : patterns_) pattern.translation = {};  // only their number still matters
}

// Few literals: the subject is read in strides, and the first `stride` grams of each literal are known, one of which a
// stride must hit. Many: each literal's rarest gram, so that "http://www" does not make every URL a candidate for every pattern.
void PatternSet::index_buckets() {
  indexes_.clear();
  std::vector<uint32_t> members;
  for (unsigned width : kWidths) {
    members.clear();
    size_t shortest = size_t(-1);
    for (uint32_t b = 0; b < buckets_.size(); ++b) {
      size_t length = buckets_[b].literal.size();
      if (width_of(length) == width) members.push_back(b), shortest = std::min(shortest, length);
    }
    if (members.empty()) continue;
    bool few = members.size() <= kFew;
    unsigned stride = few ? unsigned(std::min<size_t>(kLongestStride, shortest - width + 1)) : 1;
    GramIndex& index = indexes_.emplace_back(width, stride);
    if (few) {
      for (uint32_t b : members)
        for (unsigned i = 0; i < stride; ++i) index.add(gram_at(buckets_[b].literal.data() + i, width), b, i);
    } else {
      index_rarest(index, members, width);
    }
    index.finish();
  }
}

void PatternSet::index_rarest(GramIndex& index, const std::vector<uint32_t>& members, unsigned width) {
  boost::unordered_flat_map<uint64_t, uint32_t> count;
  for (uint32_t b : members) {
    const std::string& literal = buckets_[b].literal;
    for (size_t i = 0; i + width <= literal.size(); ++i) ++count[gram_at(literal.data() + i, width)];
  }
  for (uint32_t b : members) {
    const std::string& literal = buckets_[b].literal;
    size_t best = 0;
    for (size_t i = 0; i + width <= literal.size(); ++i)
      if (count[gram_at(literal.data() + i, width)] < count[gram_at(literal.data() + best, width)]) best = i;
    index.add(gram_at(literal.data() + best, width), b, uint32_t(best));
  }
}

bool PatternSet::matches(std::string_view subject) const {
  bool marking = false;
  if (!indexes_.empty()) {
    std::string_view lower = folded(subject);
    for (const GramIndex& index : indexes_)
      if (index.matches(subject, lower, buckets_, marking)) return true;
  }
  return others_ && !others_->empty() && others_->match(subject);
}

}  // namespace loligo::access
