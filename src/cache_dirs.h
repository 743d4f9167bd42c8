// The cache_dir lines at start: directories that lack are made while there are
// the rights to, then the disk store opens them under the final identity.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process_control.h"
#include "store/disk/disk.h"
#include "store/settings.h"

namespace loligo {

// Makes what lacks, for the identity that will use it. A line for each that cannot be made.
std::vector<std::string> make_cache_dirs(const store::Settings&, const std::optional<Identity>&);

store::DiskOptions disk_options(const store::Settings&);

// Null without cache_dir lines. A line in `failures` for each directory that cannot be used.
std::unique_ptr<store::Disk> open_cache_dirs(store::DiskOptions, std::vector<std::string>& failures);

}  // namespace loligo
