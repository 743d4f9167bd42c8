// The hosts file: names and addresses that win over DNS. Grammar (hosts(5)):
//
//   line    = address 1*( blank name ) [ "#" comment ] | "#" comment | empty
//
// Immutable once read, so that all workers share one. Reading blocks: at start
// and on reconfigure only. Lines that are not understood are counted and skipped.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/dns_answer.h"

namespace loligo::net {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
template <class Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

class HostsFile {
 public:
  // Null with `error` when the file cannot be read.
  static std::shared_ptr<const HostsFile> load(const std::string& path, std::string& error);
  static std::shared_ptr<const HostsFile> parse(std::string_view text);

  const Answer* find(std::string_view lower_case_name) const;
  const NamesAnswer* find(const Address&) const;

  const StringMap<Answer>& names() const { return by_name_; }
  const StringMap<NamesAnswer>& addresses() const { return by_address_; }   // keys: Address::host()
  size_t bad_lines() const { return bad_lines_; }

 private:
  void add_line(std::string_view line);

  StringMap<Answer> by_name_;
  StringMap<NamesAnswer> by_address_;
  size_t bad_lines_ = 0;
};

}  // namespace loligo::net
