// The values of squid.conf as text: numbers, times, sizes, switches, addresses.
//
//   time   = number unit | "0"       unit matches by prefix: "second", "seconds"; week, fortnight, month (30 d), year, decade
//   size   = number unit | "0" | "none" | "-1"     unit: bytes, KB, MB, GB by prefix, powers of 1024
//   integer= decimal, 0x hex or 0 octal
//
// Number and unit are two words. Every reader takes the index of its first
// word, reports what is wrong with that word's place and answers whether `out`
// was set. Pure functions, any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "config/directive.h"

namespace loligo::config {

inline constexpr int64_t kUnlimited = -1;

// `used`, where given, receives how many words the value took.
bool read_duration(const Statement&, size_t first, base::Milliseconds resolution, base::Milliseconds& out, Problems&,
                   size_t* used = nullptr);
// `base_unit`: what a bare number counts, 1 or 1024. With `unit_required` a bare number other than 0 is an error (sizes
// that are followed by ACL names).
bool read_bytes(const Statement&, size_t first, int64_t base_unit, int64_t& out, Problems&, size_t* used = nullptr,
                bool unit_required = false);
bool read_integer(const Statement&, size_t word, int64_t least, int64_t most, int64_t& out, Problems&);
// An integer with an optional '%'.
bool read_percent(const Statement&, size_t word, int64_t most, int64_t& out, Problems&);
bool read_flag(const Statement&, size_t word, bool& out, Problems&);
// An address without port or a host name; "any_addr" and "no_addr" give "".
bool read_address(const Statement&, size_t word, std::string& out, Problems&);

// The whole of `text` as an integer by the rule above.
bool parse_integer(std::string_view text, int64_t& out);
// "host", "1.2.3.4" and "::1": no brackets, no blanks, nothing that no name has.
bool plausible_host(std::string_view text);

// As they would be typed: "2 minutes", "64 KB", "none".
std::string duration_text(base::Milliseconds);
std::string bytes_text(int64_t);

// Reports a missing value; true when the word is there.
bool require_word(const Statement&, size_t word, std::string_view what, Problems&);
// Warns about words after a value that takes none (Squid ignores them without a word).
void warn_surplus(const Statement&, size_t first_surplus, Problems&);
// The raw text of a statement from its word `skip` on, trailing blanks gone; "" when there is none.
std::string_view rest_from_word(const Statement&, size_t skip);
// The raw text up to a word that begins with '#'.
std::string_view rest_without_comment(const Statement&);

}  // namespace loligo::config
