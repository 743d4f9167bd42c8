// ACL types on IP addresses: src, dst, localip.
#include "access/matchers.h"
#include "access/network_set.h"

namespace loligo::access {

namespace {

class AddressMatcher : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    no_lookup_ |= arguments.options.no_lookup;
    for (size_t i = arguments.first; i < arguments.size(); ++i)
      networks_.add(arguments.word(i).text, arguments.at(i), around.resolver, around.problems, arguments.predefined);
  }
  void finish(std::string_view, const config::Place&, config::Problems&) override { networks_.finish(); }
  bool empty() const override { return networks_.empty(); }

 protected:
  Match among(const net::Address& address) const {
    if (!address.valid()) return Match::missing;
    return networks_.contains(address) ? Match::yes : Match::no;
  }

  NetworkSet networks_;
  bool no_lookup_ = false;
};

class Source final : public AddressMatcher {
  Match match(const Context& context) const override { return among(context.facts.client); }
  bool always() const override { return networks_.everything(); }
};

class Local final : public AddressMatcher {
  Match match(const Context& context) const override { return among(context.facts.local); }
};

class Destination final : public AddressMatcher {
  bool may_wait() const override { return !no_lookup_ && !networks_.everything(); }
  Match match(const Context& context) const override {
    const Facts& facts = context.facts;
    if (facts.host.empty()) return Match::missing;
    if (facts.host_is_address) {
      auto address = net::Address::parse(facts.host);
      return address ? among(*address) : Match::no;
    }
    if (networks_.everything()) return Match::yes;
    if (no_lookup_) return Match::no;
    if (!facts.destinations_known) return Match::wait_destinations;
    for (unsigned i = 0; i < facts.destination_count; ++i)
      if (networks_.contains(facts.destinations[i])) return Match::yes;
    return Match::no;
  }
};

}  // namespace

std::unique_ptr<Matcher> make_src() { return std::make_unique<Source>(); }
std::unique_ptr<Matcher> make_dst() { return std::make_unique<Destination>(); }
std::unique_ptr<Matcher> make_localip() { return std::make_unique<Local>(); }

}  // namespace loligo::access
