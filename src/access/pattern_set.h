// A set of regular expressions asked one question: does any of them match?
//
// Ten thousand patterns cost about as much as ten. Most patterns hold a literal
// text that every match must contain (regex_translate.h). The set keeps short
// pieces of those texts ("grams" of 8, 4 or 3 bytes) in a hash table, goes over
// the subject once, and runs a pattern only where its whole literal stands.
// Patterns that are nothing but a literal need no regular expression at all.
// The rest, and patterns that share a literal, run together in an RE2::Set.
//
// RE2::Set can run out of its memory budget; it then says "no match" with an
// error. That is never taken for an answer: the patterns are tried one by one.
//
// Owner: the ACL. Built at start-up by one thread, then immutable; any thread
// may match, without allocating (RE2's own caches aside).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/regex_translate.h"
#include "config/problem.h"

namespace loligo::access {

class PatternSet {
 public:
  // `set_memory`: the budget of each RE2::Set, in bytes.
  explicit PatternSet(int64_t set_memory = kSetMemory);
  ~PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;

  void add(std::string_view pattern, bool ignore_case, const config::Place&, config::Problems&);
  void finish();
  bool matches(std::string_view subject) const;
  bool empty() const { return patterns_.empty(); }

  static constexpr int64_t kSetMemory = 32 << 20;

 private:
  struct Pattern {
    Translation translation;
    bool ignore_case;
  };
  class Expressions;  // some patterns, as RE2s and perhaps an RE2::Set
  struct Bucket;      // the patterns of one literal
  class GramIndex;    // grams of one width
  void fill_bucket(Bucket&, const std::vector<uint32_t>& members);
  void index_buckets();
  void index_rarest(GramIndex&, const std::vector<uint32_t>& buckets, unsigned width);

  int64_t set_memory_;
  std::vector<Pattern> patterns_;
  std::vector<Bucket> buckets_;
  std::vector<GramIndex> indexes_;
  std::unique_ptr<Expressions> others_;  // without a usable literal
};

}  // namespace loligo::access
