// Reads squid.conf and what it includes into statements.
//
//   read_file("/etc/loligo/loligo.conf", options, problems)
//
// Does the grammar: logical lines, macros, if/else/endif, include, words.
// Knows directives only to split their words the right way and to replace
// aliases; unknown names pass (config::apply reports them).
// One thread. Problems are reported, never thrown; reading goes on behind one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "config/directive.h"
#include "config/directive_index.h"
#include "config/macros.h"
#include "config/source.h"

namespace loligo::config {

struct ReadOptions {
  Macros macros;                               // service_name (-n), environment
  bool commands_allowed = false;               // a path "!command" or "|command" is run and its output read
  Source* source = nullptr;                    // null = the file system
  const DirectiveIndex* directives = nullptr;  // null = every word is plain
};

struct ReadResult {
  std::vector<Statement> statements;
  bool incomplete = false;  // an include or list file was missing: names it may have defined are unknown
};

ReadResult read_file(const std::string& path, const ReadOptions&, Problems&);
// The same for text in memory; `name` stands for the path in messages.
ReadResult read_text(std::string_view bytes, const std::string& name, const ReadOptions&, Problems&);
// `text` split as the words of a directive: the defaults in tables.
Statement make_statement(const Directive&, std::string_view text);

}  // namespace loligo::config
