// The log room's directives (squid-conf names, defaults and meaning).
#include "log/settings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "config/bind.h"

namespace loligo::log {
namespace {

using config::Directive;
using config::Problems;
using config::Statement;

// The place of byte `offset` of a format definition: in its n-th word.
config::Place place_of(const Statement& statement, std::string_view definition, size_t offset) {
  size_t word = 1, start = 0;
  bool in_word = false;
  for (size_t i = 0; i < std::min(offset + 1, definition.size()); ++i) {
    bool blank = base::is_ows(definition[i]);
    if (!blank && !in_word) start = i, word += i > 0;
    in_word = !blank;
  }
  config::Place place = statement.at(word);
  if (word < statement.words.size()) place.column += int(offset - start);
  return place;
}

// A definition that stands in one pair of quotes as a whole is what the quotes hold.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'') || text.back() != text[0]) return std::string(text);
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == text[0]) return std::string(text);
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

void parse_logformat(const Statement& s, void* settings, Problems& problems) {
  if (!config::require_word(s, 0, "the name of the format", problems)) return;
  std::string raw(config::rest_from_word(s, 1));
  if (raw.empty()) return problems.error(s.place, "logformat " + s.words[0].text + " has no definition");
  std::string definition = unquoted(raw);
  size_t shift = definition.size() == raw.size() ? 0 : 1;
  std::vector<FormatNote> notes;
  auto format = Format::compile(definition, notes);
  for (FormatNote& note : notes) {
    config::Place place = place_of(s, raw, note.offset + shift);
    if (note.error) problems.error(place, std::move(note.message), std::move(note.fix));
    else problems.warning(place, std::move(note.message), std::move(note.fix));
  }
  // A broken format stays known, so that the access_log lines that use it are not reported as well.
  static_cast<Settings*>(settings)->formats.push_back({s.words[0].text, definition, format ? std::move(*format) : Format()});
}

void dump_logformat(const Directive& self, const void* settings, std::string& out) {
  for (const FormatSetting& f : static_cast<const Settings*>(settings)->formats)
    out.append(self.name).append(" ").append(f.name).append(" ").append(f.definition).append("\n");
}

// The user's own formats first: old files define squid, common and combined again.
bool choose_format(const Settings& settings, std::string_view name, AccessLogSetting& log) {
  for (auto f = settings.formats.rbegin(); f != settings.formats.rend(); ++f)
    if (f->name == name) {
      log.format = f->format;
      log.format_name = name;
      return true;
    }
  auto builtin = Format::builtin(name == "auto" ? "squid" : name);
  if (!builtin) return false;
  log.format = std::move(*builtin);
  log.format_name = name;
  return true;
}

struct OptionContext {
  const Statement& statement;
  size_t word;
  const Settings& settings;
  Problems& problems;
  void error(std::string message, std::string fix = {}) const {
    problems.error(statement.at(word), std::move(message), std::move(fix));
  }
};

void set_format(AccessLogSetting& log, std::string_view value, const OptionContext& c) {
  if (!choose_format(c.settings, value, log))
    c.error(fmt::format("log format '{}' is not defined", value), fmt::format("put \"logformat {} ...\" before this line", value));
}

// "64KB", "1MB", bare bytes.
void set_buffer_size(AccessLogSetting& log, std::string_view value, const OptionContext& c) {
  size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  auto number = base::parse_decimal<uint32_t>(value.substr(0, digits));
  std::string unit = base::to_lower(value.substr(digits));
  uint64_t scale = unit.empty() || unit == "bytes" ? 1 : unit == "kb" ? 1024 : unit == "mb" ? 1024 * 1024 : 0;
  constexpr uint64_t kMost = 1024 * 1024;
  if (!number || scale == 0) return c.error(fmt::format("'{}' is not a size", value), "for instance buffer-size=64KB");
  log.buffer_bytes = size_t(std::min(*number * scale, kMost));
}

void set_on_error(AccessLogSetting& log, std::string_view value, const OptionContext& c) {
  if (value != "die" && value != "drop") return c.error(fmt::format("on-error={} is unknown", value), "on-error=drop");
  log.on_error = value == "die" ? AccessLogSetting::OnError::die : AccessLogSetting::OnError::drop;
}

void set_rotate(AccessLogSetting& log, std::string_view value, const OptionContext& c) {
  auto number = base::parse_decimal<uint16_t>(value);
  if (!number || *number > 1000) return c.error(fmt::format("rotate={} is not a number up to 1000", value));
  log.rotate = *number;
}

struct Option {
  std::string_view key;
  void (*set)(AccessLogSetting&, std::string_view value, const OptionContext&);
};
constexpr Option kOptions[] = {
    {"logformat", set_format}, {"buffer-size", set_buffer_size}, {"on-error", set_on_error}, {"rotate", set_rotate}};

// True when the word was key=value.
bool parse_option(AccessLogSetting& log, const OptionContext& c) {
  const std::string& word = c.statement.words[c.word].text;
  size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  for (const Option& option : kOptions)
    if (option.key == std::string_view(word).substr(0, equals)) {
      option.set(log, std::string_view(word).substr(equals + 1), c);
      return true;
    }
  c.error(fmt::format("'{}' is no option of access_log", word.substr(0, equals)),
          "logformat=, buffer-size=, on-error= or rotate=; if it is the name of an acl, put 'all' before it");
  return true;
}

// As in Squid the name of a file, however much it looks like a place that does not exist.
void warn_of_odd_name(const Statement& s, const Target& target, Problems& problems) {
  size_t colon = target.path.find(':');
  if (target.kind != Target::Kind::file || colon == target.path.npos || target.path.find('/') < colon) return;
  problems.warning(s.at(0), fmt::format("'{}' is taken for the name of a file", target.path),
                   "stdio:FILE, daemon:FILE, syslog:FACILITY.PRIORITY, udp://HOST:PORT and tcp://HOST:PORT are the places there are");
}

void parse_access_log(const Statement& s, void* data, Problems& problems) {
  Settings& settings = *static_cast<Settings*>(data);
  if (!config::require_word(s, 0, "where the log goes", problems)) return;
  AccessLogSetting log;
  std::string why;
  auto target = parse_target(s.words[0].text, why);
  if (!target) return problems.error(s.at(0), "access_log: " + why, "for instance stdio:/var/log/loligo/access.log");
  warn_of_odd_name(s, *target, problems);
  log.target = std::move(*target);
  log.statement = s;
  log.first_acl = 1;
  choose_format(settings, "squid", log);
  if (log.target.kind != Target::Kind::none) {
    size_t word = 1;
    while (word < s.words.size() && parse_option(log, {s, word, settings, problems})) ++word;
    // The old form: the format's name, if it is one, without "logformat=".
    if (word == 1 && word < s.words.size() && choose_format(settings, s.words[word].text, log)) ++word;
    log.first_acl = word;
  }
  settings.access_logs.push_back(std::move(log));
}

void dump_access_log(const Directive& self, const void* settings, std::string& out) {
  for (const AccessLogSetting& log : static_cast<const Settings*>(settings)->access_logs)
    config::dump_line(self, config::rest_without_comment(log.statement), out);
}

void parse_cache_log(const Statement& s, void* data, Problems& problems) {
  if (!config::require_word(s, 0, "the name of a file", problems)) return;
  EventLogSetting& log = static_cast<Settings*>(data)->event_log;
  std::string_view path = s.words[0].text;
  for (std::string_view prefix : {"stdio:", "daemon:"})
    if (path.starts_with(prefix)) {
      problems.warning(s.at(0), fmt::format("cache_log names a file: '{}' is left out", prefix), "cache_log " + std::string(path.substr(prefix.size())));
      path.remove_prefix(prefix.size());
    }
  log.path = path == "none" ? std::string() : std::string(path);
  config::warn_surplus(s, 1, problems);
}

void dump_cache_log(const Directive& self, const void* settings, std::string& out) {
  const std::string& path = static_cast<const Settings*>(settings)->event_log.path;
  config::dump_line(self, path.empty() ? "none" : std::string_view(path), out);
}

void parse_store_log(const Statement& s, void* data, Problems& problems) {
  if (!config::require_word(s, 0, "where the log goes", problems)) return;
  std::string why;
  auto target = parse_target(s.words[0].text, why);
  if (!target) return problems.error(s.at(0), "cache_store_log: " + why, "for instance stdio:/var/log/loligo/store.log");
  warn_of_odd_name(s, *target, problems);
  static_cast<Settings*>(data)->store_log = std::move(*target);
  config::warn_surplus(s, 1, problems);
}

void dump_store_log(const Directive& self, const void* settings, std::string& out) {
  const Target& target = static_cast<const Settings*>(settings)->store_log;
  config::dump_line(self, target.kind == Target::Kind::none ? "none" : std::string_view(target.place), out);
}

void parse_debug(const Statement& s, void* data, Problems& problems) {
  if (!config::require_word(s, 0, "SECTION,LEVEL", problems)) return;
  std::vector<std::string> complaints;
  parse_debug_options(s.words[0].text, static_cast<Settings*>(data)->event_log, complaints);
  for (std::string& complaint : complaints) problems.warning(s.at(0), std::move(complaint), "for instance: debug_options ALL,1 28,3");
}

void dump_debug(const Directive& self, const void* settings, std::string& out) {
  const std::string& options = static_cast<const Settings*>(settings)->event_log.options;
  config::dump_line(self, options.empty() ? self.default_value : std::string_view(options), out);
}

void parse_netmask(const Statement& s, void* data, Problems& problems) {
  std::string mask;
  if (!config::read_address(s, 0, mask, problems)) return;
  if (!mask.empty() && !net::Address::parse(mask)) return problems.error(s.at(0), "client_netmask wants a mask such as 255.255.255.0");
  static_cast<Settings*>(data)->client_netmask = mask;
  config::warn_surplus(s, 1, problems);
}

void dump_netmask(const Directive& self, const void* settings, std::string& out) {
  const std::string& mask = static_cast<const Settings*>(settings)->client_netmask;
  config::dump_line(self, mask.empty() ? "no_addr" : std::string_view(mask), out);
}

constexpr Directive kDirectives[] = {
    config::custom("access_log cache_access_log", "place [logformat=name] [buffer-size=size] [on-error=die|drop] [rotate=N] [[!]acl ...] | none [[!]acl ...]",
                   "daemon:<localstatedir>/log/loligo/access.log squid",
                   "Where requests are logged. All lines whose acls match write, each in its own format; a matching 'none' ends the list. "
                   "Places: stdio:FILE and daemon:FILE (the same here: one thread writes), syslog:FACILITY.PRIORITY, udp://HOST:PORT, "
                   "tcp://HOST:PORT. The format may also stand alone as the second word. A log that cannot keep up loses whole lines, "
                   "which are counted; it never delays a request. A file that cannot be written (a full disk, say) ends the process, so that nothing goes "
                   "on unlogged, as Squid has it; with on-error=drop lines are dropped and counted until it can be written again. With on-error=die every lost "
                   "line ends the process.",
                   parse_access_log, dump_access_log, true, config::WordStyle::rule),
    config::custom("logformat", "name definition", "none",
                   "Defines a format for access_log: text with codes, %[encoding][-][[0]width][.max][{argument}]code. Encodings: \" quoted, "
                   "[ for header blocks, # URL, / shell, ' raw; control characters are replaced in all of them. squid, common, combined, "
                   "referrer and useragent are built in. Of our own: %loligo::access_rule, file and line of the http_access line that decided; %loligo::reason, "
                   "why this was no plain hit, was served though stale, or not served, and why the reply was not stored, as words of mgr:reasons separated by commas "
                   "(miss.absent,not-stored.private).",
                   parse_logformat, dump_logformat, true),
    config::integer<&Settings::logfile_rotate, 0, 1000>("logfile_rotate", "10",
                   "How many old logs a rotation keeps, as FILE.0, FILE.1 and so on. 0: files are only opened again, for logrotate(8)."),
    config::flag<&Settings::strip_query_terms>("strip_query_terms", "on", "Whether URLs in the log end at their question mark."),
    config::flag<&Settings::log_mime_hdrs>("log_mime_hdrs", "off",
                   "Whether the squid, common and combined formats end with the heads of request and reply, in brackets."),
    config::flag<&Settings::buffered_logs>("buffered_logs", "off",
                   "Whether several lines may share one datagram of a udp:// log. Files are written in blocks at least once a second anyway."),
    config::custom("client_netmask", "mask", "no_addr", "A mask for client addresses in the log, to protect who asked: 255.255.255.0 hides the host.",
                   parse_netmask, dump_netmask),
    config::custom("cache_log", "file | none", "<localstatedir>/log/loligo/cache.log", "The log of the proxy's own events.", parse_cache_log, dump_cache_log),
    config::custom("cache_store_log", "place | none", "none",
                   "A log of what becomes of objects, in Squid's format: time, action, number of the cache_dir line, file, key, status, Date, "
                   "Last-Modified, expiry, type, length as announced / as it is, method, URL. SWAPOUT: on disk now. RELEASE with a file: gone from the disk; with -1 and "
                   "FFFFFFFF: never kept, or gone from a memory that had it alone. SO_FAIL: the disk did not take it. The file is the number of the segment that "
                   "holds the head of the object, shared by many. Stored objects are found for GET and HEAD alike and are all said to be GET. Question marks stand "
                   "for what is not known any more, when a record is damaged. Requests that make no object (PURGE, a validation that says 304, the proxy's own pages) have no line. "
                   "Places as in access_log. It never delays anything: what cannot be written in time is dropped and counted (log.store_lines_dropped of mgr:counters).",
                   parse_store_log, dump_store_log),
    config::custom("debug_options", "section,level ... [rotate=N]", "ALL,1",
                   "How much the event log says, by section: 0 only what must be seen, 1 what is important, up to 9. rotate=N: old event logs kept.",
                   parse_debug, dump_debug, false, config::WordStyle::line),
    config::accepted("logfile_daemon", "none", "a thread of the proxy writes the logs"),
    config::accepted("stats_collection", "none", "every request is counted"),
    config::accepted("icap_log", "none", "there is no ICAP client"),
    config::accepted("cache_log_message", "none", "messages have no numbers"),
};

}  // namespace

