// From settings to the compiled snapshot that workers serve by. Belongs to main.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "client/snapshot.h"
#include "config/problem.h"
#include "icp/peers.h"
#include "log/access_log.h"
#include "settings.h"

namespace loligo {

// Null when something is wrong enough not to serve by it; `problems` says what. `log_failures`: places that cannot be
// opened now.
std::shared_ptr<const client::Snapshot> build_snapshot(const Settings&, icp::PeerRegistry&, log::AccessLog&, config::Problems&,
                                                       std::vector<std::string>& log_failures);

}  // namespace loligo
