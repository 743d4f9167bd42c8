// sources: src/config/*.cc src/base/event_log.cc
// libs: -lfmt
// Fuzzes the reader of squid.conf. Input: a configuration; after a NUL byte, the text of a file "b" that it may include or
// name as a list.
// Must hold: no crash and no endless reading (inclusion is bounded); every statement has a name and a place inside the
// text; the words of a statement come in order; reading the same bytes twice gives the same.
#include <cstdint>
#include <string>

#include "config/reader.h"
#include "test-suite/fuzz/check.h"

using namespace loligo;

namespace {

const char* no_environment(const char*) { return nullptr; }

config::ReadResult read(const std::string& text, config::MemoryFiles& files, config::Problems& problems) {
  config::ReadOptions options;
  options.source = &files;
  options.macros.environment = no_environment;
  return config::read_text(text, "a", options, problems);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string all(reinterpret_cast<const char*>(data), size);
  size_t cut = all.find('\0');
  std::string text = all.substr(0, cut);
  config::MemoryFiles files;
  files.files["a"] = text;
  if (cut != all.npos) files.files["b"] = all.substr(cut + 1);

  config::Problems problems, again;
  config::ReadResult result = read(text, files, problems);
  int before = -1;
  for (const config::Statement& s : result.statements) {
    FUZZ_CHECK(!s.name.empty());
    FUZZ_CHECK(s.place.line >= 1 && s.place.column >= 1);
    FUZZ_CHECK(s.sequence > before);
    before = s.sequence;
    for (const config::Word& w : s.words) FUZZ_CHECK(w.column >= 0 && w.line >= 0);
  }
  config::ReadResult second = read(text, files, again);
  FUZZ_CHECK(second.statements.size() == result.statements.size());
  FUZZ_CHECK(problems.list().size() == again.list().size());
  return 0;
}
