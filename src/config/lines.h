// From bytes to logical lines (squid.conf grammar, "from bytes to logical lines").
//
//   physical = up to LF; a CR ends it too          blanks = SP, HT
//   dropped  = empty | '#' anything                also inside a continuation
//   logical  = physical *( '\' LF *dropped physical )
//
// The backslash must be the very last character; it goes, and so do the
// next line's leading blanks. A byte order mark at the start is skipped. Length
// is not limited. A LogicalLine knows for each of its characters where it stood.
// Owner: the reader. One thread; no I/O.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace loligo::config {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct LogicalLine {
  struct Position { int line = 0, column = 0; };
  // Characters from `offset` on stood at (line, column) and after it; `fixed`: they all stem from that one column (a macro).
  struct Segment { size_t offset; Position start; bool fixed; };
  std::string text;
  std::vector<Segment> segments;
  Position at(size_t offset) const;
};

class LineReader {
 public:
  LineReader(std::string_view bytes, const std::string& file, Problems& problems);
  // The next logical line, never empty, without blanks at its ends. False at the end.
  bool next(LogicalLine& out);

 private:
  std::string_view physical();
  void append(LogicalLine& out, std::string_view piece) const;
  void warn_backslash_blank(std::string_view line);
  std::string_view bytes_;
  const std::string& file_;
  Problems& problems_;
  size_t offset_ = 0;
  int line_ = 0;      // of the physical line read last
  int column_ = 1;    // of its first character that is not blank
};

}  // namespace loligo::config
