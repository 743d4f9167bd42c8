#include "cache/settings.h"

#include <algorithm>

#include "config/bind.h"

namespace loligo::cache {
namespace {

using namespace config;

constexpr Choice<Collapse> kCollapse[] = {{"on", Collapse::on}, {"off", Collapse::off}, {"accel", Collapse::accel}};

constexpr int64_t kYearInMinutes = 525'600;

constexpr std::pair<std::string_view, bool http::RefreshRule::*> kRefreshFlags[] = {
    {"override-expire", &http::RefreshRule::override_expire}, {"override-lastmod", &http::RefreshRule::override_lastmod},
    {"reload-into-ims", &http::RefreshRule::reload_into_ims}, {"ignore-reload", &http::RefreshRule::ignore_reload},
    {"ignore-no-store", &http::RefreshRule::ignore_no_store}, {"ignore-private", &http::RefreshRule::ignore_private},
    {"refresh-ims", &http::RefreshRule::refresh_ims},         {"store-stale", &http::RefreshRule::store_stale}};
// Words of old recipes that Squid dropped: what they asked for is either the rule now or never done.
constexpr std::string_view kOldRefreshWords[] = {"ignore-no-cache", "ignore-must-revalidate", "ignore-auth"};

void refresh_option(const Statement& s, size_t i, http::RefreshRule& rule, Problems& problems) {
  std::string_view word = s.words[i].text;
  for (auto& [name, flag] : kRefreshFlags)
    if (name == word) {
      rule.*flag = true;
      return;
    }
  if (std::find(std::begin(kOldRefreshWords), std::end(kOldRefreshWords), word) != std::end(kOldRefreshWords))
    return problems.warning(s.at(i), "'" + std::string(word) + "' is obsolete and ignored", "remove it");
  int64_t seconds = 0;
  if (word.starts_with("max-stale=") && parse_integer(word.substr(10), seconds) && seconds >= 0) rule.max_stale = seconds;
  else problems.warning(s.at(i), "'" + std::string(word) + "' is no option of refresh_pattern and is ignored");
}

// Whole minutes, cropped to a year, as seconds.
bool read_minutes(const Statement& s, size_t word, int64_t& seconds, Problems& problems) {
  int64_t minutes = 0;
  if (!require_word(s, word, "a regular expression, minimum, percentage and maximum", problems)) return false;
  if (!parse_integer(s.words[word].text, minutes)) {
    problems.error(s.at(word), "'" + s.words[word].text + "' is not a whole number of minutes");
    return false;
  }
  if (minutes < 0 || minutes > kYearInMinutes) problems.warning(s.at(word), "minutes are cropped to 0.." + std::to_string(kYearInMinutes));
  seconds = std::clamp<int64_t>(minutes, 0, kYearInMinutes) * 60;
  return true;
}

void parse_refresh_pattern(const Statement& s, void* settings, Problems& problems) {
  RefreshPattern pattern;
  pattern.place = s.place;
  pattern.original = rest_without_comment(s);
  size_t i = 0;
  for (; i < s.words.size() && (s.words[i].text == "-i" || s.words[i].text == "+i"); ++i) pattern.ignore_case = s.words[i].text == "-i";
  if (!require_word(s, i, "a regular expression, minimum, percentage and maximum", problems)) return;
  pattern.regex = s.words[i].text;
  int64_t percent = 0;
  if (!read_minutes(s, i + 1, pattern.rule.min, problems) || !read_percent(s, i + 2, 1'000'000, percent, problems) ||
      !read_minutes(s, i + 3, pattern.rule.max, problems))
    return;
  pattern.rule.percent = int(percent);
  if (pattern.rule.max < pattern.rule.min) problems.warning(s.at(i + 3), "the maximum is below the minimum");
  for (size_t k = i + 4; k < s.words.size(); ++k) refresh_option(s, k, pattern.rule, problems);
  static_cast<Settings*>(settings)->refresh_pattern.push_back(std::move(pattern));
}
void dump_refresh_pattern(const Directive& self, const void* settings, std::string& out) {
  for (const RefreshPattern& p : static_cast<const Settings*>(settings)->refresh_pattern) dump_line(self, p.original, out);
}

void parse_range_offset_limit(const Statement& s, void* settings, Problems& problems) {
  RangeOffsetLimit limit;
  size_t used = 0;
  if (!read_bytes(s, 0, 1, limit.bytes, problems, &used)) return;
  limit.statement = s;
  limit.first_acl = used;
  static_cast<Settings*>(settings)->range_offset_limit.push_back(std::move(limit));
}
void dump_range_offset_limit(const Directive& self, const void* settings, std::string& out) {
  for (const RangeOffsetLimit& l : static_cast<const Settings*>(settings)->range_offset_limit) dump_line(self, rest_without_comment(l.statement), out);
}

// The inverse of today's cache_miss_revalidate.
void parse_ignore_ims_on_miss(const Statement& s, void* settings, Problems& problems) {
  bool ignore = false;
  if (read_flag(s, 0, ignore, problems)) static_cast<Settings*>(settings)->cache_miss_revalidate = !ignore;
}
constexpr Directive ignore_ims_on_miss() {
  Directive d = obsolete("ignore_ims_on_miss", "written cache_miss_revalidate, with the opposite value, now.");
  d.parse = parse_ignore_ims_on_miss;
  return d;
}

constexpr Choice<StoredCookies> kStoredCookies[] = {
    {"strip", StoredCookies::strip}, {"keep", StoredCookies::keep}, {"no-store", StoredCookies::no_store}};

constexpr Directive kDirectives[] = {
    custom("refresh_pattern", "[-i] regex min percent max [option ...]", "none",
           "How long a reply without a lifetime of its own stays fresh: between min and max minutes, as a percentage of its age when it arrived. "
           "The first line whose expression matches the URL rules; without any, 0 10% 4320 (RFC 9111 section 4.2.2; the 20% of Squid where a file says so). Options: override-expire, override-lastmod, reload-into-ims, ignore-reload, "
           "ignore-no-store, ignore-private, max-stale=SECONDS, refresh-ims, store-stale.",
           parse_refresh_pattern, dump_refresh_pattern, true, WordStyle::regex),
    rules<&Settings::cache>("cache no_cache", "none", "Requests that it denies are neither answered from the cache nor stored."),
    rules<&Settings::send_hit>("send_hit", "none", "Which cached replies may be sent; those denied are fetched again."),
    rules<&Settings::store_miss>("store_miss", "none", "Which replies may be stored."),
    duration<&Settings::max_stale>("max_stale", "1 week", "The longest time after its expiry for which a reply is served when it cannot be validated."),
    duration<&Settings::negative_ttl>("negative_ttl", "0 seconds", "How long an error reply without a lifetime of its own, like 404, is kept."),
    duration<&Settings::minimum_expiry_time>("minimum_expiry_time", "60 seconds", "A reply that cannot be validated and has a shorter lifetime than this is not stored."),
    flag<&Settings::offline_mode>("offline_mode", "off", "Never validate what is stored. mgr:offline_toggle turns it until the next reload."),
    flag<&Settings::reload_into_ims>("reload_into_ims", "off", "Turn a client's reload into a conditional request."),
    flag<&Settings::refresh_all_ims>("refresh_all_ims", "off", "Every conditional request of a client is validated with the server."),
    choice<&Settings::collapsed_forwarding, kCollapse>("collapsed_forwarding", "on|off|accel", "accel",
           "Requests for a URL that is being fetched wait for that reply. Without this line they do so on accelerator ports (accel), and not on others: a "
           "crowd before a website asks for the same pages, and a page that may not be shared costs each of an office's users a wait. In Squid the default is off everywhere."),
    rules<&Settings::collapsed_forwarding_access>("collapsed_forwarding_access", "none", "Which requests may wait for another one's reply."),
    flag<&Settings::cache_miss_revalidate>("cache_miss_revalidate", "on", "A conditional request that misses is forwarded with its conditions."),
    custom("range_offset_limit", "size-units|none [[!]acl ...]", "none", "How far into an object a range may begin for the whole object to be fetched and stored; none = always, without a line never.",
           parse_range_offset_limit, dump_range_offset_limit, true, WordStyle::rule),
    flag<&Settings::vary_ignore_expire>("vary_ignore_expire", "off", "Ignore an Expires that equals Date on replies with Vary, as servers send it to clients they take for old ones."),
    choice<&Settings::stored_set_cookie, kStoredCookies>("stored_set_cookie", "strip|keep|no-store", "strip",
           "Set-Cookie on replies that may be stored. strip: only the client whose request fetched the reply gets it, hits are without (as Squid does). "
           "keep: every hit carries it, so that clients share their cookies. no-store: such replies are not stored."),
    accepted("store_id_program storeurl_rewrite_program", "none", "objects are stored under their own URLs."),
    accepted("store_id_children storeurl_rewrite_children", "20 startup=0 idle=1 concurrency=0", "objects are stored under their own URLs."),
    accepted("store_id_access storeurl_rewrite_access", "none", "objects are stored under their own URLs."),
    accepted("store_id_bypass storeurl_rewrite_bypass", "on", "objects are stored under their own URLs."),
    accepted("store_id_extras", "\"%>a/%>A %un %>rm myip=%la myport=%lp\"", "objects are stored under their own URLs."),
    ignore_ims_on_miss(),
    obsolete("broken_vary_encoding", "Vary is honoured as the RFC says."),
    obsolete("cache_vary", "Vary is honoured as the RFC says."),
    obsolete("refresh_stale_hit", "stale replies follow RFC 5861 and max_stale."),
    obsolete("hierarchy_stoplist", "always_direct and nonhierarchical_direct took its place."),
    obsolete("ie_refresh", "no browser needs it any more."),
    obsolete("update_headers", "a 304 always updates the stored head."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::cache
