// What the configuration reader has to say: every problem of a run, in one list.
// Owner: the caller of the reader. One thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace loligo::config {

enum class Severity {
  error,      // the file cannot be used
  warning,    // it can, and the user should know
  missing,    // something outside the file is not there: helper, certificate, list file, user, name
  restricts,  // a rule that restricts access and is not implemented: parses, but the proxy refuses to start with it
};

// Where something stands. Lines and columns count from 1; 0 = no place.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Problem {
  Severity severity;
  Place place;
  std::string message;  // what is wrong, naming the word
  std::string fix;      // the likely remedy, may be empty
};

class Problems {
 public:
  void add(Severity severity, Place place, std::string message, std::string fix = {}) {
    list_.push_back({severity, std::move(place), std::move(message), std::move(fix)});
  }
  void error(Place place, std::string message, std::string fix = {}) { add(Severity::error, std::move(place), std::move(message), std::move(fix)); }
  void warning(Place place, std::string message, std::string fix = {}) { add(Severity::warning, std::move(place), std::move(message), std::move(fix)); }
  void missing(Place place, std::string message, std::string fix = {}) { add(Severity::missing, std::move(place), std::move(message), std::move(fix)); }
  void restricts(Place place, std::string message, std::string fix = {}) { add(Severity::restricts, std::move(place), std::move(message), std::move(fix)); }
  bool has(Severity severity) const {
    for (auto& p : list_) if (p.severity == severity) return true;
    return false;
  }
  const std::vector<Problem>& list() const { return list_; }

 private:
  std::vector<Problem> list_;
};

std::string_view text(Severity);  // "error", "warning", "missing", "restricts"
// One line each: "file:line:column: error: message; fix". Parts of the place that are not known are left out.
std::string format_problem(const Problem&);
std::string format_problems(const Problems&);

}  // namespace loligo::config
