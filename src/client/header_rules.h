// request_header_access, reply_header_access and the replace/add lists, compiled.
// Immutable; any thread. Empty rules cost one test.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/rules.h"
#include "client/settings.h"
#include "log/format.h"

namespace loligo::client {

class HeaderRules {
 public:
  static HeaderRules compile(const std::vector<config::Statement>& access_lines, const std::vector<HeaderReplacement>&,
                             const std::vector<HeaderAddition>&, const access::AclSet&, config::Problems&);
  bool empty() const { return by_name_.empty() && !has_all_ && !has_other_ && additions_.empty(); }
  // May this field pass? If not, *replacement is the value to send in its place (null = drop the field).
  bool passes(http::FieldId, std::string_view name, const access::Facts&, const std::string** replacement) const;
  // The field lines to add, each with CRLF. `describe` tells what %codes stand for, asked where there are any.
  using Describe = std::function<void(log::Record&)>;
  void append_additions(const access::Facts&, std::string& out, const Describe& describe = {}) const;

 private:
  struct Addition {
    std::string line;                      // whole; or the name alone, before a format
    std::optional<log::Format> format;
    access::Rules condition;
  };
  std::unordered_map<std::string, access::Rules> by_name_;   // lower case
  access::Rules all_, other_;
  bool has_all_ = false, has_other_ = false;
  std::unordered_map<std::string, std::string> replacements_;
  std::vector<Addition> additions_;
};

}  // namespace loligo::client
