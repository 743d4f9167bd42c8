// Blanks in the target of a request line (uri_whitespace). The head parser
// refuses them (RFC 9112 section 3.2: 400); an administrator may have them mended
// before it looks. Plain code; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loligo::http {

enum class BlanksInTarget : uint8_t { deny, strip, encode, chop };

enum class MendedState : uint8_t {
  untouched,    // this is not what is wrong with the line
  incomplete,   // the line's end has not come yet
  mended,
};
struct Mended {
  MendedState state = MendedState::untouched;
  std::string bytes;   // when mended: all that was given, with the new target
};

// `bytes` begin with a request line, perhaps after empty lines, that parse_request() has failed. The target is what stands
// between the first blank and the last one before the version: strip takes its blanks out, encode writes them as %20 and
// %09, chop ends it at the first. The result is to be parsed as strictly as any other.
Mended mend_target(std::string_view bytes, BlanksInTarget how);

}  // namespace loligo::http
