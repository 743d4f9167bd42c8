// Compiling access lines, and the check itself.
#include "access/rules.h"

#include "access/acl.h"

namespace loligo::access {

namespace {

std::string place_text(const config::Place& place) { return place.file + ":" + std::to_string(place.line); }

std::string joined(const std::vector<config::Word>& words, size_t first) {
  std::string text;
  for (size_t i = first; i < words.size(); ++i) {
    if (!text.empty()) text += ' ';
    text += words[i].text;
  }
  return text;
}

// A line of ACLs from left to right; the first that does not match ends it. `last` is the one evaluated last.
Match match_line(const Rules::Line& line, const Context& context, std::string_view& last) {
  Match match = Match::yes;
  for (const Rules::Term& term : line.terms) {
    last = term.acl->name();
    Match one = match_term(*term.acl, term.negated, context);
    if (one >= Match::wait_destinations) return one;
    if (one == Match::no || one == Match::missing) return Match::no;
    if (one == Match::refused) match = Match::refused;
  }
  return match;
}

}  // namespace

// Reads "[!]acl ..." from words[first] on into `line`. False: the line cannot be used; why is in `problems`.
bool Rules::add_terms(Line& line, const config::Statement& statement, size_t first, const AclSet& acls, config::Problems& problems) {
  const bool decides = !line.missing_is_no;   // allow or deny, not a mere condition
  bool good = true;
  for (size_t i = first; i < statement.words.size(); ++i) {
    std::string_view name = statement.words[i].text;
    bool negated = name.starts_with('!');
    if (negated) name.remove_prefix(1);
    std::string shown = "\"" + std::string(name) + "\"";
    auto acl = acls.find(name);
    if (!acl || acl->sequence() > statement.sequence) {
      std::string near = acl ? "move the acl line up" : acls.closest(name);
      if (!acl && !near.empty()) near = "did you mean " + near + "?";
      problems.error(statement.at(i), acl ? "ACL " + shown + " is defined only after this line" : "there is no ACL " + shown, near);
      good = false;
      continue;
    }
    const Acl* refusing = find_within(*acl, [](const Acl& one) { return one.type().support == Support::not_implemented; });
    if (refusing)
      problems.restricts(statement.at(i), "the ACL type " + std::string(refusing->type().name) + " of \"" + refusing->name() + "\" is not implemented yet, and \"" +
                                              statement.name + " " + joined(statement.words, 0) + "\" depends on it");
    // An obsolete type never matches: harmless where it would allow, a hole where it should deny. In a group the sense is not
    // known from here.
    const Acl* obsolete = find_within(*acl, [](const Acl& one) { return one.type().support == Support::obsolete; });
    if (obsolete && decides && (obsolete != acl.get() || line.allow == negated))
      problems.restricts(statement.at(i), "the ACL type " + std::string(obsolete->type().name) + " of \"" + obsolete->name() + "\" is obsolete and never matches: \"" +
                                              statement.name + " " + joined(statement.words, 0) + "\" would let through what it should stop",
                         "remove the ACL from the line if that is what you want");
    line.terms.push_back({std::move(acl), negated});
  }
  return good;
}

void Rules::add_line(Line line) {
  line.always = true;
  for (const Term& term : line.terms) {
    line.always &= !term.negated && term.acl->matcher().always();
    may_need_destinations_ |= find_within(*term.acl, [](const Acl& one) { return one.matcher().may_wait(); }) != nullptr;
  }
  lines_.push_back(std::move(line));
}

Rules Rules::compile(const std::vector<config::Statement>& statements, const AclSet& acls, config::Problems& problems, size_t skip) {
  Rules rules;
  for (const config::Statement& statement : statements) {
    const auto& words = statement.words;
    std::string_view action = skip < words.size() ? std::string_view(words[skip].text) : std::string_view();
    if (action != "allow" && action != "deny") {
      problems.error(statement.at(skip), action.empty() ? statement.name + " needs allow or deny" : "\"" + std::string(action) + "\" stands where allow or deny must stand",
                     "write " + statement.name + (skip ? " ..." : "") + " allow|deny ACL ...");
      continue;
    }
    if (skip + 1 == words.size()) {
      problems.error(statement.place, "the line names no ACL, so it is skipped", "write " + std::string(action) + " all for everything");
      continue;
    }
    Line line;
    line.allow = action == "allow";
    line.place = place_text(statement.place);
    line.text = joined(words, skip);
    if (rules.add_terms(line, statement, skip + 1, acls, problems)) rules.add_line(std::move(line));
  }
  return rules;
}

Rules Rules::compile_conditions(const config::Statement& statement, size_t first, const AclSet& acls, config::Problems& problems) {
  Rules rules;
  Line line;
  line.allow = true;
  line.missing_is_no = true;
  line.place = place_text(statement.place);
  line.text = joined(statement.words, first);
  if (rules.add_terms(line, statement, first, acls, problems)) rules.add_line(std::move(line));
  return rules;
}

template <bool kSlow>
Verdict Rules::run(const Facts& facts, bool otherwise) const {
  Verdict verdict;
  if (lines_.empty()) {
    verdict.allowed = otherwise;
    verdict.rule = "default";
    return verdict;
  }
  for (const Line& line : lines_) {
    if (line.always) {
      if (!line.terms.empty()) verdict.last_acl = line.terms.back().acl->name();
    } else {
      Match match = match_line(line, {facts, kSlow, line.missing_is_no || !line.allow}, verdict.last_acl);
      if (match >= Match::wait_destinations) {
        verdict.need = match == Match::wait_destinations ? Need::destinations : Need::reverse_name;
        return verdict;
      }
      // A type that is not implemented never opens: it matches where the line denies.
      if (match == Match::no || (match == Match::refused && line.allow)) continue;
    }
    verdict.allowed = line.allow;
    verdict.rule = line.place;
    verdict.rule_text = line.text;
    return verdict;
  }
  verdict.allowed = !lines_.back().allow;
  verdict.rule = "no match";
  return verdict;
}

Verdict Rules::check(const Facts& facts, bool otherwise) const { return run<true>(facts, otherwise); }
Verdict Rules::check_fast(const Facts& facts, bool otherwise) const { return run<false>(facts, otherwise); }

}  // namespace loligo::access
