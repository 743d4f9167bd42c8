// How a value is made safe for its place in a log line: the encodings of
// logformat, and number formatting without printf.
//
// No encoding lets a control character through, so a value can never end a
// line or move a terminal's cursor; those without quotes let no blank through.
// Pure functions, any thread. Callers provide the room (see kGrowth).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/address.h"

namespace loligo::log {

enum class Encoding : uint8_t {
  token,       // none asked for: %XX for blanks, controls, bytes above 126 and the unsafe characters of RFC 1738, but not for %
  url,         // none asked for, a URL or method: %XX for blanks and controls only, as the native format has always had it
  quoted_word, // "  for URLs: as `quoted`, and blanks as %20
  quoted,      // "  backslash before quote and backslash, \r \n \t, \xHH
  mime,        // [  %XX for controls, bytes above 126, %, [ and ]; \r and \n as such; blanks stay
  mime_token,  // [  for user names: blanks too, since they stand in columns
  percent,     // #  as `token`, and % too
  shell,       // /  in double quotes when it holds a blank
  raw,         // '  only controls are replaced
  event,       // the event log: controls as \xHH, tabs stay
};

inline constexpr size_t kGrowth = 4;       // one byte becomes at most so many
inline constexpr size_t kExtra = 2;        // and a pair of quotes

// Writes `text` to `out`, which has kGrowth * text.size() + kExtra bytes; returns the end.
char* encode(Encoding, std::string_view text, char* out);

// At most 20 digits and a sign. Returns the end.
char* write_number(int64_t value, char* out);
// At least `digits` digits (at most 19), filled with zeros: milliseconds, status codes.
char* write_padded(uint64_t value, int digits, char* out);
// At most 46 bytes.
char* write_address(const net::Address&, char* out);

}  // namespace loligo::log
