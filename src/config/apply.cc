#include "config/apply.h"

#include "config/bind.h"
#include "config/reader.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc/loligo"
#endif
#ifndef LOCALSTATEDIR
#define LOCALSTATEDIR "/var"
#endif
#ifndef PKGDATADIR
#define PKGDATADIR "/usr/share/loligo"
#endif

namespace loligo::config {
namespace {

constexpr std::pair<std::string_view, std::string_view> kDirectories[] = {
    {"<sysconfdir>", SYSCONFDIR}, {"<localstatedir>", LOCALSTATEDIR}, {"<pkgdatadir>", PKGDATADIR}};

bool has_default(const Directive& d) { return d.parse != nullptr && d.status == Status::implemented && d.default_value != "none" && !d.default_value.empty(); }

void parse_default(const Directive& d, void* settings, Problems& problems) {
  d.parse(make_statement(d, expand_directories(d.default_value)), settings, problems);
}

void report_unknown(const Statement& s, const DirectiveIndex& index, Problems& problems) {
  std::string_view similar = index.similar(s.name);
  std::string fix;
  if (!similar.empty()) fix = "did you mean " + std::string(similar) + "?";
  problems.error(s.place, "unknown directive '" + s.name.substr(0, 80) + "'", fix);
}

// What the manual says of a directive without effect: its first sentence.
std::string reason(const Directive& d) {
  std::string_view text = d.text.substr(0, d.text.find(". "));
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

// Names already warned about: a long list of rules without effect needs one warning.
using Warned = std::unordered_set<std::string_view>;

void apply_one(const Statement& s, const DirectiveIndex::Entry& entry, Warned& warned, Problems& problems) {
  const Directive& d = *entry.directive;
  switch (d.status) {
    case Status::implemented:
      return d.parse(s, entry.settings, problems);
    case Status::accepted:
      if (d.harmless != nullptr ? d.harmless(s) : says_off(s) || says_deny_all(s) || rest_without_comment(s) == d.default_value) return;  // asks for nothing
      if (warned.insert(d.name).second) problems.warning(s.place, s.name + " has no effect yet: " + reason(d));
      return;
    case Status::obsolete:
      if (warned.insert(d.name).second) problems.warning(s.place, s.name + " is obsolete: " + reason(d), "remove the line");
      if (d.parse != nullptr) d.parse(s, entry.settings, problems);
      return;
    case Status::restricting:
      if (d.harmless != nullptr && d.harmless(s)) return;
      return problems.restricts(s.place, s.name + " is not implemented yet and the proxy would be more open without it: " + reason(d),
                                "remove the line if that is what you want");
  }
}

bool single_word(const Statement& s, std::initializer_list<std::string_view> words) {
  if (s.words.size() != 1) return false;
  for (std::string_view w : words)
    if (s.words[0].text == w) return true;
  return false;
}

}  // namespace

std::string expand_directories(std::string_view text) {
  std::string out(text);
  for (auto& [name, path] : kDirectories)
    for (size_t at = out.find(name); at != out.npos; at = out.find(name, at + path.size())) out.replace(at, name.size(), path);
  return out;
}

void apply_defaults(std::span<const RoomTable> tables, Problems& problems) {
  for (const RoomTable& table : tables)
    for (const Directive& d : table.directives)
      if (has_default(d) && !d.repeats) parse_default(d, table.settings, problems);
}

void apply(const std::vector<Statement>& statements, const DirectiveIndex& index, Problems& problems) {
  Warned warned;
  for (const Statement& s : statements) {
    DirectiveIndex::Entry entry = index.find(s.name);
    if (entry.directive == nullptr) report_unknown(s, index, problems);
    else apply_one(s, entry, warned, problems);
  }
}

void apply_missing(const std::vector<Statement>& statements, std::span<const RoomTable> tables, Problems& problems) {
  std::unordered_set<std::string_view> seen;
  for (const Statement& s : statements) seen.insert(s.name);
  for (const RoomTable& table : tables)
    for (const Directive& d : table.directives)
      if (has_default(d) && d.repeats && !seen.contains(d.name)) parse_default(d, table.settings, problems);
}

std::string dump(std::span<const RoomTable> tables) {
  std::string out;
  for (const RoomTable& table : tables)
    for (const Directive& d : table.directives)
      if (d.dump != nullptr) d.dump(d, table.settings, out);
  return out;
}

bool says_off(const Statement& s) { return single_word(s, {"off", "none", "0", "-1", "disable"}); }
bool says_allow_all(const Statement& s) { return s.words.size() == 2 && s.words[0].text == "allow" && s.words[1].text == "all"; }
bool says_deny_all(const Statement& s) { return s.words.size() == 2 && s.words[0].text == "deny" && s.words[1].text == "all"; }

}  // namespace loligo::config
