// if / else / endif of squid.conf.
//
//   "if" EXPR | "else" | "endif"         each the first word of its own line
//   EXPR = "true" | "false" | integer "=" integer
//
// A line counts when every open `if` around it holds. (In Squid only the
// innermost one counts; where that makes a difference there is a warning.)
// One object per file: conditionals must balance within it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/lines.h"
#include "config/problem.h"

namespace loligo::config {

class Conditionals {
 public:
  // True when the line was a conditional and is done with.
  bool handle(const LogicalLine&, const std::string& file, Problems&);
  // Whether an ordinary line at this place counts. Warns once per `if` where Squid would say otherwise.
  bool active(Place, Problems&);
  // Reports what is still open at the end of the file.
  void finish(Problems&) const;

 private:
  struct Level { bool holds; bool in_else; bool warned; Place place; };
  std::vector<Level> levels_;
};

}  // namespace loligo::config
