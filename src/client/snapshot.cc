#include "client/snapshot.h"

#include <fmt/format.h>

#include "base/text.h"

namespace loligo::client {

void fill_port_fields(PortContext& port, const Snapshot& s) {
  // The version is that of the message received (RFC 9110 section 7.6.3).
  auto lines = [&](std::string_view outcome, std::string_view lookup, int minor) {
    std::string via = s.settings.via ? fmt::format("Via: 1.{} {}\r\n", minor, s.via_value) : std::string();
    return fmt::format("X-Cache: {} from {}\r\nX-Cache-Lookup: {} from {}:{}\r\n{}", outcome, s.hostname, lookup, s.hostname,
                       port.config.port, via);
  };
  for (int minor : {0, 1})
    for (unsigned found = 0; found < kFoundWords; ++found) {
      port.cache_fields[minor][0][found] = lines("MISS", kFoundTexts[found], minor);
      port.cache_fields[minor][1][found] = lines("HIT", kFoundTexts[found], minor);
    }
}

std::string cache_status_prefix(std::string_view name) {
  constexpr std::string_view kToken = "!#$%&'*+-.^_`|~:/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bool begins = !name.empty() && (name[0] == '*' || ((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z'));
  std::string out = "Cache-Status: ";
  if (begins && name.find_first_not_of(kToken) == name.npos) return out.append(name);
  out += '"';
  for (char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return out += '"';
}

}  // namespace loligo::client
