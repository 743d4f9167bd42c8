// Surrogate-Control (Edge Architecture Specification 1.0): what an origin says to
// the accelerator in front of it alone, in the place of Cache-Control.
//
//   Surrogate-Control = #( directive [ ";" surrogate-id ] )
//   directive         = "no-store" | "no-store-remote" | "max-age=" seconds [ "+" seconds ] | "content=" quoted-string
//
// Plain code; any thread. Times in seconds.
#pragma once
#include <optional>
#include <string>

#include "http/cache_control.h"

namespace loligo::http {

struct Surrogate {
  std::string id;        // httpd_accel_surrogate_id: what a directive may be addressed to
  bool remote = false;   // http_accel_surrogate_remote: no-store-remote is meant for us
};

// What to follow in the place of Cache-Control; null when nothing in the head is for this surrogate. A directive that is
// addressed to it counts more than one for all. What follows "+" in max-age is how long the stale may be served while
// it is validated. A malformed max-age is 0.
std::optional<ResponseCacheControl> surrogate_cache_control(const Head& response, const char* bytes, const Surrogate&);

}  // namespace loligo::http
