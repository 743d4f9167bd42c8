// The event log (cache.log): takes what base::log_event() is given, adds the
// time, and hands it to the writer; what is important also goes to standard
// error when somebody is watching there.
//
//   2026/11/30 10:51:11| Accepting connections at 127.0.0.1:3128
//   2026/11/30 10:51:11.042| 28,3| allow at loligo.conf:12
//
// Lines above level 1 tell section and level. Owner: main; the sink is called
// on any thread and never waits for I/O.
#pragma once
#include <string>
#include <vector>

#include "log/settings.h"
#include "log/writer.h"

namespace loligo::log {

class EventLog {
 public:
  explicit EventLog(Writer&);
  ~EventLog();  // later events go straight to standard error
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // At start and at each reconfigure. `stderr_level`: of the events that debug_options lets through, those up to this level
  // are copied to standard error, -1 = none (Squid's -d N; 1 in the foreground). False when the file cannot be opened: why stands in `failures`, and events go to
  // standard error until it can.
  bool apply(const EventLogSetting&, int stderr_level, std::vector<std::string>& failures);

 private:
  static void sink(base::Section, int level, std::string_view line);
  void write(base::Section, int level, std::string_view line);

  Writer& writer_;
  DestinationPtr file_, standard_error_;
  int stderr_level_ = -1;
  // The text of the current second.
  int64_t second_ = -1;
  std::string date_, line_;
};

}  // namespace loligo::log
