// Where log lines go: the first word of an access_log line, taken apart.
//
//   target = "none" | ["stdio:" | "daemon:"] path | "syslog" [":" facility ["." priority]]
//          | ("udp" | "tcp") ":" ["//"] host ":" port
//
// A plain value.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loligo::log {

struct Target {
  enum class Kind : uint8_t { none, file, syslog, udp, tcp };
  Kind kind = Kind::file;
  std::string place;      // as typed: the identity by which a reconfigure finds it again
  std::string path;       // of a file; of the socket for syslog (/dev/log)
  std::string host;       // udp, tcp: name or address, without brackets
  uint16_t port = 0;
  int priority = 0;       // syslog: facility and severity, as RFC 3164 numbers them

  friend bool operator==(const Target& a, const Target& b) = default;
};

// Null with a reason when the word is no target.
std::optional<Target> parse_target(std::string_view word, std::string& why);

}  // namespace loligo::log
