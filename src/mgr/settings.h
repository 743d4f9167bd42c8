// What squid.conf says to the cache manager: passwords of its actions.
// Plain data, immutable once loaded; any thread.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/directive.h"

namespace loligo::mgr {

// One cachemgr_passwd line. The first line that names an action, or "all", rules it.
struct Password {
  enum class Kind : unsigned char { password, none, disable };
  Kind kind = Kind::password;
  std::string password;
  std::vector<std::string> actions;  // "all" stands for every action
};

struct Settings {
  std::vector<Password> cachemgr_passwd;
  // The line for an action; null = none (harmless pages are open, the rest closed).
  const Password* find(std::string_view action) const;
};

std::span<const config::Directive> directives();

}  // namespace loligo::mgr
