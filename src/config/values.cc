#include "config/values.h"

#include <arpa/inet.h>

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace loligo::config {
namespace {

struct Unit { std::string_view name; double size; };

// Milliseconds. A month has 30 days, a year 365.25 days.
constexpr Unit kTimeUnits[] = {
    {"nanosecond", 1e-6}, {"microsecond", 1e-3}, {"millisecond", 1}, {"second", 1e3}, {"minute", 6e4}, {"hour", 3.6e6}, {"day", 8.64e7},
    {"week", 6.048e8}, {"fortnight", 1.2096e9}, {"month", 2.592e9}, {"year", 31557790080.0}, {"decade", 315577900800.0},
};
constexpr Unit kSizeUnits[] = {{"bytes", 1}, {"KB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};

// The unit that the word begins with, in any case ("seconds", "kbytes").
template <size_t N>
const Unit* find_unit(const Unit (&units)[N], std::string_view word) {
  for (const Unit& unit : units)
    if (base::istarts_with(word, unit.name)) return &unit;
  return nullptr;
}

// A leading number; `tail` is what follows it ("10MB" gives 10 and "MB").
bool leading_number(std::string_view text, double& value, std::string_view& tail) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::string_view digits = !text.empty() && text.front() == '-' ? text.substr(1) : text;
  if (digits.empty() || (!base::is_digit(digits.front()) && digits.front() != '.')) return false;  // no inf, no nan
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return false;
  tail = text.substr(size_t(end - text.data()));
  return true;
}

std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

// Reports a word that should have been a number on its own.
void report_number(const Statement& s, size_t word, double value, std::string_view tail, bool number, const char* example, Problems& problems) {
  std::string fix = std::string("write a number and a unit, like ") + example;
  if (number && !tail.empty()) {
    std::string digits = s.words[word].text.substr(0, s.words[word].text.size() - tail.size());
    problems.error(s.at(word), quoted(s.words[word].text) + ": number and unit must be two words", "write " + digits + " and the unit behind a blank, like " + example);
  } else {
    problems.error(s.at(word), quoted(s.words[word].text) + (number && value < 0 ? " is negative" : " is not a number"), fix);
  }
}

}  // namespace

bool require_word(const Statement& s, size_t word, std::string_view what, Problems& problems) {
  if (word < s.words.size()) return true;
  problems.error(s.place, s.name + " wants " + std::string(what));
  return false;
}

void warn_surplus(const Statement& s, size_t first, Problems& problems) {
  if (first < s.words.size()) problems.warning(s.at(first), quoted(s.words[first].text) + " behind the value of " + s.name + " is ignored");
}

bool read_duration(const Statement& s, size_t first, base::Milliseconds resolution, base::Milliseconds& out, Problems& problems, size_t* used) {
  if (!require_word(s, first, "a time", problems)) return false;
  double value = 0;
  std::string_view tail;
  bool number = leading_number(s.words[first].text, value, tail);
  if (!number || !tail.empty() || value < 0) return report_number(s, first, value, tail, number, "30 seconds", problems), false;
  double unit = 1000;
  size_t taken = 1;
  if (first + 1 < s.words.size()) {
    if (const Unit* known = find_unit(kTimeUnits, s.words[first + 1].text)) {
      unit = known->size;
      taken = 2;
    } else if (value != 0) {
      problems.error(s.at(first + 1), quoted(s.words[first + 1].text) + " is no unit of time", "write seconds, minutes, hours, days or weeks");
      return false;
    }
  } else if (value != 0) {
    problems.warning(s.at(first), "a time without a unit counts seconds", "write " + s.words[first].text + " seconds");
  }
  double total = value * unit;
  if (total > 9e15) return problems.error(s.at(first), "this time is too long"), false;
  if (total > 0 && total < double(resolution.count()))
    return problems.error(s.at(first), "this time is below the resolution of " + duration_text(resolution)), false;
  out = base::Milliseconds(int64_t(total + 0.5));
  if (used != nullptr) *used = taken;
  return true;
}

bool read_bytes(const Statement& s, size_t first, int64_t base_unit, int64_t& out, Problems& problems, size_t* used, bool unit_required) {
  if (!require_word(s, first, "a size", problems)) return false;
  const std::string& word = s.words[first].text;
  const Unit* unit = first + 1 < s.words.size() ? find_unit(kSizeUnits, s.words[first + 1].text) : nullptr;
  if (used != nullptr) *used = unit != nullptr ? 2 : 1;
  if (word == "none" || word == "-1") {
    if (word == "-1" && unit == nullptr && !unit_required && used != nullptr && first + 1 < s.words.size()) *used = 2;  // any unit will do
    if (word == "none" && used != nullptr) *used = 1;
    out = kUnlimited;
    return true;
  }
  double value = 0;
  std::string_view tail;
  bool number = leading_number(word, value, tail);
  if (!number || !tail.empty() || value < 0) return report_number(s, first, value, tail, number, "64 KB", problems), false;
  double size = double(base_unit);
  if (unit != nullptr) size = unit->size;
  else if (value != 0 && (first + 1 < s.words.size() || unit_required)) {
    size_t at = first + 1 < s.words.size() ? first + 1 : first;
    problems.error(s.at(at), quoted(s.words[at].text) + (at > first ? " is no unit of size" : " has no unit"), "write bytes, KB, MB or GB");
    return false;
  } else if (value != 0) {
    problems.warning(s.at(first), std::string("a size without a unit counts ") + (base_unit == 1024 ? "KB" : "bytes"),
                     "write " + word + (base_unit == 1024 ? " KB" : " bytes"));
  }
  if (value * size > 9e18) return problems.error(s.at(first), "this size is too large"), false;
  out = int64_t(value * size);
  return true;
}

bool parse_integer(std::string_view text, int64_t& out) {
  bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  int base = 10;
  if (base::istarts_with(text, "0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  if (text.empty() || text.front() == '-') return false;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  out = negative ? -value : value;
  return true;
}

bool read_integer(const Statement& s, size_t word, int64_t least, int64_t most, int64_t& out, Problems& problems) {
  if (!require_word(s, word, "a number", problems)) return false;
  int64_t value = 0;
  if (!parse_integer(s.words[word].text, value)) {
    problems.error(s.at(word), quoted(s.words[word].text) + " is not a whole number");
    return false;
  }
  if (value < least || value > most) {
    problems.error(s.at(word), quoted(s.words[word].text) + " is out of range", "write a number from " + std::to_string(least) + " to " + std::to_string(most));
    return false;
  }
  out = value;
  return true;
}

bool read_percent(const Statement& s, size_t word, int64_t most, int64_t& out, Problems& problems) {
  if (!require_word(s, word, "a percentage", problems)) return false;
  std::string_view text = s.words[word].text;
  if (!text.empty() && text.back() == '%') text.remove_suffix(1);
  int64_t value = 0;
  if (!parse_integer(text, value) || value < 0 || value > most) {
    problems.error(s.at(word), quoted(s.words[word].text) + " is no percentage", "write a whole number from 0 to " + std::to_string(most));
    return false;
  }
  out = value;
  return true;
}

bool read_flag(const Statement& s, size_t word, bool& out, Problems& problems) {
  if (!require_word(s, word, "on or off", problems)) return false;
  const std::string& text = s.words[word].text;
  bool on = text == "on" || text == "enable";
  if (!on && text != "off" && text != "disable") {
    problems.error(s.at(word), quoted(text) + " is neither on nor off", "write on or off");
    return false;
  }
  if (text == "enable" || text == "disable") problems.warning(s.at(word), quoted(text) + " is read as " + (on ? "on" : "off"), on ? "write on" : "write off");
  out = on;
  return true;
}

bool plausible_host(std::string_view text) {
  if (text.empty() || text.size() > 255) return false;
  std::string copy(text);
  unsigned char address[16];
  if (text.find(':') != text.npos) return inet_pton(AF_INET6, copy.c_str(), address) == 1;
  for (char c : text)
    if (!(base::is_digit(c) || (base::ascii_lower(c) >= 'a' && base::ascii_lower(c) <= 'z') || c == '.' || c == '-' || c == '_' || c == '$')) return false;
  return true;
}

bool read_address(const Statement& s, size_t word, std::string& out, Problems& problems) {
  if (!require_word(s, word, "an address", problems)) return false;
  std::string text = s.words[word].text;
  if (text == "any_addr" || text == "no_addr") text.clear();
  else if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  if (!text.empty() && !plausible_host(text)) {
    problems.error(s.at(word), quoted(s.words[word].text) + " is neither an address nor a host name");
    return false;
  }
  out = std::move(text);
  return true;
}

std::string duration_text(base::Milliseconds time) {
  struct { int64_t size; const char* name; } constexpr kUnits[] = {{604'800'000, "week"}, {86'400'000, "day"}, {3'600'000, "hour"}, {60'000, "minute"}, {1000, "second"}, {1, "millisecond"}};
  int64_t value = time.count();
  if (value == 0) return "0 seconds";
  for (auto& unit : kUnits)
    if (value % unit.size == 0) return std::to_string(value / unit.size) + " " + unit.name + (value == unit.size ? "" : "s");
  return std::to_string(value) + " milliseconds";
}

std::string bytes_text(int64_t value) {
  if (value < 0) return "none";
  for (const Unit* unit = std::end(kSizeUnits); unit-- > std::begin(kSizeUnits);)
    if (value >= int64_t(unit->size) && value % int64_t(unit->size) == 0) return std::to_string(value / int64_t(unit->size)) + " " + std::string(unit->name);
  return "0 bytes";
}

std::string_view rest_from_word(const Statement& s, size_t skip) {
  std::string_view rest = s.rest;
  for (size_t i = 0; i < skip; ++i) {
    rest = base::trim_ows(rest);
    size_t blank = rest.find_first_of(" \t");
    rest.remove_prefix(blank == rest.npos ? rest.size() : blank);
  }
  return base::trim_ows(rest);
}

std::string_view rest_without_comment(const Statement& s) {
  std::string_view rest = s.rest;
  for (size_t i = 0; i < rest.size(); ++i)
    if (rest[i] == '#' && (i == 0 || base::is_ows(rest[i - 1]))) return base::trim_ows(rest.substr(0, i));
  return base::trim_ows(rest);
}

}  // namespace loligo::config
