// The table of logformat codes: each with the one function that fetches its
// value from a record. What a code means stands here and nowhere else.
// Private to the log room.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "log/format.h"

namespace loligo::log {

enum class Kind : uint8_t {
  text,          // empty = "-"
  number,        // kNone = "-"
  milliseconds,  // a duration in microseconds, kNone or negative = "-"; `max` digits of fraction
  subsecond,     // of a time in microseconds: milliseconds, or `max` digits
  timestamp,     // seconds with fraction, three digits unless `max` says otherwise
  local_date,    // strftime, the argument is its format
  utc_date,
};

enum class Support : uint8_t {
  full,
  later,     // known, prints "-", warns
  obsolete,  // Squid has dropped it: prints "-" or its successor, warns
};

inline constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

struct Fetch {
  const Item& item;
  const RenderOptions& options;
  Buffer& scratch;  // empty; for values that are put together
};

struct Code {
  std::string_view name;
  Kind kind = Kind::text;
  int64_t (*number)(const Record&) = nullptr;
  std::string_view (*text)(const Record&, Fetch&) = nullptr;
  Encoding plain = Encoding::token;  // where the definition asks for none: token or url
  bool one_word = false;             // blanks are escaped in brackets too
  bool takes_field = false;          // the argument is NAME[:[separator]element]
  Support support = Support::full;
};

std::span<const Code> codes();
// The code with the longest name that `text` begins with, or null. `length` gets the bytes it takes, a namespace included.
const Code* find_code(std::string_view text, size_t& length);

// Shared with the native format.
inline constexpr size_t kMaxTag = 64;       // room for write_tag and write_hierarchy
char* write_tag(const Record&, char* out);  // TCP_CF_MISS_ABORTED
char* write_hierarchy(const Record&, char* out);
std::string_view logged_url(const Record&, const RenderOptions&);
net::Address masked_client(const Record&, const RenderOptions&);
std::string_view media_type(std::string_view content_type);

}  // namespace loligo::log
