// sources: src/http/*.cc
// Every date that is read is written and read back as the same second.
#include <cstring>
#include <string>

#include "http/date.h"
#include "test-suite/fuzz/check.h"

using namespace loligo;
using namespace loligo::http;

namespace {

constexpr base::WallSeconds kLastSecond = 253402300799;  // of year 9999
constexpr base::WallSeconds kFirstSecond = -62167219200;  // of year 0

void check_round_trip(base::WallSeconds when, base::WallSeconds now) {
  char out[kDateLength];
  format_date(when, out);
  std::optional<base::WallSeconds> again = parse_date({out, kDateLength}, now);
  FUZZ_CHECK(again.has_value());
  if (when >= kFirstSecond && when <= kLastSecond) FUZZ_CHECK(*again == when);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  int64_t number;
  std::memcpy(&number, data, 8);
  std::string text(reinterpret_cast<const char*>(data + 8), size - 8);
  base::WallSeconds now = number % (kLastSecond / 2);
  if (now < 0) now = -now;
  check_round_trip(number, now);
  if (std::optional<base::WallSeconds> when = parse_date(text, now)) {
    FUZZ_CHECK(*when >= kFirstSecond && *when <= kLastSecond + 1);
    if (*when <= kLastSecond) check_round_trip(*when, now);
  }
  return 0;
}
