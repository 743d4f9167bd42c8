#include "mgr/history.h"

#include <algorithm>

namespace loligo::mgr {
namespace {

constexpr int64_t kMinute = 60'000'000, kHour = 60 * kMinute;   // microseconds
constexpr size_t kMinutes = 61, kHours = 73;                    // an hour, three days, and their starting points

constexpr base::Histogram decltype(base::Counters::service_time)::*kHistograms[] = {
#define X(field, name) &decltype(base::Counters::service_time)::field,
    LOLIGO_SERVICE_TIMES(X)
#undef X
};

void keep(std::deque<Totals>& ring, const Totals& now, int64_t interval, size_t most) {
  if (!ring.empty() && now.at.steady_us - ring.back().at.steady_us < interval) return;
  ring.push_back(now);
  if (ring.size() > most) ring.pop_front();
}

}  // namespace

Totals sum(std::span<const base::Counters* const> workers, const OtherCounters& other, const Times& at) {
  Totals totals;
  static_cast<OtherCounters&>(totals) = other;
  totals.at = at;
  for (const base::Counters* worker : workers) {
#define X(field, name, help) totals.field += worker->field.get();
    LOLIGO_COUNTERS(X)
#undef X
    for (unsigned kind = 0; kind < unsigned(ServiceTime::count_); ++kind)
      for (unsigned i = 0; i < base::Histogram::kBuckets; ++i)
        totals.service_times[kind][i] += uint32_t((worker->service_time.*kHistograms[kind]).count(i));
  }
  return totals;
}

uint64_t Window::count(ServiceTime kind) const {
  uint64_t all = 0;
  for (unsigned i = 0; i < base::Histogram::kBuckets; ++i)
    all += uint32_t(to->service_times[unsigned(kind)][i] - from->service_times[unsigned(kind)][i]);
  return all;
}

double Window::percentile(ServiceTime kind, unsigned percent) const {
  double wanted = double(count(kind)) * percent / 100, before = 0;
  if (wanted <= 0) return 0;
  for (unsigned i = 0; i < base::Histogram::kBuckets; ++i) {
    double here = uint32_t(to->service_times[unsigned(kind)][i] - from->service_times[unsigned(kind)][i]);
    if (here > 0 && before + here >= wanted) {
      double low = double(base::Histogram::lower_bound(i)), high = double(base::Histogram::lower_bound(i + 1));
      return (low + (high - low) * (wanted - before) / here) / 1e6;
    }
    before += here;
  }
  return 0;
}

void History::tick(const Totals& now) {
  keep(minutes_, now, kMinute, kMinutes);
  keep(hours_, now, kHour, kHours);
}

double History::seconds_to_next(const Times& now) const {
  return minutes_.empty() ? 0 : double(std::max<int64_t>(minutes_.back().at.steady_us + kMinute - now.steady_us, 0)) / 1e6;
}

// The youngest snapshot that is at least `minutes` old (a second of slack: ticks are not exact), or the oldest.
const Totals* History::find(unsigned minutes, const Totals& now, bool whole) const {
  const std::deque<Totals>& ring = minutes <= 60 ? minutes_ : hours_;
  for (auto it = ring.rbegin(); it != ring.rend(); ++it)
    if (now.at.steady_us - it->at.steady_us >= minutes * kMinute - 1'000'000) return &*it;
  return whole || ring.empty() ? nullptr : &ring.front();
}

Window History::recent(unsigned minutes, const Totals& now) const {
  const Totals* from = find(minutes, now, false);
  return {from ? from : &now, &now};
}

Window History::complete(unsigned minutes, const Totals& now) const { return {find(minutes, now, true), &now}; }

}  // namespace loligo::mgr
