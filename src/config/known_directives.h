// Names of the Squid tradition that belong to no room yet: accepted, restricting or obsolete.
#pragma once
#include <span>

#include "config/directive.h"

namespace loligo::config {

std::span<const Directive> known_directives();

}  // namespace loligo::config
