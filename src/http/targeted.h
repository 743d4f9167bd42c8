// CDN-Cache-Control (RFC 9213): what an origin says to the caches in front of it,
// in the place of Cache-Control and Expires. A dictionary of structured fields
// (RFC 8941), read strictly: one with an error in it is no field at all.
//
// Pure code; any thread. Times in seconds.
#pragma once
#include <optional>

#include "http/cache_control.h"

namespace loligo::http {

// What to follow in the place of Cache-Control and Expires; null where the field is absent, empty or invalid.
// A directive whose value is of another type than its definition's makes the field invalid too (section 2.1).
// The views lie in `bytes`.
std::optional<ResponseCacheControl> targeted_cache_control(const Head& response, const char* bytes);

}  // namespace loligo::http
