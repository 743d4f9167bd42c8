#define BOOST_TEST_DYN_LINK
#include "access/pattern_set.h"

#include <regex.h>

#include <boost/test/unit_test.hpp>
#include <random>

#include "access/test_support.h"

using namespace loligo;
using namespace loligo::access;

namespace {

bool one_matches(const std::string& pattern, const std::string& text, bool ignore_case = false) {
  PatternSet set;
  config::Problems problems;
  set.add(pattern, ignore_case, {}, problems);
  set.finish();
  BOOST_TEST(!problems.has(config::Severity::error), test::all_of(problems));
  return set.matches(text);
}

// What the C library's POSIX matcher says: -1 if it refuses the pattern.
int posix(const std::string& pattern, const std::string& text, bool ignore_case) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0)) != 0) return -1;
  int found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_pattern_set)

BOOST_AUTO_TEST_CASE(posix_notation) {
  struct Row {
    const char* pattern;
    const char* text;
    bool expected;
  };
  const Row rows[] = {
      {"\\.(exe|zip)$", "/a/b.zip", true}, {"\\.(exe|zip)$", "/a/b.zipper", false}, {"[[:digit:]]{3}", "ab123", true}, {"[[:digit:]]{3}", "ab12", false},
      {"[[:upper:][:digit:]_]x", "_x", true}, {"[^[:alnum:]]", "abc1", false}, {"[]x]", "]", true}, {"[^]x]", "]x", false}, {"[a-]", "-", true}, {"[\\d]", "d", true},
      {"[\\d]", "5", false}, {"[\\.]", "\\", true}, {"[[.-.]]", "-", true}, {"[[=a=]]", "a", true}, {"[a\\]b]", "\\b]", true},
      {"\\<foo\\>", "a foo b", true}, {"\\<foo\\>", "afoo", false}, {"\\bfoo", "x foo", true}, {"\\w+@\\w+", "me@here", true}, {"\\W", "abc", false}, {"\\s", "a b", true},
      {"\\d", "d", true}, {"\\d", "5", false}, {"a{2,3}b", "caab", true}, {"^a{,2}$", "aa", true}, {"^a{,2}$", "aaa", false}, {"^a+?$", "", true}, {"^(ab)**$", "abab", true},
      {"a)", "a)", true}, {"a||b", "", true}, {"()", "", true}, {"x.y", "x\ny", true}, {"caf\xe9", "CAF\xc9", false}, {"a\\ b", "a b", true}, {"(?:ab)+c", "ababc", true},
      {"^[^/]+$", "a\nb", true}, {"\\/x\\-y\\_z", "/x-y_z", true}, {"#", "#", true}, {"^$", "", true}, {"$", "abc", true},
  };
  for (const Row& row : rows) BOOST_TEST(one_matches(row.pattern, row.text) == row.expected, row.pattern << " on " << row.text);
  BOOST_TEST(one_matches("caf\xe9", "CAF\xc9", true));  // Latin-1 case
  BOOST_TEST(one_matches("ABC[x-z]", "abcY", true));
  BOOST_TEST(!one_matches("[^x]", "X", true));
}

// Random small patterns: the translation finds what POSIX finds, alone and in a set.
BOOST_AUTO_TEST_CASE(agrees_with_the_c_library) {
  const char* const pieces[] = {"a", "b", "c", "abc", "Abca", "bcab", ".", "*", "+", "?", "(", ")", "|", "[ab]", "[^a]", "[[:upper:]]", "{2}", "{1,2}", "{,1}", "^", "$", "\\.", "\\w", "cab.", "\\("};
  std::mt19937 random(4711);
  unsigned compared = 0, refused = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string pattern;
    for (unsigned i = 0, count = 1 + random() % 6; i < count; ++i) pattern += pieces[random() % std::size(pieces)];
    bool ignore_case = random() % 2;
    config::Problems problems;
    PatternSet alone, with_others;
    alone.add(pattern, ignore_case, {}, problems);
    int known = posix(pattern, "", ignore_case);
    if (problems.has(config::Severity::error)) {
      ++refused;
      BOOST_REQUIRE_MESSAGE(known < 0, pattern << " is refused here only: " << test::all_of(problems));
      continue;
    }
    if (known < 0) continue;  // accepting more does no harm
    for (const char* other : {"xyzw1", "xyzw2[0-9]", "xyz[0-9]w", "^QQQ", "QQQ$", "Q[0-9]?Q"}) with_others.add(other, false, {}, problems);
    with_others.add(pattern, ignore_case, {}, problems);
    alone.finish();
    with_others.finish();
    for (int i = 0; i < 20; ++i) {
      std::string text;
      for (unsigned j = 0, length = random() % 14; j < length; ++j) text += "aabbccABC.("[random() % 11];
      bool expected = posix(pattern, text, ignore_case) == 1;
      BOOST_REQUIRE_MESSAGE(alone.matches(text) == expected, pattern << (ignore_case ? " -i" : "") << " on " << text << ": POSIX says " << expected);
      BOOST_REQUIRE_MESSAGE(with_others.matches(text) == expected, "in a set: " << pattern << " on " << text);
      ++compared;
    }
  }
  BOOST_TEST(compared > 20000u);
  BOOST_TEST_MESSAGE(compared << " compared, " << refused << " refused");
}

