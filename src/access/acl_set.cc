// The `acl` statements of a configuration: finding the type, its options, the
// ACL to append to; and the predefined ACLs, which old files redefine.
#include <algorithm>
#include <map>
#include <set>

#include "access/acl.h"
#include "access/closest.h"
#include "access/matchers.h"

namespace loligo::access {

namespace {

constexpr int kDeepestGroup = 16;  // groups within groups; each level multiplies the work of a check

// What stands before the first line of every file. The ssl:: names belong to certificate errors.
constexpr std::string_view kPredefined[][8] = {
    {"all", "src", "all"},
    {"localhost", "src", "127.0.0.1/32", "::1"},
    {"to_localhost", "dst", "127.0.0.0/8", "0.0.0.0/32", "::1/128", "::/128"},
    {"to_linklocal", "dst", "169.254.0.0/16", "fe80::/10"},
    {"manager", "url_regex", "-i", "^cache_object://", "+i", "^[^:]+://[^/]+/squid-internal-mgr/"},
    {"CONNECT", "method", "CONNECT"},
    {"ssl::certHasExpired", "ssl_error", "X509_V_ERR_CERT_HAS_EXPIRED"},
    {"ssl::certNotYetValid", "ssl_error", "X509_V_ERR_CERT_NOT_YET_VALID"},
    {"ssl::certDomainMismatch", "ssl_error", "SQUID_X509_V_ERR_DOMAIN_MISMATCH"},
    {"ssl::certUntrusted", "ssl_error", "X509_V_ERR_INVALID_CA"},
    {"ssl::certSelfSigned", "ssl_error", "X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT"},
};

// Reads option letters at words[at]; false if the word is no option. Unknown letters are reported.
bool read_option(const config::Statement& statement, size_t at, const AclType& type, Options& options, config::Problems& problems) {
  const config::Word& word = statement.words[at];
  std::string_view text = word.text;
  if (word.quoted || text.size() < 2 || (text[0] != '-' && text[0] != '+')) return false;
  if (base::is_digit(text[1])) return false;  // a negative number is for the type to refuse
  for (char c : text.substr(1)) {
    if (c == '=') break;  // -m=delimiters
    if (type.options.find(c) == type.options.npos) {
      std::string takes = type.options.empty() ? " takes no options" : " knows the options " + std::string(type.options);
      problems.error(statement.at(at), "\"" + word.text + "\" is no option here; " + std::string(type.name) + takes, "write -- before values that begin with a hyphen");
      return true;
    }
    if (c == 'i') options.ignore_case = text[0] == '-';
    if (c == 'n') options.no_lookup = text[0] == '-';
  }
  return true;
}

// Options from words[at] on; returns the index of the first value.
size_t read_options(const config::Statement& statement, size_t at, const AclType& type, Options& options, config::Problems& problems) {
  for (; at < statement.words.size(); ++at) {
    if (statement.words[at].text == "--") return at + 1;
    if (!read_option(statement, at, type, options, problems)) break;
  }
  return at;
}

// The only form in which files from before 2013 define it; the predefined one says the same.
bool is_old_manager(const config::Statement& statement) {
  return statement.words.size() == 3 && statement.words[0].text == "manager" && statement.words[1].text == "proto" && statement.words[2].text == "cache_object";
}

}  // namespace

const Acl* find_within(const Acl& root, const std::function<bool(const Acl&)>& wanted) {
  std::set<const Acl*> seen;
  std::vector<const Acl*> waiting{&root};
  while (!waiting.empty()) {
    const Acl* acl = waiting.back();
    waiting.pop_back();
    if (!seen.insert(acl).second) continue;
    if (wanted(*acl)) return acl;
    for (const Acl* member : acl->matcher().members()) waiting.push_back(member);
  }
  return nullptr;
}

struct AclSet::Impl {
  Resolver resolver;
  std::map<std::string, std::shared_ptr<Acl>, std::less<>> acls;

