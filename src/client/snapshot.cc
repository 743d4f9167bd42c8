#include "client/snapshot.h"

#include <fmt/format.h>

namespace loligo::client {

void fill_port_fields(PortContext& port, const Snapshot& s) {
  std::string via = s.settings.via ? fmt::format("Via: 1.1 {}\r\n", s.via_value) : std::string();
  auto lines = [&](std::string_view outcome, std::string_view lookup) {
    return fmt::format("X-Cache: {} from {}\r\nX-Cache-Lookup: {} from {}:{}\r\n{}", outcome, s.hostname, lookup, s.hostname,
                       port.config.port, via);
  };
  port.hit_fields = lines("HIT", "HIT");
  port.miss_fields = lines("MISS", "MISS");
  port.none_fields = lines("MISS", "NONE");
}

}  // namespace loligo::client
