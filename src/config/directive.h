// A directive is a row of a constexpr table in the room that uses it: name,
// aliases, default, documentation, and two functions bound to a field of that
// room's Settings struct. Parser, defaults, mgr:config, `-k parse` and the
// manual doc/loligo.conf.5 all derive from the rows.
//
//   constexpr Directive kDirectives[] = {
//     duration<&Settings::connect_timeout>("connect_timeout", "1 minute", "How long ..."),
//   };
//
// `Statement` is one logical line after the grammar of squid.conf (joined,
// macros replaced, split into words). Rooms never see files.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace loligo::config {

// A word of a statement. `text` has quotes and escapes resolved where the directive accepts quoted strings.
struct Word {
  std::string text;
  int column = 0;       // of its first character in the line where it stands
  int line = 0;         // a continued statement has words on several lines
  bool quoted = false;  // it stood in quotes
};

struct Statement {
  Place place;                // of the directive's name
  std::string name;           // canonical (an alias already replaced)
  std::vector<Word> words;    // everything after the name; a word that begins with '#' and all after it are gone
  std::string rest;           // the raw text after the name, for values that go to the end of the line
  int sequence = 0;           // position in the whole configuration, over all included files
  Place at(size_t word) const {  // the place of a word, or of the end of the statement
    if (word >= words.size()) return place;
    return {place.file, words[word].line, words[word].column};
  }
};

enum class Status : unsigned char {
  implemented,
  accepted,      // read, without effect, with a warning; no effect is harmful
  restricting,   // restricts access and is not implemented: refuses to start
  obsolete,      // Squid itself has no effect for it any more
};

struct Directive {
  std::string_view name;
  std::string_view aliases;        // separated by blanks
  Status status;
  std::string_view syntax;         // after the name, for the manual: "time-units", "on|off", "allow|deny [!]acl ..."
  std::string_view default_value;  // as it would be typed, or "none"
  std::string_view text;           // the manual's paragraph(s)
  // Reads a statement into `settings` (the room's own struct). Null for directives that are not implemented.
  void (*parse)(const Statement&, void* settings, Problems&) = nullptr;
  // Writes the directive as it would be typed (one line or several, each with its newline) for mgr:config. May be null.
  void (*dump)(const void* settings, std::string& out) = nullptr;
  // Repeats append (lists, rules) rather than replace.
  bool repeats = false;
};

// One room's directives with the struct they fill.
struct RoomTable {
  std::string_view room;
  std::span<const Directive> directives;
  void* settings;
};

}  // namespace loligo::config