  std::shared_ptr<const Acl> find(std::string_view name) const {
    auto found = acls.find(name);
    return found == acls.end() ? nullptr : found->second;
  }
  std::string closest(std::string_view name) const {
    Closest closest(name);
    for (auto& [other, acl] : acls) closest.offer(other);
    return closest.result();
  }
  Acl* target(const config::Statement&, const AclType&, config::Problems&);
  void add(const config::Statement&, const AclType&, config::Problems&);
  int depth(const Acl&, std::map<const Acl*, int>& known) const;
  void predefine();
};

void AclSet::Impl::predefine() {
  config::Problems none;
  for (const auto& row : kPredefined) {
    config::Statement statement;
    statement.name = "acl";
    statement.sequence = -1;
    for (std::string_view word : row)
      if (!word.empty()) statement.words.push_back({std::string(word)});
    add(statement, *find_type(row[1]), none);
  }
}

// The ACL to add values to: the one of that name, or a new one. Null: refused.
Acl* AclSet::Impl::target(const config::Statement& statement, const AclType& type, config::Problems& problems) {
  const std::string& name = statement.words[0].text;
  auto found = acls.find(name);
  if (found != acls.end()) {
    Acl& old = *found->second;
    if (&old.type() == &type) return &old;
    if (old.type().support == Support::broken) return nullptr;
    bool replace = old.predefined() && name != "all";
    if (!replace || type.support == Support::broken) {
      std::string where = old.predefined() ? "it is predefined" : "it was defined in " + old.place().file + ":" + std::to_string(old.place().line);
      if (type.support != Support::broken)
        problems.error(statement.at(1), "ACL \"" + name + "\" already has the type " + std::string(old.type().name) + " (" + where + ")", "give this one another name");
      return nullptr;
    }
    problems.warning(statement.place, "ACL \"" + name + "\" takes the place of the predefined one of type " + std::string(old.type().name));
  }
  auto acl = std::make_shared<Acl>(name, type, statement.place, statement.sequence);
  acls.insert_or_assign(name, acl);
  return acl.get();
}

void AclSet::Impl::add(const config::Statement& statement, const AclType& type, config::Problems& problems) {
  Acl* acl = target(statement, type, problems);
  if (!acl || type.support == Support::broken) return;
  Arguments arguments{statement, 2, {}, acl->name(), acl->predefined()};
  if (type.support == Support::implemented) {
    // req_header Name -i pattern: options may stand on either side of the name.
    arguments.first = read_options(statement, 2, type, arguments.options, problems);
  }
  Surroundings around{problems, resolver, [this](std::string_view name) -> std::shared_ptr<const Acl> { return find(name); },
                      [this](std::string_view name) { return closest(name); }};
  acl->matcher().add(arguments, around);
}

int AclSet::Impl::depth(const Acl& acl, std::map<const Acl*, int>& known) const {
  if (auto found = known.find(&acl); found != known.end()) return found->second;
  int deepest = 0;
  for (const Acl* member : acl.matcher().members()) deepest = std::max(deepest, 1 + depth(*member, known));
  return known[&acl] = deepest;
}

AclSet::AclSet(Resolver resolver) : impl_(std::make_unique<Impl>()) {
  impl_->resolver = std::move(resolver);
  impl_->predefine();
}
AclSet::~AclSet() = default;
AclSet::AclSet(AclSet&&) noexcept = default;
AclSet& AclSet::operator=(AclSet&&) noexcept = default;

void AclSet::add(const config::Statement& statement, config::Problems& problems) {
  if (statement.words.size() < 2)
    return problems.error(statement.place, "an acl line needs a name and a type", "write it like: acl localnet src 192.168.0.0/16");
  const config::Word& name = statement.words[0];
  const std::string& type_name = statement.words[1].text;
  if (name.text.starts_with('!')) return problems.error(statement.at(0), "an ACL's name cannot begin with \"!\", which means \"not\" in rules");
  if (is_old_manager(statement)) return;
  const AclType* type = find_type(type_name);
  if (!type) {
    std::string near = closest_type(type_name);
    problems.error(statement.at(1), "there is no ACL type \"" + type_name + "\"", near.empty() ? "" : "did you mean " + near + "?");
    type = &broken_type();  // so that its rules do not complain once more
  }
  impl_->add(statement, *type, problems);
}

void AclSet::finish(config::Problems& problems) {
  std::map<const Acl*, int> depths;
  for (auto& [name, acl] : impl_->acls) {
    acl->matcher().finish(name, acl->place(), problems);
    if (acl->matcher().empty()) problems.warning(acl->place(), "ACL \"" + name + "\" has no values and never matches");
    if (impl_->depth(*acl, depths) > kDeepestGroup) problems.error(acl->place(), "ACL \"" + name + "\" nests groups more than 16 deep");
  }
}

std::shared_ptr<const Acl> AclSet::find(std::string_view name) const { return impl_->find(name); }
std::string AclSet::closest(std::string_view name) const { return impl_->closest(name); }

int AclSet::defined_at(std::string_view name) const {
  auto acl = find(name);
  return acl ? acl->sequence() : -1;
}

bool AclSet::has_purge_method() const {
  return std::any_of(impl_->acls.begin(), impl_->acls.end(), [](auto& entry) { return names_purge(entry.second->matcher()); });
}

}  // namespace loligo::access
