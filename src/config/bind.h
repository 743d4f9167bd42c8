// Makes rows of directive tables: each function binds a directive to a field of
// a room's Settings struct and supplies its parser, its dump for mgr:config and
// its grammar for the manual. Plain function pointers; no state.
//
//   constexpr Directive kDirectives[] = {
//     duration<&Settings::read_timeout>("read_timeout", "15 minutes", "How long ..."),
//     duration<&Settings::client_idle_pconn_timeout>("client_idle_pconn_timeout persistent_request_timeout", ...),
//   };
//
// The name may be followed by aliases, separated by blanks. The default is the
// text a user would type; "none" leaves the field as the struct initialises it.
// Anything unusual has a parse function of its own: custom<&parse, &dump>(...).
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"
#include "config/values.h"

namespace loligo::config {

template <auto Member> struct Field;
template <class S, class T, T S::*Member>
struct Field<Member> {
  using Type = T;
  static T& in(void* settings) { return static_cast<S*>(settings)->*Member; }
  static const T& in(const void* settings) { return static_cast<const S*>(settings)->*Member; }
};

constexpr Directive row(std::string_view names, Status status, std::string_view syntax, std::string_view default_value,
                        std::string_view text) {
  Directive d;
  size_t blank = names.find(' ');
  d.name = names.substr(0, blank);
  if (blank != names.npos) d.aliases = names.substr(blank + 1);
  d.status = status;
  d.syntax = syntax;
  d.default_value = default_value;
  d.text = text;
  return d;
}

inline void dump_line(const Directive& self, std::string_view value, std::string& out) {
  out.append(self.name).append(" ").append(value).append("\n");
}

// A time with its unit; kResolution: the least that makes sense, in milliseconds.
template <auto Member, int kResolution = 1000>
constexpr Directive duration(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "time-units", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    size_t used = 0;
    if (read_duration(s, 0, base::Milliseconds(kResolution), Field<Member>::in(settings), problems, &used)) warn_surplus(s, used, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, duration_text(Field<Member>::in(settings)), out); };
  return d;
}

// A bare number of milliseconds (icp_query_timeout, happy_eyeballs_*). -1 is allowed where kLeast says so.
template <auto Member, int kLeast = 0>
constexpr Directive milliseconds(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "milliseconds", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    int64_t value = 0;
    if (!read_integer(s, 0, kLeast, 1 << 30, value, problems)) return;
    Field<Member>::in(settings) = base::Milliseconds(value);
    warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, std::to_string(Field<Member>::in(settings).count()), out); };
  return d;
}

// A size with its unit, -1 = unlimited. With kZeroIsUnlimited, 0 means so too (request_body_max_size).
template <auto Member, int64_t kBaseUnit = 1, bool kZeroIsUnlimited = false>
constexpr Directive bytes(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "size-units", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    size_t used = 0;
    int64_t& field = Field<Member>::in(settings);
    if (!read_bytes(s, 0, kBaseUnit, field, problems, &used)) return;
    if (kZeroIsUnlimited && field == 0) field = kUnlimited;
    warn_surplus(s, used, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, bytes_text(Field<Member>::in(settings)), out); };
  return d;
}

template <auto Member, int64_t kLeast = 0, int64_t kMost = 2147483647>
constexpr Directive integer(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "number", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    int64_t value = 0;
    if (!read_integer(s, 0, kLeast, kMost, value, problems)) return;
    Field<Member>::in(settings) = static_cast<typename Field<Member>::Type>(value);
    warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, std::to_string(Field<Member>::in(settings)), out); };
  return d;
}

template <auto Member, int64_t kMost = 100>
constexpr Directive percent(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "percent", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    int64_t value = 0;
    if (!read_percent(s, 0, kMost, value, problems)) return;
    Field<Member>::in(settings) = static_cast<typename Field<Member>::Type>(value);
    warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, std::to_string(Field<Member>::in(settings)), out); };
  return d;
}

template <auto Member>
constexpr Directive flag(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "on|off", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (read_flag(s, 0, Field<Member>::in(settings), problems)) warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) { dump_line(self, Field<Member>::in(settings) ? "on" : "off", out); };
  return d;
}

// One word. "none" empties it.
template <auto Member>
constexpr Directive text(std::string_view names, std::string_view syntax, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (!require_word(s, 0, "a value", problems)) return;
    Field<Member>::in(settings) = s.words[0].text == "none" ? std::string() : s.words[0].text;
    warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    const std::string& value = Field<Member>::in(settings);
    dump_line(self, value.empty() ? "none" : std::string_view(value), out);
  };
  return d;
}

