// What looking a request up gave, as X-Cache-Lookup tells it (Squid's words). Why it is forwarded stands in
// http/cache_reason.h.
#pragma once
#include <cstdint>
#include <string_view>

namespace loligo::client {

enum class FoundWord : uint8_t { none, miss, hit };   // no lookup was made; nothing there; there, fresh or stale
inline constexpr unsigned kFoundWords = 3;
inline constexpr std::string_view kFoundTexts[kFoundWords] = {"NONE", "MISS", "HIT"};

}  // namespace loligo::client
