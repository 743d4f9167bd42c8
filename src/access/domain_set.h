// A set of domain names: "foo.com" is that host alone, ".foo.com" is foo.com
// and everything below it. Case and a trailing dot are ignored.
//
// A hash table of whole names, probed at each label while the host is hashed
// from its end: a lookup costs the host's length, whatever the number of names.
//
// Owner: the ACL. Built at start-up by one thread, then immutable, any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace loligo::access {

class DomainSet {
 public:
  void add(std::string_view value, const config::Place&, config::Problems&);
  // Builds the table; names what others already cover in one warning.
  void finish(std::string_view acl_name, const config::Place&, config::Problems&);
  bool contains(std::string_view host) const;
  bool empty() const { return names_.empty(); }

 private:
  struct Name {
    std::string text;  // lower case, without dots at the ends
    uint32_t hash;
    bool exact = false, below = false;  // below: the name itself too
  };
  const Name* find(uint32_t hash, std::string_view text) const;
  const Name* cover(const Name&) const;
  void build();

  std::vector<Name> names_;
  std::vector<uint32_t> slots_;  // 1 + index into names_; 0 = free. A power of two, at most half full.
  size_t longest_ = 0;           // no suffix longer than this needs a probe
  unsigned doubles_ = 0;
  std::string first_double_;
};

}  // namespace loligo::access
