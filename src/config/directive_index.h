// All directives of all rooms by name and alias.
// Built once per load from the rooms' tables, which must outlive it. One thread.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/directive.h"

namespace loligo::config {

class DirectiveIndex {
 public:
  struct Entry { const Directive* directive = nullptr; void* settings = nullptr; };
  explicit DirectiveIndex(std::span<const RoomTable> tables);
  // Exact and case-sensitive, as in Squid. directive is null when there is none.
  Entry find(std::string_view name) const;
  // The known name that looks most like it; empty when none does.
  std::string_view similar(std::string_view name) const;
  size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::string_view, Entry> entries_;
};

}  // namespace loligo::config
