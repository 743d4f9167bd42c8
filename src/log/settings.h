// What squid.conf says to the log room: access logs and their formats, the
// event log, rotation. Plain data, immutable once loaded; any thread.
// access_log conditions stay as written: the access room compiles them.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/event_log.h"
#include "config/directive.h"
#include "log/format.h"
#include "log/target.h"

namespace loligo::log {

struct FormatSetting {
  std::string name, definition;
  Format format;
};

// One access_log line. Its index in Settings::access_logs is what WorkerLog::log() asks about.
struct AccessLogSetting {
  Target target;
  std::string format_name = "squid";
  Format format;
  size_t buffer_bytes = 64 * 1024;  // lines are handed over when so many bytes have gathered; 0 = each at once
  int rotate = -1;                  // -1 = as logfile_rotate says
  // A file that cannot be written ends the process, unless it is `drop`; with `die`, each lost line does.
  enum class OnError : unsigned char { unset, die, drop } on_error = OnError::unset;
  config::Statement statement;
  size_t first_acl = 0;             // the words of `statement` from here on are "[!]acl ..."
  bool conditional() const { return first_acl < statement.words.size(); }
};

struct EventLogSetting {
  std::string path;                                     // cache_log; empty = none
  std::array<signed char, base::kSections> levels;      // by section
  int rotate = -1;                                      // debug_options rotate=N
  std::string options;                                  // debug_options as typed
  EventLogSetting() { levels.fill(1); }
};

struct Settings {
  std::vector<FormatSetting> formats;
  std::vector<AccessLogSetting> access_logs;
  EventLogSetting event_log;
  Target store_log{.kind = Target::Kind::none};        // cache_store_log
  int logfile_rotate = 10;
  bool strip_query_terms = true, log_mime_hdrs = false, buffered_logs = false;
  std::string client_netmask;  // an address; empty = clients are logged in full
  RenderOptions render_options() const;
};

std::span<const config::Directive> directives();

// debug_options: "ALL,1 28,3 rotate=N", also for -d and -X. Tells what it does not understand.
void parse_debug_options(std::string_view text, EventLogSetting&, std::vector<std::string>& complaints);

}  // namespace loligo::log
