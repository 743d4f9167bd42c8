#include "base/event_log.h"

#include <unistd.h>

namespace loligo::base {

EventLogState& event_log_state() {
  static EventLogState state;
  static const bool initialised = [] {
    for (auto& level : state.level) level.store(1, std::memory_order_relaxed);
    return true;
  }();
  (void)initialised;
  return state;
}

void write_event(Section section, int level, std::string_view line) {
  if (EventSink sink = event_log_state().sink.load(std::memory_order_acquire)) {
    sink(section, level, line);
    return;
  }
  std::string text(line);
  text += '\n';
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace loligo::base
