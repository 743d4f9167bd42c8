#include "helpers/client_ping.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "helpers/client_exchange.h"

namespace loligo::helpers {
namespace {

volatile sig_atomic_t interrupted = 0;
void on_signal(int) { interrupted = 1; }

std::string time_text() {
  char text[32];
  time_t now = time(nullptr);
  struct tm local;
  localtime_r(&now, &local);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace

void PingSummary::add(int64_t milliseconds) {
  least = requests ? std::min(least, milliseconds) : milliseconds;
  most = std::max(most, milliseconds);
  sum += milliseconds;
  ++requests;
}

std::string PingSummary::text() const {
  double average = requests ? double(sum) / requests : 0;
  return fmt::format("{} requests, round-trip (secs) min/avg/max = {:.3f}/{:.3f}/{:.3f}", requests, double(least) / 1000,
                     average / 1000, double(most) / 1000);
}

int ping(const ClientOptions& options) {
  using Clock = std::chrono::steady_clock;
  struct sigaction action{};
  action.sa_handler = on_signal;  // without SA_RESTART: the pause ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  PingSummary summary;
  int worst = 0;
  for (unsigned i = 1; !interrupted && (options.ping_count == 0 || i <= options.ping_count); ++i) {
    auto start = Clock::now();
    Exchange e = exchange(options, nullptr);
    int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    worst = std::max(worst, exit_code(e));
    if (!e.error.empty()) {
      fmt::print(stderr, "ERROR: {}\n", e.error);
    } else {
      summary.add(ms);
      // The rate is unknown (-1) when no whole millisecond passed.
      fmt::print(stderr, "{} [{}]: {:.3f} secs, {:f} KB/s\n", time_text(), i, double(ms) / 1000, ms ? double(e.reply_bytes) / double(ms) : -1.0);
    }
    bool last = options.ping_count != 0 && i == options.ping_count;
    if (!last && !interrupted) {
      timespec pause{time_t(options.ping_interval_seconds), 0};
      nanosleep(&pause, nullptr);
    }
  }
  if (summary.requests) fmt::print(stderr, "\n{}\n", summary.text());
  return summary.requests || worst ? worst : 1;
}

}  // namespace loligo::helpers
