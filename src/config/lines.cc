#include "config/lines.h"

#include <algorithm>

namespace loligo::config {
namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\t'; }

void trim_end(std::string& s) {
  while (!s.empty() && is_space(s.back())) s.pop_back();
}

}  // namespace

LogicalLine::Position LogicalLine::at(size_t offset) const {
  auto after = std::upper_bound(segments.begin(), segments.end(), offset, [](size_t o, const Segment& s) { return o < s.offset; });
  if (after == segments.begin()) return {};
  const Segment& s = *(after - 1);
  return s.fixed ? s.start : Position{s.start.line, s.start.column + int(offset - s.offset)};
}

LineReader::LineReader(std::string_view bytes, const std::string& file, Problems& problems)
    : bytes_(bytes), file_(file), problems_(problems) {
  if (bytes_.starts_with("\xef\xbb\xbf")) offset_ = 3;
}

// The next physical line without its leading blanks.
std::string_view LineReader::physical() {
  size_t end = bytes_.find('\n', offset_);
  std::string_view line = bytes_.substr(offset_, end == bytes_.npos ? bytes_.npos : end - offset_);
  offset_ = end == bytes_.npos ? bytes_.size() : end + 1;
  ++line_;
  if (size_t cut = line.find_first_of(std::string_view("\r\0", 2)); cut != line.npos) {
    if (cut + 1 < line.size())
      problems_.warning({file_, line_, int(cut) + 1}, line[cut] == '\r' ? "a carriage return inside a line; the rest of the line is ignored"
                                                                       : "a NUL byte; the rest of the line is ignored");
    line = line.substr(0, cut);
  }
  size_t start = 0;
  while (start < line.size() && is_space(line[start])) ++start;
  column_ = int(start) + 1;
  return line.substr(start);
}

void LineReader::append(LogicalLine& out, std::string_view piece) const {
  out.segments.push_back({out.text.size(), {line_, column_}, false});
  out.text += piece;
}

void LineReader::warn_backslash_blank(std::string_view line) {
  size_t last = line.find_last_not_of(" \t");
  if (last == line.npos || last + 1 == line.size() || line[last] != '\\') return;
  problems_.warning({file_, line_, column_ + int(last)}, "a backslash followed by blanks does not continue the line",
                    "remove the blanks behind the backslash");
}

bool LineReader::next(LogicalLine& out) {
  out.text.clear();
  out.segments.clear();
  bool open = false;  // a continuation waits for its next piece
  LogicalLine::Position backslash;
  while (offset_ < bytes_.size()) {
    std::string_view line = physical();
    if (line.empty() || line.front() == '#') continue;
    open = line.back() == '\\';
    if (open) {
      backslash = {line_, column_ + int(line.size()) - 1};
      append(out, line.substr(0, line.size() - 1));
      continue;
    }
    warn_backslash_blank(line);
    append(out, line);
    trim_end(out.text);
    if (!out.text.empty()) return true;
    out.segments.clear();
  }
  if (open)
    problems_.error({file_, backslash.line, backslash.column}, "the file ends while this backslash continues the line; Squid drops the whole line silently",
                    "remove the backslash");
  return false;
}

}  // namespace loligo::config
