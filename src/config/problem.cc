#include "config/problem.h"

namespace loligo::config {

std::string_view text(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::missing: return "missing";
    case Severity::restricts: return "restricts";
  }
  return "error";
}

std::string format_problem(const Problem& p) {
  std::string out;
  if (!p.place.file.empty()) {
    out += p.place.file;
    if (p.place.line > 0) out += ":" + std::to_string(p.place.line);
    if (p.place.line > 0 && p.place.column > 0) out += ":" + std::to_string(p.place.column);
    out += ": ";
  }
  out.append(text(p.severity)).append(": ").append(p.message);
  if (!p.fix.empty()) out.append("; ").append(p.fix);
  // A message quotes words of the file: none of their control characters reaches a terminal.
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

std::string format_problems(const Problems& problems) {
  std::string out;
  for (const Problem& p : problems.list()) out += format_problem(p) + "\n";
  return out;
}

}  // namespace loligo::config
