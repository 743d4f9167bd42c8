// ACL types on the host of the URL: dstdomain, dstdom_regex. A host that is an
// address is tried as it stands, then by its reverse name ("none" if it has none).
#include "access/domain_set.h"
#include "access/matchers.h"
#include "access/pattern_set.h"

namespace loligo::access {

namespace {

template <class Set>
class HostMatcher : public Matcher {
 public:
  bool empty() const override { return set_.empty(); }
  bool may_wait() const override { return !no_lookup_; }
  Match match(const Context& context) const override {
    const Facts& facts = context.facts;
    if (facts.host.empty()) return Match::missing;
    if (has(facts.host)) return Match::yes;
    if (!facts.host_is_address || no_lookup_) return Match::no;
    if (!facts.reverse_name_known) return Match::wait_reverse_name;
    return has(facts.reverse_name.empty() ? "none" : facts.reverse_name) ? Match::yes : Match::no;
  }

 protected:
  virtual bool has(std::string_view host) const = 0;
  Set set_;
  bool no_lookup_ = false;
};

class Domain final : public HostMatcher<DomainSet> {
  void add(const Arguments& arguments, Surroundings& around) override {
    no_lookup_ |= arguments.options.no_lookup;
    for (size_t i = arguments.first; i < arguments.size(); ++i) set_.add(arguments.word(i).text, arguments.at(i), around.problems);
  }
  void finish(std::string_view name, const config::Place& place, config::Problems& problems) override { set_.finish(name, place, problems); }
  bool has(std::string_view host) const override { return set_.contains(host); }
};

class DomainRegex final : public HostMatcher<PatternSet> {
  void add(const Arguments& arguments, Surroundings& around) override {
    no_lookup_ |= arguments.options.no_lookup;
    add_patterns(set_, arguments, around.problems);
  }
  void finish(std::string_view, const config::Place&, config::Problems&) override { set_.finish(); }
  bool has(std::string_view host) const override { return set_.matches(host); }
};

}  // namespace

std::unique_ptr<Matcher> make_dstdomain() { return std::make_unique<Domain>(); }
std::unique_ptr<Matcher> make_dstdom_regex() { return std::make_unique<DomainRegex>(); }

}  // namespace loligo::access
