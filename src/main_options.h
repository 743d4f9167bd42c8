// The command line: the letters that Squid's init scripts and units use, as a
// plain struct. Nothing is done here but reading.
//
//   loligo [-hvzCDFNRSXYs] [-a port] [-d level] [-f file] [-k action] [-l facility]
//          [-n name] [-u port] [--foreground] [--help] [--version] [--print-manual]
//
// Letters combine ("-sYC", "-NYCd1"), a value may be attached or the next word.
// Pure functions, any thread; errors are one line.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loligo {

// What -k asks for. check and parse send nothing.
enum class ControlAction : unsigned char {
  none, reconfigure, rotate, shutdown, restart, interrupt, kill, debug, check, parse,
};

struct MainOptions {
  std::string config_file;                 // -f; empty = the installed one
  ControlAction control = ControlAction::none;  // -k
  std::vector<uint16_t> http_ports;        // -a, beside those of the configuration
  int icp_port = -1;                       // -u; 0 = disabled, -1 = as configured
  int debug_level = -1;                    // -d: event log lines up to this level also to stderr; -1 = none
  std::string service_name = "loligo";     // -n
  std::string syslog_facility;             // -l, or "daemon" by -s; empty = no syslog
  bool create_directories = false;         // -z
  bool no_daemon = false;                  // -N: no supervisor, no daemon
  bool foreground = false;                 // --foreground: the supervisor stays
  bool wait_for_store = false;             // -F
  bool full_debug = false;                 // -X
  bool double_check = false;               // -S
  bool no_reuse_address = false;           // -R
  bool miss_nofetch = false;               // -Y
  bool no_fatal_handlers = false;          // -C
  bool help = false, version = false, print_manual = false;
};

struct MainOptionsResult {
  MainOptions options;
  std::string error;   // one line; empty = fine. Otherwise print it and usage_line(), exit 1.
};

// `arguments` without the program's name.
MainOptionsResult parse_main_options(std::span<const char* const> arguments);

std::string usage_line();     // "Usage: loligo [-...] ..."
std::string help_text();      // --help
std::string version_text(std::string_view service_name);   // -v

std::string_view package_version();   // "0.1.0"

}  // namespace loligo
