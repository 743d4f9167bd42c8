// The `acl` statements of a configuration, in order. access::AclSet compiles them.
#pragma once
#include <span>
#include <vector>

#include "config/directive.h"

namespace loligo::access {

struct Settings {
  std::vector<config::Statement> acl;
};

std::span<const config::Directive> directives();

}  // namespace loligo::access
