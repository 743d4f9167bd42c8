// From statements to settings, through the tables of the rooms.
//
//   apply_defaults      scalars get the default of their row, as if typed before the file
//   apply               each statement goes to its row's parser; names without effect are reported
//   apply_missing       lists that stayed empty get the default of their row
//   dump                the running configuration as directives (mgr:config)
//
// One thread, at start and reload.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "config/directive.h"
#include "config/directive_index.h"

namespace loligo::config {

void apply_defaults(std::span<const RoomTable>, Problems&);
void apply(const std::vector<Statement>&, const DirectiveIndex&, Problems&);
void apply_missing(const std::vector<Statement>&, std::span<const RoomTable>, Problems&);
std::string dump(std::span<const RoomTable>);

// A default of a table with <sysconfdir>, <localstatedir> and <pkgdatadir> replaced by this build's directories.
std::string expand_directories(std::string_view);

}  // namespace loligo::config
