// Ping mode: the same request again and again, timed.
// One thread; a SIGINT or SIGTERM ends it with the summary.
#pragma once
#include "helpers/client_options.h"

namespace loligo::helpers {

// Round-trip times in milliseconds.
struct PingSummary {
  unsigned requests = 0;
  int64_t least = 0, most = 0, sum = 0;
  void add(int64_t milliseconds);
  std::string text() const;   // "3 requests, round-trip (secs) min/avg/max = 0.000/0.001/0.002"
};

// The exit code of the worst reply.
int ping(const ClientOptions&);

}  // namespace loligo::helpers
