// From the regular expressions of squid.conf (POSIX extended, with the GNU
// escapes \< \> \b \B \w \W \s \S \` \') to RE2 syntax. Bytes are Latin-1.
//
// RE2 searches in linear time and so has no back-references and no lookaround;
// those are refused by name. \< and \> become \b (a word boundary of either side).
//
// The translator also tells which literal text every match must contain, which
// lets thousands of patterns be sifted before any is run (PatternSet).
// Pure function, any thread.
#pragma once
#include <string>
#include <string_view>

namespace loligo::access {

struct Translation {
  std::string re2;
  std::string error, fix;    // error empty = fine
  std::string warning;       // a trap of the notation the user may have fallen into
  std::string literal;       // text every match contains; may be empty
  bool pure = false;         // the pattern is `literal` and nothing else, but for:
  bool at_start = false, at_end = false;  // ^ and $ around a pure one
};

Translation translate_regex(std::string_view posix);

}  // namespace loligo::access
