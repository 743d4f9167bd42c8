#include "config/macros.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace loligo::config {
namespace {

constexpr bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The end of "${NAME}" that begins at `start`, or npos when it is no macro.
size_t macro_end(const std::string& text, size_t start) {
  size_t i = start + 2;
  while (i < text.size() && name_character(text[i])) ++i;
  return i > start + 2 && i < text.size() && text[i] == '}' ? i + 1 : text.npos;
}

std::optional<std::string> value_of(const std::string& name, const Macros& macros) {
  if (name == "service_name") return macros.service_name;
  if (name == "process_name") return macros.process_name;
  if (name == "process_number") return macros.process_number;
  const char* value = macros.environment != nullptr ? macros.environment(name.c_str()) : nullptr;
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// Copies text[from, to) with its segments.
void copy_piece(const LogicalLine& in, size_t from, size_t to, LogicalLine& out) {
  if (from == to) return;
  size_t i = 0;
  while (i + 1 < in.segments.size() && in.segments[i + 1].offset <= from) ++i;
  for (; i < in.segments.size() && in.segments[i].offset < to; ++i) {
    LogicalLine::Segment s = in.segments[i];
    size_t begin = std::max(s.offset, from);
    out.segments.push_back({out.text.size() + (begin - from), in.at(begin), s.fixed});
  }
  out.text.append(in.text, from, to - from);
}

}  // namespace

const char* process_environment(const char* name) { return std::getenv(name); }

void replace_macros(LogicalLine& line, const Macros& macros, const std::string& file, Problems& problems) {
  size_t found = line.text.find("${");
  if (found == line.text.npos) return;
  LogicalLine out;
  size_t copied = 0;
  while (found != line.text.npos) {
    size_t end = macro_end(line.text, found);
    if (end == line.text.npos) {
      found = line.text.find("${", found + 2);
      continue;
    }
    std::string name = line.text.substr(found + 2, end - found - 3);
    LogicalLine::Position at = line.at(found);
    if (auto value = value_of(name, macros)) {
      copy_piece(line, copied, found, out);
      out.segments.push_back({out.text.size(), at, true});
      out.text += *value;
      copied = end;
    } else {
      problems.warning({file, at.line, at.column}, "${" + name + "} has no value and stays as it is", "set the environment variable " + name);
    }
    found = line.text.find("${", end);
  }
  copy_piece(line, copied, line.text.size(), out);
  line = std::move(out);
}

}  // namespace loligo::config
