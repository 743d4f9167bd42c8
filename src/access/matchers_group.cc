// ACLs made of ACLs (any-of, all-of), and those that answer one thing only:
// types that are not implemented and types that mean nothing any more.
#include <algorithm>

#include "access/matchers.h"

namespace loligo::access {

namespace {

// Alternatives of terms that must all match. any-of: one term in each alternative; all-of: one alternative for each line.
class GroupMatcher final : public Matcher {
 public:
  explicit GroupMatcher(bool any) : any_(any) {}

  void add(const Arguments& arguments, Surroundings& around) override {
    std::vector<Rules::Term> terms;
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      std::string_view name = arguments.word(i).text;
      bool negated = name.starts_with('!');
      if (negated) name.remove_prefix(1);
      std::string shown = "\"" + std::string(name) + "\"";
      auto acl = around.find(name);
      if (!acl) return around.problems.error(arguments.at(i), "there is no ACL " + shown + " before this line", around.closest(name));
      if (find_within(*acl, [&](const Acl& one) { return one.name() == arguments.acl_name; }))
        return around.problems.error(arguments.at(i), "ACL " + shown + " would hold itself");
      if (any_) alternatives_.push_back({{acl, negated}});
      else terms.push_back({acl, negated});
    }
    if (!terms.empty()) alternatives_.push_back(std::move(terms));
  }
  bool empty() const override { return alternatives_.empty(); }

  // What is missing or refused stays so unless the rest decides without it.
  Match match(const Context& context) const override {
    Match result = Match::no;
    for (const auto& terms : alternatives_) {
      Match one = match_all(terms, context);
      if (one == Match::yes || one >= Match::wait_destinations) return one;
      result = std::max(result, one);
    }
    return result;
  }

  std::vector<const Acl*> members() const override {
    std::vector<const Acl*> all;
    for (const auto& terms : alternatives_)
      for (const auto& term : terms) all.push_back(term.acl.get());
    return all;
  }

 private:
  static Match match_all(const std::vector<Rules::Term>& terms, const Context& context) {
    Match result = Match::yes;
    for (const auto& term : terms) {
      Match one = match_term(*term.acl, term.negated, context);
      if (one == Match::no || one >= Match::wait_destinations) return one;
      result = std::max(result, one);
    }
    return result;
  }
  bool any_;
  std::vector<std::vector<Rules::Term>> alternatives_;
};

class NotImplemented final : public Matcher {
  void add(const Arguments&, Surroundings&) override {}
  bool empty() const override { return false; }
  Match match(const Context&) const override { return Match::refused; }
};

class Obsolete final : public Matcher {
  void add(const Arguments& arguments, Surroundings& around) override {
    const config::Statement& statement = arguments.statement;
    around.problems.warning(statement.at(1), "the ACL type " + statement.words[1].text + " is obsolete; ACL \"" + std::string(arguments.acl_name) + "\" never matches");
  }
  bool empty() const override { return false; }
  Match match(const Context&) const override { return Match::no; }
};

}  // namespace

std::unique_ptr<Matcher> make_any_of() { return std::make_unique<GroupMatcher>(true); }
std::unique_ptr<Matcher> make_all_of() { return std::make_unique<GroupMatcher>(false); }
std::unique_ptr<Matcher> make_not_implemented() { return std::make_unique<NotImplemented>(); }
std::unique_ptr<Matcher> make_obsolete() { return std::make_unique<Obsolete>(); }

}  // namespace loligo::access
