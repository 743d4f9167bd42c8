// A directive is a row of a constexpr table in the room that uses it: name,
// aliases, default, documentation, and functions bound to a field of that
// room's Settings struct. Parser, defaults, mgr:config, `-k parse` and the
// manual doc/loligo.conf.5 all derive from the rows. config/bind.h makes rows:
//
//   constexpr Directive kDirectives[] = {
//     duration<&Settings::connect_timeout>("connect_timeout", "1 minute", "How long ..."),
//   };
//
// `Statement` is one logical line after the grammar of squid.conf (joined,
// macros replaced, split into words). Rooms never see files.
//
// Owner: tables are constants, statements belong to whoever asked the reader. Any thread.
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
  int list_file = 0;    // 0 = the statement's own file, else 1 + index into Statement::list_files
  bool quoted = false;  // it stood in quotes
};

struct Statement {
  Place place;                // of the directive's name
  std::string name;           // canonical (an alias already replaced)
  std::vector<Word> words;    // everything after the name; a word that begins with '#' and all after it are gone
  std::string rest;           // the raw text after the name, for values that go to the end of the line
  int sequence = 0;           // position in the whole configuration, over all included files
  std::vector<std::string> list_files;  // files that words came from ("/path" in an acl)
  Place at(size_t word) const {  // the place of a word, or of the directive when there is no such word
    if (word >= words.size()) return place;
    const Word& w = words[word];
    return {w.list_file > 0 ? list_files[size_t(w.list_file) - 1] : place.file, w.line, w.column};
  }
};

// How the text after the name is split (squid.conf grammar, "tokens and quoting").
enum class WordStyle : unsigned char {
  plain,   // at blanks; quotes are ordinary characters
  quoted,  // a word, or a value after '=', may be a quoted string with escapes
  rule,    // a word in quotes names a file with one item a line
  acl,     // name and type, then as `rule`; regular expressions keep their backslashes
  regex,   // a backslash keeps the next character, blanks too
  line,    // one word to the end of the line, or one quoted string
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
  Status status = Status::implemented;
  std::string_view syntax;         // after the name, for the manual: "time-units", "on|off", "allow|deny [!]acl ..."
  std::string_view default_value;  // as it would be typed, or "none". <sysconfdir>, <localstatedir>, <pkgdatadir> are replaced
  std::string_view text;           // the manual's paragraph(s)
  // Reads a statement into `settings` (the room's own struct). Null for directives without effect; an obsolete one that is
  // translated into its successor has one.
  void (*parse)(const Statement&, void* settings, Problems&) = nullptr;
  // Writes the directive as it would be typed (one line or several, each with its newline) for mgr:config. May be null.
  void (*dump)(const Directive& self, const void* settings, std::string& out) = nullptr;
  // Repeats append (lists, rules) rather than replace; the default then stands only for a list that stayed empty.
  bool repeats = false;
  WordStyle words = WordStyle::plain;
  // For `restricting` and `accepted` ones: true when this statement asks for nothing ("none", "off", "allow all").
  // Null = never, of an accepted one: what is off, denies all or is the default.
  bool (*harmless)(const Statement&) = nullptr;
};

// One room's directives with the struct they fill.
struct RoomTable {
  std::string_view room;
  std::span<const Directive> directives;
  void* settings = nullptr;
};

}  // namespace loligo::config
