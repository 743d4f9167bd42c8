#include "log/target.h"

#include <syslog.h>

#include "base/text.h"

namespace loligo::log {
namespace {

struct SyslogName { std::string_view name; int value; bool facility; };
constexpr SyslogName kSyslogNames[] = {
    {"authpriv", LOG_AUTHPRIV, true}, {"auth", LOG_AUTH, true},     {"cron", LOG_CRON, true},     {"daemon", LOG_DAEMON, true},
    {"ftp", LOG_FTP, true},           {"kern", LOG_KERN, true},     {"lpr", LOG_LPR, true},       {"mail", LOG_MAIL, true},
    {"news", LOG_NEWS, true},         {"syslog", LOG_SYSLOG, true}, {"user", LOG_USER, true},     {"uucp", LOG_UUCP, true},
    {"local0", LOG_LOCAL0, true},     {"local1", LOG_LOCAL1, true}, {"local2", LOG_LOCAL2, true}, {"local3", LOG_LOCAL3, true},
    {"local4", LOG_LOCAL4, true},     {"local5", LOG_LOCAL5, true}, {"local6", LOG_LOCAL6, true}, {"local7", LOG_LOCAL7, true},
    {"emerg", LOG_EMERG, false},      {"alert", LOG_ALERT, false},  {"crit", LOG_CRIT, false},    {"err", LOG_ERR, false},
    {"error", LOG_ERR, false},        {"warning", LOG_WARNING, false}, {"notice", LOG_NOTICE, false}, {"info", LOG_INFO, false},
    {"debug", LOG_DEBUG, false},
};

// "local4.info", either part alone, "LOG_LOCAL4|LOG_INFO".
bool parse_priority(std::string_view text, int& priority, std::string& why) {
  int facility = LOG_DAEMON, severity = LOG_INFO;
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(".|"), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (base::istarts_with(word, "LOG_")) word.remove_prefix(4);
    bool known = false;
    for (const SyslogName& row : kSyslogNames)
      if (base::iequals(row.name, word)) (row.facility ? facility : severity) = row.value, known = true;
    if (!known) {
      why = "'" + std::string(word) + "' is no syslog facility or priority";
      return false;
    }
  }
  priority = facility | severity;
  return true;
}

bool parse_host_port(std::string_view text, Target& target, std::string& why) {
  if (text.starts_with("//")) text.remove_prefix(2);
  size_t colon = text.rfind(':');
  uint16_t port = base::parse_decimal<uint16_t>(colon == text.npos ? std::string_view() : text.substr(colon + 1)).value_or(0);
  std::string_view host = text.substr(0, std::min(colon, text.size()));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (port == 0 || host.empty() || host.find_first_of("[]/") != host.npos) {
    why = "'" + std::string(text) + "' is not HOST:PORT";
    return false;
  }
  target.host = host;
  target.port = port;
  return true;
}

}  // namespace

std::optional<Target> parse_target(std::string_view word, std::string& why) {
  Target target;
  target.place = word;
  auto after = [word](std::string_view prefix) { return word.substr(prefix.size()); };
  if (word == "none") {
    target.kind = Target::Kind::none;
  } else if (word == "syslog" || word.starts_with("syslog:")) {
    target.kind = Target::Kind::syslog;
    target.path = "/dev/log";
    if (!parse_priority(word == "syslog" ? std::string_view() : after("syslog:"), target.priority, why)) return std::nullopt;
  } else if (word.starts_with("udp:") || word.starts_with("tcp:")) {
    target.kind = word.starts_with("udp:") ? Target::Kind::udp : Target::Kind::tcp;
    if (!parse_host_port(after("udp:"), target, why)) return std::nullopt;
  } else {
    if (word.starts_with("stdio:")) target.path = after("stdio:");
    else if (word.starts_with("daemon:")) target.path = after("daemon:");
    else target.path = word;
    if (target.path.empty()) {
      why = "the name of a file is missing";
      return std::nullopt;
    }
    target.place = target.path;  // "stdio:" and "daemon:" are one file written by one thread
  }
  return target;
}

}  // namespace loligo::log
