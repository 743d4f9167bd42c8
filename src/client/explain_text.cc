#include "client/explain_text.h"

#include <fmt/format.h>

#include "http/date.h"
#include "http/vary.h"

namespace loligo::client {

namespace {

std::string date_text(base::WallSeconds time) {
  char text[http::kDateLength];
  http::format_date(time, text);
  return {text, sizeof text};
}

std::string place_text(const cache::Inspected& v) {
  std::string where = v.in_memory ? "memory" : "disk";
  if (v.in_memory && v.on_disk) where += " and disk";
  if (v.writing) where += ", on its way to the disk";
  return where + fmt::format(", {} bytes{}", v.body_bytes, v.complete ? "" : " so far");
}

// The head that is stored, to look into.
struct StoredHead {
  explicit StoredHead(const cache::Response& r) : text(r.head + "\r\n") {
    good = head.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) == http::ParseState::complete;
  }
  std::string_view value(http::FieldId id) const { return good ? head.value(id, text.data()) : std::string_view(); }
  const std::string text;
  http::Head head;
  bool good = false;
};

std::string heuristic_text(const StoredHead& head, const http::RefreshRule& rule, const http::Lifetimes& l) {
  auto modified = http::parse_date(head.value(http::FieldId::last_modified), l.response_time);
  if (!modified || *modified >= l.date) return fmt::format("it says nothing itself: the minimum of refresh_pattern, {} s", rule.min);
  std::string text = fmt::format("it says nothing itself: {} % of Date - Last-Modified ({} s), at most {} s", rule.percent, l.date - *modified, rule.max);
  return rule.override_lastmod ? text + fmt::format(", at least {} s (override-lastmod)", rule.min) : text;
}

std::string lifetime_text(const StoredHead& head, const cache::Inspected& v) {
  const http::Lifetimes& l = v.response->lifetimes;
  const http::RefreshRule& rule = v.response->rule;
  std::string text;
  switch (v.source) {
    case http::LifetimeSource::none: text = v.response->negative ? "negative_ttl" : "it says nothing, and its status allows no guess"; break;
    case http::LifetimeSource::invalid_max_age: text = "a max-age or s-maxage that is no number: stale at once"; break;
    case http::LifetimeSource::s_maxage: text = "s-maxage"; break;
    case http::LifetimeSource::max_age: text = "max-age"; break;
    case http::LifetimeSource::expires: text = fmt::format("Expires - Date ({} - {})", head.value(http::FieldId::expires), date_text(l.date)); break;
    case http::LifetimeSource::heuristic: text = v.response->negative ? "negative_ttl" : heuristic_text(head, rule, l); break;
  }
  if (l.explicit_lifetime && rule.override_expire) text += fmt::format(", at least {} s (override-expire)", rule.min);
  return text;
}

void tell_lifetime(std::string& out, const cache::Inspected& v, const StoredHead& head, base::WallSeconds now) {
  const http::Lifetimes& l = v.response->lifetimes;
  const int64_t age = http::current_age(l, now), left = v.lifetimes.freshness - age;
  explain_line(out, "Lifetime", fmt::format("{} s: {}", l.freshness, lifetime_text(head, v)));
  if (v.lifetimes.freshness < l.freshness)
    explain_line(out, "", fmt::format("ended by a soft purge{} when it was {} s old", v.ban ? fmt::format(" ({})", v.ban) : std::string(), v.lifetimes.freshness));
  explain_line(out, "Age", fmt::format("{} s = {} s when it came ({}) + {} s here", age, l.initial_age, date_text(l.response_time), age - l.initial_age));
  const std::string until = date_text(now + left);
  if (l.no_cache) explain_line(out, "Fresh until", "never: no-cache");
  else if (left > 0) explain_line(out, "Fresh until", fmt::format("{}: {} s - {} s = {} s left", until, v.lifetimes.freshness, age, left));
  else explain_line(out, "Fresh until", fmt::format("{}: {} s - {} s = over since {} s", until, v.lifetimes.freshness, age, -left));
  std::string stale;
  if (l.must_revalidate) stale += ", never served stale (must-revalidate, proxy-revalidate or s-maxage)";
  if (l.stale_while_revalidate > 0) stale += fmt::format(", stale-while-revalidate {} s", l.stale_while_revalidate);
  if (l.stale_if_error >= 0) stale += fmt::format(", stale-if-error {} s", l.stale_if_error);
  if (!stale.empty()) explain_line(out, "Once stale", stale.substr(2));
}

}  // namespace

