// The reference manual loligo.conf(5) in man(7) roff, generated from the directive tables.
// Pure function, any thread.
#pragma once
#include <span>
#include <string>

#include "config/directive.h"

namespace loligo::config {

std::string manual(std::span<const RoomTable>);

}  // namespace loligo::config
