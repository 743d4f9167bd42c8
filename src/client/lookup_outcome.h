// What looking a request up gave, and so why it is forwarded: each outcome once,
// with its word in X-Cache-Lookup (Squid's), in Cache-Status (fwd= of RFC 9211
// section 2.2) and in the access log (%loligo::reason).
#pragma once
#include <cstdint>
#include <string_view>

namespace loligo::client {

enum class FoundWord : uint8_t { none, miss, hit };   // no lookup was made; nothing there; there, fresh or stale
inline constexpr unsigned kFoundWords = 3;
inline constexpr std::string_view kFoundTexts[kFoundWords] = {"NONE", "MISS", "HIT"};

//  X(enumerator, X-Cache-Lookup, fwd=, reason)
#define LOLIGO_LOOKUP_OUTCOMES(X)                          \
  X(none, none, "bypass", "")                              \
  X(method, none, "method", "method")                      \
  X(request_body, none, "bypass", "request-body")          \
  X(cache_rule, none, "bypass", "cache-rule")              \
  X(absent, miss, "uri-miss", "uri-miss")                  \
  X(other_variant, miss, "vary-miss", "vary-miss")         \
  X(withheld, hit, "bypass", "send-hit-rule")              \
  X(reload, hit, "request", "reload")                      \
  X(stale, hit, "stale", "stale")                          \
  X(fresh, hit, "", "")

enum class LookupOutcome : uint8_t {
#define X(id, found, forward, reason) id,
  LOLIGO_LOOKUP_OUTCOMES(X)
#undef X
};

struct LookupOutcomeRow { FoundWord found; std::string_view forward, reason; };
inline constexpr LookupOutcomeRow kLookupOutcomes[] = {
#define X(id, found, forward, reason) {FoundWord::found, forward, reason},
    LOLIGO_LOOKUP_OUTCOMES(X)
#undef X
};
inline constexpr const LookupOutcomeRow& describe(LookupOutcome outcome) { return kLookupOutcomes[unsigned(outcome)]; }

}  // namespace loligo::client