void explain_line(std::string& out, std::string_view label, std::string_view text) {
  const size_t start = out.size();
  out += label.empty() ? fmt::format("{:<16}", "") : fmt::format("{:<16}", fmt::format("{}:", label));
  out += text.substr(0, 4096);
  for (size_t i = start; i < out.size(); ++i)
    if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f) out[i] = '?';
  out += '\n';
}

std::string explain_mode(const Port& port) {
  static constexpr std::string_view kModes[] = {"forward", "accel", "intercept", "tproxy"};
  return fmt::format("{}{}", kModes[unsigned(port.mode)], port.tls ? ", TLS" : "");
}

std::string explain_verdict(const access::Verdict& v) {
  const std::string_view word = v.allowed ? "allowed" : "denied";
  if (v.rule == "default") return fmt::format("{}: there is no such line", word);
  if (v.rule == "no match") return fmt::format("{}: no line matches, so it is the opposite of the last one", word);
  return fmt::format("{} by {} ({})", word, v.rule, v.rule_text);
}

std::string explain_variant(const cache::Inspected& v, bool selected, const http::Head& request, const char* bytes) {
  const cache::Response& r = *v.response;
  std::string text = fmt::format("{}: ", place_text(v));
  if (!v.same_url) return text + "another URL with the same key";
  if (selected) text += "selected";
  else if (v.banned) text += fmt::format("gone by purge {}", v.ban);
  else if (!v.usable) text += "broken off, or its beginning is gone";
  else if (v.matches) text += "older than the one above";
  else text += "not selected";
  if (r.vary_names.empty()) return text;
  auto quoted = [](std::string_view lines) {   // "name: value", a line each
    std::string shown(lines.substr(0, lines.find_last_not_of('\n') + 1));
    for (size_t i = 0; (i = shown.find('\n', i)) != shown.npos; i += 2) shown.replace(i, 1, "; ");
    return shown;
  };
  text += fmt::format("; Vary {}: it is for \"{}\"", fmt::join(r.vary_names, ", "), quoted(r.selecting_key));
  if (!v.matches) text += fmt::format(", this request has \"{}\"", quoted(http::selecting_key(r.vary_names, request, bytes)));
  return text;
}

void explain_response(std::string& out, const cache::Inspected& v, const cache::Policy& policy, std::string_view url, base::WallSeconds now) {
  const cache::Response& r = *v.response;
  const StoredHead head(r);
  explain_line(out, "Status", fmt::format("{}", r.status));
  if (!r.etag.empty()) explain_line(out, "ETag", r.etag);
  if (!r.last_modified.empty()) explain_line(out, "Last-Modified", r.last_modified);
  if (head.good && head.head.has(http::FieldId::cache_control))
    http::for_each_value(head.head, http::FieldId::cache_control, head.text.data(), [&](std::string_view value) { explain_line(out, "Cache-Control", value); });
  if (head.good && head.head.has(http::FieldId::vary)) explain_line(out, "Vary", head.value(http::FieldId::vary));
  const cache::RefreshPatterns::Line* line = policy.refresh_patterns.find(url);
  explain_line(out, "refresh_pattern", line ? fmt::format("{} ({})", line->place, line->text) : "none matches: 0 10% 4320");
  tell_lifetime(out, v, head, now);
}

}  // namespace loligo::client