// Thousands of patterns with and without literals: the sieve loses none.
BOOST_AUTO_TEST_CASE(many_patterns_lose_nothing) {
  std::mt19937 random(7);
  PatternSet set;
  config::Problems problems;
  std::vector<std::string> patterns, texts;
  for (int i = 0; i < 3000; ++i) {
    std::string n = std::to_string(i);
    switch (i % 7) {
      case 0: patterns.push_back("word" + n + "x"), texts.push_back("http://a/WORD" + n + "X?"); break;
      case 1: patterns.push_back("^http://site" + n + "\\.test/.*\\.exe$"), texts.push_back("http://site" + n + ".test/q/r.exe"); break;
      case 2: patterns.push_back("/shared/[0-9]+/" + n + "$"), texts.push_back("http://h/shared/12/" + n); break;
      case 3: patterns.push_back("(x|y)" + n + "(z|w)"), texts.push_back("--y" + n + "w"); break;
      case 4: patterns.push_back("q" + n), texts.push_back("Q" + n); break;
      case 5: patterns.push_back("same-literal[a-z]" + std::string(1, char('0' + i % 10)) + "*" + n), texts.push_back("a same-literalq" + n); break;
      default: patterns.push_back("end" + n + "$"), texts.push_back("the END" + n); break;
    }
    set.add(patterns.back(), true, {}, problems);
  }
  set.finish();
  BOOST_TEST(problems.list().empty());
  for (auto& text : texts) BOOST_TEST(set.matches(text), text);
  for (const char* text : {"", "a", "http://ordinary.example/index.html", "http://site.test/q.exe", "word", "wordx", "the end"}) BOOST_TEST(!set.matches(text), text);
}

BOOST_AUTO_TEST_CASE(literals_at_edges) {
  for (const char* literal : {"abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi"}) {
    std::string l = literal;
    for (size_t before = 0; before < 10; ++before)
      for (size_t after = 0; after < 10; ++after) {
        std::string text = std::string(before, '.') + l + std::string(after, '.');
        BOOST_TEST(one_matches(l, text), text);
        BOOST_TEST(one_matches("^" + l, text) == (before == 0), text);
        BOOST_TEST(one_matches(l + "$", text) == (after == 0), text);
        BOOST_TEST(one_matches("^" + l + "$", text) == (before == 0 && after == 0), text);
      }
    BOOST_TEST(!one_matches(l, l.substr(1)));
  }
  BOOST_TEST(!one_matches("ABC", "abc"));
  BOOST_TEST(one_matches("ABC", "abc ABC"));  // a second place counts
  BOOST_TEST(one_matches("abc$", "abc abc"));
}

// A set that does not fit its memory (it refuses to compile, or says "no match" with an error) has each pattern asked itself.
BOOST_AUTO_TEST_CASE(a_set_out_of_memory_is_not_no_match) {
  for (int64_t memory : {int64_t(1), int64_t(40000), int64_t(60000), int64_t(100000), int64_t(1 << 18)}) {
    PatternSet set(memory);
    config::Problems problems;
    for (int i = 0; i < 40; ++i) set.add("[a-f][0-9]{1,9}(x|y)" + std::to_string(i) + "[g-k]{3,20}$", false, {}, problems);
    set.finish();
    std::string noise;
    std::mt19937 random(3);
    for (int i = 0; i < 3000; ++i) noise += "abcdef0123456789xyghijk"[random() % 23];
    BOOST_TEST(set.matches(noise + "a1x39ghijk"), memory);
    BOOST_TEST(!set.matches(noise + "a1x40ghijk!"), memory);
  }
}

BOOST_AUTO_TEST_SUITE_END()
