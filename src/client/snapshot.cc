#include "client/snapshot.h"

#include <fmt/format.h>

namespace loligo::client {

void fill_port_fields(PortContext& port, const Snapshot& s) {
  // The version is that of the message received (RFC 9110 section 7.6.3).
  auto lines = [&](std::string_view outcome, std::string_view lookup, int minor = 1) {
    std::string via = s.settings.via ? fmt::format("Via: 1.{} {}\r\n", minor, s.via_value) : std::string();
    return fmt::format("X-Cache: {} from {}\r\nX-Cache-Lookup: {} from {}:{}\r\n{}", outcome, s.hostname, lookup, s.hostname,
                       port.config.port, via);
  };
  port.hit_fields = lines("HIT", "HIT");
  port.miss_fields = lines("MISS", "MISS");
  port.hit_fields_http10 = lines("HIT", "HIT", 0);
  port.miss_fields_http10 = lines("MISS", "MISS", 0);
  port.none_fields = lines("MISS", "NONE");
}

}  // namespace loligo::client
