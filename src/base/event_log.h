// The front end of the event log (cache.log): any room may say something, the
// log room decides where it goes. Sections and levels follow debug_options:
// level 0 = must be seen, 1 = important (default threshold), 2-9 = detail.
// Any thread. Arguments are formatted only when the level is enabled.
#pragma once
#include <fmt/format.h>

#include <atomic>
#include <string_view>

namespace loligo::base {

// Squid's section numbers where users know them (debug_options "ALL,1 28,3").
enum class Section : unsigned char {
  main = 1, config = 3, comm = 5, storage = 20, http_server = 11, manager = 16, neighbors = 15, forwarding = 17,
  access = 28, client = 33, dns = 78, log = 46, tunnel = 26, tls = 83, error_pages = 4,
};
inline constexpr unsigned kSections = 100;

// Receives one finished line without its newline; set once at start by main, must be thread-safe and never block.
using EventSink = void (*)(Section, int level, std::string_view line);

struct EventLogState {
  std::atomic<EventSink> sink{nullptr};  // null = standard error
  std::atomic<signed char> level[kSections];
};
EventLogState& event_log_state();
void write_event(Section, int level, std::string_view line);

inline bool event_enabled(Section section, int level) {
  return level <= event_log_state().level[unsigned(section)].load(std::memory_order_relaxed);
}

template <class... Args>
void log_event(Section section, int level, fmt::format_string<Args...> format, Args&&... args) {
  if (event_enabled(section, level)) write_event(section, level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace loligo::base
