#include "cache/refresh_patterns.h"

#include <re2/re2.h>

#include "access/regex_translate.h"

namespace loligo::cache {

RefreshPatterns::RefreshPatterns() = default;
RefreshPatterns::~RefreshPatterns() = default;
RefreshPatterns::RefreshPatterns(RefreshPatterns&&) noexcept = default;
RefreshPatterns& RefreshPatterns::operator=(RefreshPatterns&&) noexcept = default;

RefreshPatterns RefreshPatterns::compile(const std::vector<RefreshPattern>& patterns, config::Problems& problems) {
  RefreshPatterns out;
  for (const RefreshPattern& p : patterns) {
    access::Translation t = access::translate_regex(p.regex);
    if (!t.error.empty()) {
      problems.error(p.place, t.error, t.fix);
      continue;
    }
    re2::RE2::Options options(re2::RE2::Latin1);
    options.set_case_sensitive(!p.ignore_case);
    options.set_log_errors(false);
    options.set_never_capture(true);
    // "." is in every file as the last line: it matches any URL, and needs no engine.
    auto regex = p.regex == "." ? nullptr : std::make_unique<re2::RE2>(t.re2, options);
    if (regex && !regex->ok()) {
      problems.error(p.place, "refresh_pattern: " + regex->error());
      continue;
    }
    out.lines_.push_back({std::move(regex), p.rule, p.place.file + ":" + std::to_string(p.place.line), p.original});
  }
  return out;
}

const RefreshPatterns::Line* RefreshPatterns::find(std::string_view url) const {
  for (const Line& line : lines_)
    if (!line.regex || re2::RE2::PartialMatch(re2::StringPiece(url.data(), url.size()), *line.regex)) return &line;
  return nullptr;
}

}  // namespace loligo::cache
