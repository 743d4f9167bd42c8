#include "config/reader.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "config/conditionals.h"
#include "config/lines.h"
#include "config/words.h"

namespace loligo::config {
namespace {

constexpr int kIncludeNesting = 16;
// A file that includes itself several times would grow without end within the nesting limit.
constexpr int kIncludedFiles = 10'000;

class Reader {
 public:
  Reader(const ReadOptions& options, Source& source, Problems& problems) : options_(options), source_(source), problems_(problems) {}

  void text(std::string_view bytes, const std::string& file, int depth) {
    LineReader lines(bytes, file, problems_);
    Conditionals conditionals;
    LogicalLine line;
    while (lines.next(line)) {
      replace_macros(line, options_.macros, file, problems_);
      if (conditionals.handle(line, file, problems_)) continue;
      LogicalLine::Position p = line.at(0);
      if (!conditionals.active({file, p.line, p.column}, problems_)) continue;
      std::string_view word = std::string_view(line.text).substr(0, line.text.find_first_of(" \t"));
      if (word == "include") include(line, file, depth);
      else if (!word.empty()) statement(line, word, file);
    }
    conditionals.finish(problems_);
  }

  ReadResult result() && { return std::move(result_); }

 private:
  void statement(const LogicalLine& line, std::string_view word, const std::string& file) {
    Statement s;
    LogicalLine::Position p = line.at(0);
    s.place = {file, p.line, p.column};
    const Directive* known = options_.directives != nullptr ? options_.directives->find(word).directive : nullptr;
    s.name = known != nullptr ? known->name : word;
    s.sequence = int(result_.statements.size());
    SplitContext context{source_, problems_, quoted_values_, &result_.incomplete};
    split_words(line, word.size(), known != nullptr ? known->words : WordStyle::plain, context, s);
    if (s.name == "configuration_includes_quoted_values") quoted_values_ = !s.words.empty() && (s.words[0].text == "on" || s.words[0].text == "enable");
    result_.statements.push_back(std::move(s));
  }

  // Words at blanks or in double quotes; each is a glob pattern. Relative paths are relative to the current directory.
  void include(const LogicalLine& line, const std::string& file, int depth) {
    Statement list;
    LogicalLine::Position p = line.at(0);
    list.place = {file, p.line, p.column};
    SplitContext context{source_, problems_, false, nullptr};
    split_words(line, 7, WordStyle::quoted, context, list);
    if (list.words.empty()) return problems_.error(list.place, "include without a path");
    if (depth + 1 > kIncludeNesting)
      return problems_.error(list.place, "include files are nested deeper than " + std::to_string(kIncludeNesting), "does a file include itself?");
    for (size_t i = 0; i < list.words.size(); ++i) {
      const std::string& pattern = list.words[i].text;
      std::vector<std::string> paths = source_.glob(pattern);
      if (paths.empty()) missing(list.at(i), "no file matches the include path " + pattern);
      for (const std::string& path : paths) include_one(path, list.at(i), depth);
    }
  }

  void include_one(const std::string& path, const Place& place, int depth) {
    if (++included_ > kIncludedFiles) {
      if (included_ == kIncludedFiles + 1) problems_.error(place, "more than " + std::to_string(kIncludedFiles) + " included files");
      return;
    }
    std::string bytes, why;
    if (source_.read(path, bytes, why)) text(bytes, path, depth + 1);
    else missing(place, "the include file " + path + " cannot be read: " + why);
  }

  void missing(const Place& place, std::string message) {
    result_.incomplete = true;
    problems_.missing(place, std::move(message), "create it, or remove the include");
  }

  const ReadOptions& options_;
  Source& source_;
  Problems& problems_;
  ReadResult result_;
  bool quoted_values_ = false;
  int included_ = 0;
};

// "!command" and "|command" are for those who said so: a path from elsewhere must not run programs.
bool read_command(const std::string& path, const ReadOptions& options, Source& source, std::string& bytes, Problems& problems) {
  std::string why;
  if (!options.commands_allowed) {
    problems.error({path}, "a configuration from a command is not allowed", "give the path of a file");
    return false;
  }
  if (source.run(path.substr(1), bytes, why)) return true;
  problems.error({path}, "the command failed: " + why);
  return false;
}

}  // namespace

ReadResult read_text(std::string_view bytes, const std::string& name, const ReadOptions& options, Problems& problems) {
  FileSystem files;
  Reader reader(options, options.source != nullptr ? *options.source : files, problems);
  reader.text(bytes, name, 0);
  return std::move(reader).result();
}

ReadResult read_file(const std::string& path, const ReadOptions& options, Problems& problems) {
  FileSystem files;
  Source& source = options.source != nullptr ? *options.source : files;
  std::string bytes, why;
  if (!path.empty() && (path[0] == '!' || path[0] == '|')) {
    if (!read_command(path, options, source, bytes, problems)) return {};
  } else if (!source.read(path, bytes, why)) {
    problems.error({path}, "cannot be read: " + why);
    return {};
  }
  Reader reader(options, source, problems);
  reader.text(bytes, path, 0);
  return std::move(reader).result();
}

Statement make_statement(const Directive& directive, std::string_view text) {
  Statement s;
  s.place.file = "default";
  s.name = directive.name;
  s.sequence = std::numeric_limits<int>::max();  // behind all definitions of the file
  LogicalLine line;
  line.text = text;
  line.segments = {{0, {0, 0}, true}};
  MemoryFiles none;
  Problems problems;
  SplitContext context{none, problems};
  split_words(line, 0, directive.words, context, s);
  return s;
}

}  // namespace loligo::config
