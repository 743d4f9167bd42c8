#include "main_options.h"

#include <fmt/format.h>

#include "base/text.h"
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1.0"
#endif
#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc/loligo"
#endif

namespace loligo {
namespace {

using Set = std::string (*)(MainOptions&, std::string_view value);   // an error, or nothing

std::string set_port(std::string_view value, bool zero_allowed, int& port) {
  auto number = base::parse_decimal<int>(value);
  if (!number || *number > 65535 || (*number == 0 && !zero_allowed)) return fmt::format("'{}' is no port", value);
  port = *number;
  return {};
}

struct ActionRow { std::string_view name; ControlAction action; };
constexpr ActionRow kActions[] = {
    {"reconfigure", ControlAction::reconfigure}, {"rotate", ControlAction::rotate}, {"shutdown", ControlAction::shutdown},
    {"restart", ControlAction::restart}, {"interrupt", ControlAction::interrupt}, {"kill", ControlAction::kill},
    {"debug", ControlAction::debug}, {"check", ControlAction::check}, {"parse", ControlAction::parse},
};

// Whole words, and beginnings that only one action has.
std::string set_action(MainOptions& o, std::string_view value) {
  int found = 0;
  for (const ActionRow& row : kActions) {
    if (value.empty() || !row.name.starts_with(value)) continue;
    o.control = row.action;
    if (row.name == value) return {};
    ++found;
  }
  return found == 1 ? std::string() : fmt::format("'{}' is no action of -k", value);
}

std::string set_service_name(MainOptions& o, std::string_view value) {
  bool good = !value.empty() && value.size() <= 32;
  for (char c : value) good = good && (base::is_digit(c) || (base::ascii_lower(c) >= 'a' && base::ascii_lower(c) <= 'z'));
  o.service_name = value;
  return good ? std::string() : fmt::format("'{}' is no service name: up to 32 letters and digits", value);
}

struct OptionRow {
  std::string_view names;        // letters, and one long name after a blank
  std::string_view value;        // what the value is called; empty = none
  bool MainOptions::*flag;       // for options without a value
  Set set;                       // for the others
  std::string_view text;
};

constexpr OptionRow kOptions[] = {
    {"a", "port", nullptr, [](MainOptions& o, std::string_view v) {
       int port = 0;
       std::string error = set_port(v, false, port);
       if (error.empty()) o.http_ports.push_back(uint16_t(port));
       return error; }, "Also listen for HTTP on this port."},
    {"d", "level", nullptr, [](MainOptions& o, std::string_view v) {
       auto level = base::parse_decimal<int>(v);
       if (!level || *level > 9) return fmt::format("'{}' is no level from 0 to 9", v);
       o.debug_level = *level;
       return std::string(); }, "Write event log lines up to this level to stderr, too."},
    {"f", "file", nullptr, [](MainOptions& o, std::string_view v) { o.config_file = v; return std::string(v.empty() ? "-f needs a file" : ""); },
     "Use this configuration instead of " SYSCONFDIR "/loligo.conf."},
    {"h help", "", &MainOptions::help, nullptr, "Print this text."},
    {"k", "action", nullptr, set_action,
     "reconfigure, rotate, shutdown, restart, interrupt, kill or debug: tell the\n"
     "                 running process. check: say whether one runs. parse: read the\n"
     "                 configuration and report every problem."},
    {"l", "facility", nullptr, [](MainOptions& o, std::string_view v) { o.syslog_facility = v; return std::string(); },
     "Send the event log to this facility of syslog."},
    {"n", "name", nullptr, set_service_name, "Name of the service, for several on one machine."},
    {"s", "", nullptr, [](MainOptions& o, std::string_view) { o.syslog_facility = "daemon"; return std::string(); },
     "Send the event log to syslog."},
    {"u", "port", nullptr, [](MainOptions& o, std::string_view v) { return set_port(v, true, o.icp_port); },
     "ICP port; 0 switches ICP off."},
    {"v version", "", &MainOptions::version, nullptr, "Print version and build options."},
    {"z", "", &MainOptions::create_directories, nullptr, "Create missing cache directories and exit (a start does so, too)."},
    {"C", "", &MainOptions::no_fatal_handlers, nullptr, "Leave fatal signals to the system."},
    {"D", "", nullptr, [](MainOptions&, std::string_view) { return std::string(); }, "Without effect."},
    {"F", "", &MainOptions::wait_for_store, nullptr, "Serve only when the disk store is loaded."},
    {"N", "", &MainOptions::no_daemon, nullptr, "Stay in the foreground, one process, no supervisor."},
    {"R", "", &MainOptions::no_reuse_address, nullptr, "Do not set SO_REUSEADDR on listening ports."},
    {"S", "", &MainOptions::double_check, nullptr, "Check the disk store thoroughly while loading."},
    {"X", "", &MainOptions::full_debug, nullptr, "Log everything from the start."},
    {"Y", "", &MainOptions::miss_nofetch, nullptr, "Answer ICP misses with MISS_NOFETCH while the store loads."},
    {" foreground", "", &MainOptions::foreground, nullptr, "Stay in the foreground with the supervisor."},
    {" print-manual", "", &MainOptions::print_manual, nullptr, "Print the manual of the configuration file."},
};

bool has_letter(const OptionRow& row) { return row.names.front() != ' '; }
std::string_view long_name(const OptionRow& row) {
  size_t blank = row.names.find(' ');
  return blank == row.names.npos ? std::string_view() : row.names.substr(blank + 1);
}

const OptionRow* find_letter(char letter) {
  for (const OptionRow& row : kOptions)
    if (has_letter(row) && row.names.front() == letter) return &row;
  return nullptr;
}
const OptionRow* find_long(std::string_view name) {
  for (const OptionRow& row : kOptions)
    if (!name.empty() && long_name(row) == name) return &row;
  return nullptr;
}

std::string apply(const OptionRow& row, MainOptions& options, std::string_view value) {
  if (row.flag) options.*row.flag = true;
  return row.set ? row.set(options, value) : std::string();
}

}  // namespace

MainOptionsResult parse_main_options(std::span<const char* const> arguments) {
  MainOptionsResult result;
  auto& error = result.error;
  for (size_t i = 0; i < arguments.size() && error.empty(); ++i) {
    std::string_view word = arguments[i];
    if (word.size() < 2 || word[0] != '-') {
      error = fmt::format("'{}' is no option", word);
    } else if (word[1] == '-') {
      const OptionRow* row = find_long(word.substr(2));
      error = row ? apply(*row, result.options, {}) : fmt::format("unknown option {}", word);
    } else {
      for (size_t at = 1; at < word.size() && error.empty(); ++at) {
        const OptionRow* row = find_letter(word[at]);
        if (!row) {
          error = fmt::format("unknown option -{}", word[at]);
        } else if (row->value.empty()) {
          error = apply(*row, result.options, {});
        } else {
          bool attached = at + 1 < word.size();
          if (!attached && ++i >= arguments.size()) error = fmt::format("-{} needs a {}", word[at], row->value);
          else error = apply(*row, result.options, attached ? word.substr(at + 1) : std::string_view(arguments[i]));
          break;
        }
      }
    }
  }
  return result;
}

std::string usage_line() {
  std::string letters, rest;
  for (const OptionRow& row : kOptions) {
    if (!has_letter(row)) rest += fmt::format(" [--{}]", long_name(row));
    else if (row.value.empty()) letters += row.names.front();
    else rest += fmt::format(" [-{} {}]", row.names.front(), row.value);
  }
  return fmt::format("Usage: loligo [-{}]{}\n", letters, rest);
}

std::string help_text() {
  std::string out = usage_line() + "\n";
  for (const OptionRow& row : kOptions) {
    std::string names = has_letter(row) ? fmt::format("-{}", row.names.front()) : std::string();
    if (auto name = long_name(row); !name.empty()) names += fmt::format("{}--{}", names.empty() ? "" : ", ", name);
    if (!row.value.empty()) names += fmt::format(" {}", row.value);
    out += fmt::format("  {:<14} {}\n", names, row.text);
  }
  return out;
}

std::string_view package_version() { return PACKAGE_VERSION; }

std::string version_text(std::string_view service_name) {
  std::string out = fmt::format("Loligo: Version {}\nService Name: {}\n", package_version(), service_name);
#ifdef LOLIGO_CONFIGURE_ARGUMENTS
  out += "configure options: " LOLIGO_CONFIGURE_ARGUMENTS "\n";
#else
  out += "build options: compiler " __VERSION__ ", configuration in " SYSCONFDIR "\n";
#endif
  return out;
}

}  // namespace loligo
