// HTTP-date (RFC 9110 section 5.6.7): the three formats, strict.
#pragma once
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace loligo::http {

// `now` decides the century of the two-digit year form. nullopt = not a date (for Expires: already expired).
std::optional<base::WallSeconds> parse_date(std::string_view, base::WallSeconds now);
inline constexpr size_t kDateLength = 29;
// "Sun, 06 Nov 1994 08:49:37 GMT" into out[29].
void format_date(base::WallSeconds, char* out);

}  // namespace loligo::http
