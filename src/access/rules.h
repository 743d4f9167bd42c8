// Access rules: ordered allow/deny lines over named ACLs (squid.conf tradition).
//
// Lines are tried in order, the ACLs of a line are ANDed left to right with
// short circuit, the first line that matches decides; no match gives the
// opposite of the last line; an empty list gives the directive's own default.
// Every verdict names the line that decided.
//
// Rules fail closed. In an allow line an ACL whose fact is missing (no reply
// yet, destinations unknown to a fast check) fails the line, negated or not; in
// a deny line it counts as "no", so its negation denies. An ACL of a type that
// is not implemented fails an allow line and matches a deny line; the compiler
// reports its use as Severity::restricts; so it does with one of an obsolete type,
// which never matches, where that would open. Conditions (compile_conditions) decide
// nothing about access: there a missing fact is an ordinary "no".
//
// Immutable once compiled; any thread. Built by AclSet and Rules::compile from
// the statements the configuration reader collected.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/facts.h"
#include "config/directive.h"

namespace loligo::access {

class Acl;      // one named, compiled ACL
class AclSet;   // all of a configuration, by name

// What a check still lacks before it can decide. The caller finds out and checks again with the fact filled in.
enum class Need : uint8_t { nothing, destinations, reverse_name };

struct Verdict {
  bool allowed = false;
  Need need = Need::nothing;           // when not nothing, `allowed` means nothing yet
  std::string_view rule;               // "squid.conf:12" of the deciding line; "default" or "no match" otherwise. Lives with the Rules.
  std::string_view rule_text;          // "deny !Safe_ports"
  std::string_view last_acl;           // name of the last ACL evaluated (deny_info looks at it)
};

class Rules {
 public:
  // `statements`: lines of one directive ("http_access allow localnet"), in order; `skip` words precede allow|deny
  // (1 for cache_peer_access NAME, request_header_access NAME).
  static Rules compile(const std::vector<config::Statement>& statements, const AclSet&, config::Problems&, size_t skip = 0);
  // ACL words alone, all must match, e.g. access_log's or tcp_outgoing_address's: words from `first` on. No ACLs = always matches.
  static Rules compile_conditions(const config::Statement&, size_t first, const AclSet&, config::Problems&);

  bool empty() const { return lines_.empty(); }
  // May answer with a Need. `otherwise` is the verdict of an empty list.
  Verdict check(const Facts&, bool otherwise) const;
  // For directives that cannot wait: what is not known does not match.
  Verdict check_fast(const Facts&, bool otherwise) const;
  // Some line can ask for destination addresses or reverse names (so that callers may prefetch).
  bool may_need_destinations() const { return may_need_destinations_; }

  struct Term { std::shared_ptr<const Acl> acl; bool negated; };
  struct Line {
    bool allow = false;
    bool always = false;         // its ACLs match whatever is asked ("allow all")
    bool missing_is_no = false;  // see Context
    std::vector<Term> terms;
    std::string place, text;
  };

 private:
  bool add_terms(Line&, const config::Statement&, size_t first, const AclSet&, config::Problems&);
  void add_line(Line);
  template <bool kSlow> Verdict run(const Facts&, bool otherwise) const;
  std::vector<Line> lines_;
  bool may_need_destinations_ = false;
};

// The `acl` statements of a configuration, compiled; knows the predefined ones (all, manager, localhost, to_localhost,
// to_linklocal, CONNECT) and lets old files redefine them quietly.
class AclSet {
 public:
  // The addresses of a host name in a src, dst or localip ACL; empty = it does not resolve. Called in add().
  using Resolver = std::function<std::vector<net::Address>(std::string)>;

  explicit AclSet(Resolver = {});
  ~AclSet();
  AclSet(AclSet&&) noexcept;
  AclSet& operator=(AclSet&&) noexcept;
  // Adds one `acl NAME TYPE [options] values` statement. Values of the same name are ORed.
  void add(const config::Statement&, config::Problems&);
  // Must be called once after the last add(): builds the sets and trees.
  void finish(config::Problems&);
  std::shared_ptr<const Acl> find(std::string_view name) const;
  // The sequence number of the statement that first defined `name` (an ACL must stand before its use); -1 for predefined.
  int defined_at(std::string_view name) const;
  // The name of an ACL most like `name`, for error messages; may be empty.
  std::string closest(std::string_view name) const;
  bool has_purge_method() const;   // a method ACL names PURGE: the feature is on

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loligo::access