std::span<const Directive> directives() { return kDirectives; }

RenderOptions Settings::render_options() const {
  RenderOptions options{.strip_query_terms = strip_query_terms, .log_mime_hdrs = log_mime_hdrs};
  if (auto mask = net::Address::parse(client_netmask)) options.client_netmask = *mask;
  return options;
}

void parse_debug_options(std::string_view text, EventLogSetting& log, std::vector<std::string>& complaints) {
  log.options = text;
  log.levels.fill(1);
  log.rotate = -1;
  while (!text.empty()) {
    size_t start = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(start);
    size_t end = std::min(text.find_first_of(" \t"), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    if (word.empty() || word.front() == '#') break;
    size_t split = word.find_first_of(",=");
    std::string_view key = word.substr(0, split), value = split == word.npos ? std::string_view() : word.substr(split + 1);
    auto level = base::parse_decimal<uint8_t>(value);
    auto section = base::parse_decimal<uint8_t>(key);
    if (key == "rotate" && level) log.rotate = *level;
    else if (level && base::iequals(key, "ALL")) log.levels.fill(static_cast<signed char>(std::min<int>(*level, 9)));
    else if (level && section && *section < base::kSections) log.levels[*section] = static_cast<signed char>(std::min<int>(*level, 9));
    else complaints.push_back(fmt::format("debug_options: '{}' is not SECTION,LEVEL", word));
  }
}

}  // namespace loligo::log
