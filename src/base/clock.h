// Two clocks. Steady time decides every timeout; wall time appears only in HTTP
// dates and logs. Code under test takes times as arguments; only the loop and
// main ask the system.
#pragma once
#include <chrono>
#include <cstdint>

namespace loligo::base {

using Milliseconds = std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;
using WallSeconds = int64_t;        // seconds since 1970-01-01 UTC
using WallMicroseconds = int64_t;   // microseconds since 1970-01-01 UTC

inline WallMicroseconds wall_now_microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace loligo::base
