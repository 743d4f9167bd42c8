// One named ACL, compiled, and what its types share. Private to the room: the
// others see Rules and AclSet only.
//
// An ACL type is a Matcher: add() takes the values of one `acl` line (lines of
// one name are ORed), finish() builds the search structure, match() answers.
// add() and finish() run on the thread that reads the configuration; after that
// everything is immutable and match() may run on any thread, without allocating.
//
// Answers have more than two values. A fact that the transaction does not have
// (yet) is `missing`; a type that is not implemented is `refused`; both must
// never open a door, so the caller treats them differently in allow and in deny
// lines (Rules).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/facts.h"
#include "access/rules.h"
#include "config/directive.h"
#include "config/problem.h"

namespace loligo::access {

enum class Match : uint8_t {
  no,
  yes,
  missing,              // a fact is not there
  refused,              // not implemented: never opens (an allow line fails, a deny line matches)
  wait_destinations,    // ask again with Facts::destinations
  wait_reverse_name,    // ask again with Facts::reverse_name
};

struct Context {
  const Facts& facts;
  bool may_wait;        // false: what is not known now counts as missing
  bool missing_is_no;   // true: a missing fact is an ordinary no (so that its negation matches)
};

// Option letters of an `acl` line, before the values.
struct Options {
  bool ignore_case = false;  // -i; regex types also switch between values
  bool no_lookup = false;    // -n
};

// The values of one `acl` line: words `first` and after.
struct Arguments {
  const config::Statement& statement;
  size_t first;
  Options options;
  std::string_view acl_name;
  bool predefined = false;   // redefinition of a predefined ACL: say nothing about doubles

  size_t size() const { return statement.words.size(); }
  const config::Word& word(size_t i) const { return statement.words[i]; }
  config::Place at(size_t i) const { return statement.at(i); }
};

// What add() may need from outside.
struct Surroundings {
  config::Problems& problems;
  const AclSet::Resolver& resolver;
  std::function<std::shared_ptr<const Acl>(std::string_view)> find;  // an ACL defined so far
  std::function<std::string(std::string_view)> closest;              // its most similar name, or ""
};

class Matcher {
 public:
  virtual ~Matcher() = default;
  virtual void add(const Arguments&, Surroundings&) = 0;
  // `name` and `place` of the ACL for what there is to say about it as a whole.
  virtual void finish(std::string_view /*name*/, const config::Place&, config::Problems&) {}
  virtual bool empty() const = 0;
  virtual Match match(const Context&) const = 0;
  // Matches whatever the facts are ("all").
  virtual bool always() const { return false; }
  // Can answer wait_*.
  virtual bool may_wait() const { return false; }
  // The ACLs that a group is made of.
  virtual std::vector<const Acl*> members() const { return {}; }
};

enum class Support : uint8_t {
  implemented,
  not_implemented,  // a definition is accepted; a rule that uses it restricts (Severity::restricts)
  obsolete,         // a warning; never matches
  broken,           // the definition had an error, already reported
};

// A row of the table of types (types.cc): everything that is known of one.
struct AclType {
  std::string_view name;
  std::string_view aliases;   // separated by blanks
  Support support;
  bool slow;                  // may wait for a lookup
  std::string_view options;   // the letters allowed before the values
  std::unique_ptr<Matcher> (*make)();
  std::string_view text;      // a line for the manual
};

const AclType* find_type(std::string_view name);
std::string closest_type(std::string_view name);
const AclType& broken_type();

class Acl {
 public:
  Acl(std::string name, const AclType& type, config::Place place, int sequence)
      : name_(std::move(name)), type_(&type), place_(std::move(place)), sequence_(sequence), matcher_(type.make()) {}

  const std::string& name() const { return name_; }
  const AclType& type() const { return *type_; }
  const config::Place& place() const { return place_; }
  int sequence() const { return sequence_; }
  bool predefined() const { return sequence_ < 0; }
  Matcher& matcher() { return *matcher_; }
  const Matcher& matcher() const { return *matcher_; }
  Match match(const Context& context) const { return matcher_->match(context); }

 private:
  std::string name_;
  const AclType* type_;
  config::Place place_;
  int sequence_;
  std::unique_ptr<Matcher> matcher_;
};

// The first ACL for which `wanted` holds among `root` and its members at any depth, each visited once; null if none.
const Acl* find_within(const Acl& root, const std::function<bool(const Acl&)>& wanted);

// `[!]acl` with the context's view of what is not known. The one place where negation happens.
inline Match match_term(const Acl& acl, bool negated, const Context& context) {
  Match match = acl.match(context);
  if (match >= Match::wait_destinations && !context.may_wait) match = Match::missing;
  if (match == Match::missing && context.missing_is_no) match = Match::no;
  if (match == Match::no) return negated ? Match::yes : Match::no;
  if (match == Match::yes) return negated ? Match::no : Match::yes;
  return match;
}

}  // namespace loligo::access
