#include "config/conditionals.h"

#include <optional>

#include "base/text.h"
#include "config/values.h"

namespace loligo::config {
namespace {

// The value of an expression, or nothing when it is none.
std::optional<bool> evaluate(std::string_view expression) {
  if (expression == "true") return true;
  if (expression == "false") return false;
  size_t equals = expression.find('=');
  int64_t left = 0, right = 0;
  if (equals == expression.npos || !parse_integer(base::trim_ows(expression.substr(0, equals)), left) ||
      !parse_integer(base::trim_ows(expression.substr(equals + 1)), right))
    return std::nullopt;
  return left == right;
}

}  // namespace

bool Conditionals::handle(const LogicalLine& line, const std::string& file, Problems& problems) {
  std::string_view text = line.text;
  size_t blank = text.find_first_of(" \t");
  std::string_view word = text.substr(0, blank);
  Place place{file, line.at(0).line, line.at(0).column};
  if (word == "if") {
    std::string_view expression = blank == text.npos ? std::string_view() : base::trim_ows(text.substr(blank));
    auto value = evaluate(expression);
    if (!value) problems.error(place, "'" + std::string(expression) + "' is no condition", "write true, false or NUMBER = NUMBER");
    levels_.push_back({value.value_or(false), false, false, place});
    return true;
  }
  if (word != "else" && word != "endif") return false;
  if (levels_.empty()) {
    problems.error(place, "'" + std::string(word) + "' without 'if'");
  } else if (word == "endif") {
    levels_.pop_back();
  } else {
    if (levels_.back().in_else) problems.warning(place, "a second 'else' turns the condition round again");
    levels_.back().in_else = true;
    levels_.back().holds = !levels_.back().holds;
  }
  return true;
}

bool Conditionals::active(Place place, Problems& problems) {
  if (levels_.empty()) return true;
  bool all = true;
  for (const Level& level : levels_) all = all && level.holds;
  Level& innermost = levels_.back();
  if (innermost.holds && !all && !innermost.warned) {
    innermost.warned = true;
    problems.warning(std::move(place), "not read: an outer 'if' does not hold. Squid looks at the innermost 'if' alone and would read this",
                     "do not nest conditions");
  }
  return all;
}

void Conditionals::finish(Problems& problems) const {
  for (const Level& level : levels_) problems.error(level.place, "'if' without 'endif' in this file");
}

}  // namespace loligo::config
