// Counters over time: sums over the workers, a ring of snapshots, and what
// happened between two of them.
// One thread (the manager's). Bounded: 61 minutes and 73 hours of about 8 KB.
#pragma once
#include <array>
#include <deque>
#include <span>

#include "mgr/sources.h"

namespace loligo::mgr {

enum class ServiceTime : unsigned char {
#define X(field, name) field,
  LOLIGO_SERVICE_TIMES(X)
#undef X
  count_,
};
inline constexpr std::string_view kServiceTimeNames[] = {
#define X(field, name) name,
    LOLIGO_SERVICE_TIMES(X)
#undef X
};

// 32 bits a bucket: differences are right as long as fewer than 2^32 fall into one within a window.
using Buckets = std::array<uint32_t, base::Histogram::kBuckets>;

// Everything counted so far, at one moment.
struct Totals : OtherCounters {
#define X(field, name, help) uint64_t field = 0;
  LOLIGO_COUNTERS(X)
#undef X
  Times at;
  std::array<Buckets, unsigned(ServiceTime::count_)> service_times{};
};
using TotalsField = uint64_t Totals::*;
Totals sum(std::span<const base::Counters* const> workers, const OtherCounters&, const Times&);

// Between two snapshots.
struct Window {
  const Totals* from = nullptr;
  const Totals* to = nullptr;
  double seconds() const { return double(to->at.steady_us - from->at.steady_us) / 1e6; }
  uint64_t change(TotalsField field) const { return to->*field - from->*field; }
  double per_second(double amount) const { double s = seconds(); return s > 0 ? amount / s : 0; }
  // In seconds; 0 without any. Linear within a bucket.
  double percentile(ServiceTime, unsigned percent) const;
  uint64_t count(ServiceTime) const;
  double cpu_seconds() const { return double(to->at.cpu_us - from->at.cpu_us) / 1e6; }
};

class History {
 public:
  // Called once a second or once a minute, and at the start; keeps what is due.
  void tick(const Totals& now);

  double seconds_to_next(const Times& now) const;   // until tick() keeps another minute

  // The last `minutes` up to `now`, or what there is of them; nothing yet = an empty window from now to now.
  Window recent(unsigned minutes, const Totals& now) const;
  // The same, but only if it is all there: null `from` otherwise.
  Window complete(unsigned minutes, const Totals& now) const;

 private:
  const Totals* find(unsigned minutes, const Totals& now, bool whole) const;
  std::deque<Totals> minutes_, hours_;   // oldest first
};

}  // namespace loligo::mgr