// Everything to the end of the line, or one quoted string.
template <auto Member>
constexpr Directive line(std::string_view names, std::string_view syntax, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.words = WordStyle::line;
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (require_word(s, 0, "a value", problems)) Field<Member>::in(settings) = s.words[0].text;
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    const std::string& value = Field<Member>::in(settings);
    if (!value.empty()) dump_line(self, value, out);
  };
  return d;
}

// An address or host name as text; "any_addr" and "no_addr" are "".
template <auto Member>
constexpr Directive address(std::string_view names, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, "address", default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (read_address(s, 0, Field<Member>::in(settings), problems)) warn_surplus(s, 1, problems);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    const std::string& value = Field<Member>::in(settings);
    dump_line(self, value.empty() ? self.default_value : std::string_view(value), out);
  };
  return d;
}

// A list of words; every statement appends.
template <auto Member>
constexpr Directive words(std::string_view names, std::string_view syntax, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.words = WordStyle::quoted;
  d.repeats = true;
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (!require_word(s, 0, "at least one value", problems)) return;
    for (const Word& w : s.words) Field<Member>::in(settings).push_back(w.text);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    const std::vector<std::string>& list = Field<Member>::in(settings);
    if (list.empty()) return;
    out.append(self.name);
    for (const std::string& word : list) out.append(" ").append(word);
    out.append("\n");
  };
  return d;
}

// Keeps the statements as they stand, in order: rules, or anything a room compiles later.
template <auto Member>
constexpr Directive statements(std::string_view names, WordStyle style, std::string_view syntax, std::string_view default_value,
                               std::string_view text) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.words = style;
  d.repeats = true;
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (require_word(s, 0, "a value", problems)) Field<Member>::in(settings).push_back(s);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    for (const Statement& s : Field<Member>::in(settings)) dump_line(self, rest_without_comment(s), out);
  };
  return d;
}

// "allow|deny [!]acl ..." lines.
template <auto Member>
constexpr Directive rules(std::string_view names, std::string_view default_value, std::string_view text) {
  return statements<Member>(names, WordStyle::rule, "allow|deny [!]acl ...", default_value, text);
}
// "NAME allow|deny [!]acl ..." lines.
template <auto Member>
constexpr Directive named_rules(std::string_view names, std::string_view default_value, std::string_view text) {
  return statements<Member>(names, WordStyle::rule, "name allow|deny [!]acl ...", default_value, text);
}

// One of a list of words: kChoices is a static constexpr array of Choice<Enum>.
template <class Enum>
struct Choice {
  std::string_view word;
  Enum value;
};
template <auto Member, const auto& kChoices>
constexpr Directive choice(std::string_view names, std::string_view syntax, std::string_view default_value, std::string_view text) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.parse = [](const Statement& s, void* settings, Problems& problems) {
    if (!require_word(s, 0, "a value", problems)) return;
    for (auto& c : kChoices)
      if (c.word == s.words[0].text) {
        Field<Member>::in(settings) = c.value;
        return warn_surplus(s, 1, problems);
      }
    std::string known;
    for (auto& c : kChoices) known.append(known.empty() ? "" : ", ").append(c.word);
    problems.error(s.at(0), "'" + s.words[0].text + "' is not a value of " + s.name, "one of: " + known);
  };
  d.dump = [](const Directive& self, const void* settings, std::string& out) {
    for (auto& c : kChoices)
      if (c.value == Field<Member>::in(settings)) return dump_line(self, c.word, out);
  };
  return d;
}

// A directive with functions of its own.
constexpr Directive custom(std::string_view names, std::string_view syntax, std::string_view default_value, std::string_view text,
                           void (*parse)(const Statement&, void*, Problems&),
                           void (*dump)(const Directive&, const void*, std::string&) = nullptr, bool repeats = false,
                           WordStyle style = WordStyle::plain) {
  Directive d = row(names, Status::implemented, syntax, default_value, text);
  d.parse = parse;
  d.dump = dump;
  d.repeats = repeats;
  d.words = style;
  return d;
}

// Known names without effect. `text` says in a phrase why ignoring them does no harm, or what they restrict.
constexpr Directive accepted(std::string_view names, std::string_view default_value, std::string_view text) {
  return row(names, Status::accepted, "...", default_value, text);
}
constexpr Directive obsolete(std::string_view names, std::string_view text) {
  return row(names, Status::obsolete, "...", "none", text);
}
constexpr Directive restricting(std::string_view names, std::string_view default_value, std::string_view text,
                                bool (*harmless)(const Statement&) = nullptr) {
  Directive d = row(names, Status::restricting, "...", default_value, text);
  d.harmless = harmless;
  return d;
}
// The usual harmless values.
bool says_off(const Statement&);        // "off", "none", "0", "-1", "disable"
bool says_allow_all(const Statement&);  // "allow all": nothing else on the line
bool says_deny_all(const Statement&);   // "deny all", where a match would only widen access

}  // namespace loligo::config
