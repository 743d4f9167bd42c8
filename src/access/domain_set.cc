#include "access/domain_set.h"

#include "base/text.h"

namespace loligo::access {

namespace {

// FNV-1a over the name from its last character to its first, so that one pass over a host gives the hash of all its suffixes.
constexpr uint32_t kHashStart = 2166136261u;
constexpr uint32_t hash_step(uint32_t hash, char c) { return (hash ^ uint8_t(base::ascii_lower(c))) * 16777619u; }
// The low bits of FNV are its weak ones for short names: fold the high half in before masking.
constexpr uint32_t spread(uint32_t hash) { return hash ^ hash >> 15; }

uint32_t hash_of(std::string_view text) {
  uint32_t hash = kHashStart;
  for (size_t i = text.size(); i-- > 0;) hash = hash_step(hash, text[i]);
  return hash;
}

}  // namespace

void DomainSet::add(std::string_view value, const config::Place& place, config::Problems& problems) {
  std::string shown = "\"" + std::string(value) + "\"";
  std::string text = base::to_lower(value);
  if (text.size() > 1 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);  // IPv6 literal
  if (text.find('*') != text.npos) {
    std::string bare = text.substr(text.find_first_not_of("*.") == text.npos ? text.size() : text.find_first_not_of("*."));
    problems.error(place, "the wildcard in " + shown + " has no meaning in a domain name",
                   bare.empty() || bare.find('*') != bare.npos ? "use dstdom_regex" : "write ." + bare + " for " + bare + " and everything below it");
    return;
  }
  if (size_t scheme = text.find("://"); scheme != text.npos || text.find('/') != text.npos)
    problems.warning(place, shown + " is not a domain name, so it never matches", "write the host alone");
  bool below = !text.empty() && text.front() == '.';
  if (below) text.erase(0, 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (text.empty()) return problems.warning(place, shown + " is not a domain name, so it never matches", "use the ACL all to match everything");
  Name name{std::move(text), 0, !below, below};
  name.hash = hash_of(name.text);
  longest_ = std::max(longest_, name.text.size());
  names_.push_back(std::move(name));
}

// Merges equal names and fills the slots.
void DomainSet::build() {
  size_t slots = 16;
  while (slots < names_.size() * 2) slots *= 2;
  slots_.assign(slots, 0);
  size_t kept = 0;
  for (size_t i = 0; i < names_.size(); ++i) {
    Name name = std::move(names_[i]);
    size_t slot = spread(name.hash) & (slots - 1);
    while (slots_[slot] && names_[slots_[slot] - 1].text != name.text) slot = (slot + 1) & (slots - 1);
    if (slots_[slot]) {
      Name& twin = names_[slots_[slot] - 1];
      twin.exact |= name.exact;
      twin.below |= name.below;
      if (doubles_++ == 0) first_double_ = name.text + " stands there twice";
      continue;
    }
    names_[kept] = std::move(name);
    slots_[slot] = uint32_t(++kept);
  }
  names_.resize(kept);
}

// A shorter name with a dot that already covers `name`.
const DomainSet::Name* DomainSet::cover(const Name& name) const {
  for (size_t dot = name.text.find('.'); dot != name.text.npos; dot = name.text.find('.', dot + 1)) {
    std::string_view parent = std::string_view(name.text).substr(dot + 1);
    const Name* found = find(hash_of(parent), parent);
    if (found && found->below) return found;
  }
  return nullptr;
}

void DomainSet::finish(std::string_view acl_name, const config::Place& place, config::Problems& problems) {
  doubles_ = 0;
  build();
  for (const Name& name : names_)
    if (const Name* parent = cover(name); parent && doubles_++ == 0)
      first_double_ = (name.below ? "." : "") + name.text + " is already covered by ." + parent->text;
  if (doubles_ == 0) return;
  std::string more = doubles_ > 1 ? " (and " + std::to_string(doubles_ - 1) + " more like it)" : "";
  problems.warning(place, "ACL " + std::string(acl_name) + ": " + first_double_ + more + "; all of them go on working", "remove the narrower one");
}

const DomainSet::Name* DomainSet::find(uint32_t hash, std::string_view text) const {
  size_t mask = slots_.size() - 1;
  for (size_t slot = spread(hash) & mask; slots_[slot]; slot = (slot + 1) & mask) {
    const Name& name = names_[slots_[slot] - 1];
    if (name.hash == hash && base::iequals(name.text, text)) return &name;
  }
  return nullptr;
}

bool DomainSet::contains(std::string_view host) const {
  if (names_.empty()) return false;
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  uint32_t hash = kHashStart;
  for (size_t i = host.size(); i-- > 0;) {
    if (host.size() - i > longest_ + 1) return false;  // no name is as long as what would come now
    if (host[i] == '.') {
      const Name* name = find(hash, host.substr(i + 1));
      if (name && name->below) return true;
    }
    hash = hash_step(hash, host[i]);
  }
  return !host.empty() && find(hash, host) != nullptr;
}

}  // namespace loligo::access
