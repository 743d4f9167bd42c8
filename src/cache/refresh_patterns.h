// refresh_pattern lines, compiled: the first whose expression matches a URL.
// Immutable; any thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/settings.h"
#include "config/problem.h"

namespace re2 { class RE2; }

namespace loligo::cache {

class RefreshPatterns {
 public:
  RefreshPatterns();
  ~RefreshPatterns();
  RefreshPatterns(RefreshPatterns&&) noexcept;
  RefreshPatterns& operator=(RefreshPatterns&&) noexcept;
  static RefreshPatterns compile(const std::vector<RefreshPattern>&, config::Problems&);
  // The built-in rule (0 10% 3 days) when no line matches.
  const http::RefreshRule& match(std::string_view url) const {
    const Line* line = find(url);
    return line ? line->rule : otherwise_;
  }
  struct Line {
    std::unique_ptr<re2::RE2> regex;
    http::RefreshRule rule;
    std::string place, text;   // "squid.conf:12", as typed
  };
  // The line that rules; null = none.
  const Line* find(std::string_view url) const;

 private:
  std::vector<Line> lines_;
  http::RefreshRule otherwise_;
};

}  // namespace loligo::cache
