// entity-tag = [ %s"W/" ] DQUOTE *etagc DQUOTE (RFC 9110 section 8.8.3). What is not one matches nothing.
#include "http/conditional.h"

#include "base/text.h"
#include "http/date.h"

namespace loligo::http {
namespace {

struct EntityTag {
  bool good = false, weak = false;
  std::string_view opaque;  // with its quotes
};

bool is_tag_character(char c) { return c == 0x21 || (uint8_t(c) >= 0x23 && c != 0x7f); }

// Takes one entity tag from the front of `text`.
EntityTag take_tag(std::string_view& text) {
  EntityTag out;
  std::string_view rest = text;
  if (rest.substr(0, 2) == "W/") {
    out.weak = true;
    rest.remove_prefix(2);
  }
  if (rest.empty() || rest.front() != '"') return out;
  size_t end = 1;
  while (end < rest.size() && is_tag_character(rest[end])) ++end;
  if (end == rest.size() || rest[end] != '"') return out;
  out.opaque = rest.substr(0, end + 1);
  out.good = true;
  text = rest.substr(end + 1);
  return out;
}

EntityTag read_tag(std::string_view text) {
  EntityTag out = take_tag(text);
  out.good = out.good && text.empty();
  return out;
}

bool matches(const EntityTag& a, const EntityTag& b, bool strong) {
  return a.good && b.good && a.opaque == b.opaque && !(strong && (a.weak || b.weak));
}

bool any_line_matches(const Head& request, FieldId id, const char* bytes, std::string_view etag, bool strong) {
  bool found = false;
  for_each_value(request, id, bytes, [&](std::string_view list) { found = found || list_matches(list, etag, strong); });
  return found;
}

// The time the response was last changed, as far as a cache knows (RFC 9111 4.3.2): else its Date stands in.
std::optional<base::WallSeconds> last_change(const StoredValidators& stored, base::WallSeconds now) {
  if (std::optional<base::WallSeconds> modified = parse_date(stored.last_modified, now)) return modified;
  return stored.date ? std::optional(stored.date) : std::nullopt;
}

// RFC 9110 8.8.2.2: a date is a strong validator only if a second change within its second would have been seen.
bool is_strong_date(std::optional<base::WallSeconds> modified, const StoredValidators& stored) { return modified && stored.date > *modified; }

bool is_unchanged(const Head& request, const char* bytes, const StoredValidators& stored, base::WallSeconds now) {
  if (request.has(FieldId::if_none_match)) return any_line_matches(request, FieldId::if_none_match, bytes, stored.etag, false);
  if (!request.has(FieldId::if_modified_since)) return false;
  std::optional<base::WallSeconds> since = parse_date(request.value(FieldId::if_modified_since, bytes), now);
  std::optional<base::WallSeconds> changed = last_change(stored, now);
  return since && changed && *changed <= *since;
}

}  // namespace

bool weak_match(std::string_view a, std::string_view b) { return matches(read_tag(a), read_tag(b), false); }
bool strong_match(std::string_view a, std::string_view b) { return matches(read_tag(a), read_tag(b), true); }

// Tags may hold commas and backslashes (etagc is no quoted-string), so the list is read tag by tag.
bool list_matches(std::string_view list, std::string_view etag, bool strong) {
  list = base::trim_ows(list);
  if (list == "*") return true;
  EntityTag wanted = read_tag(etag);
  while (wanted.good && !list.empty()) {
    if (list.front() == ',' || base::is_ows(list.front())) {
      list.remove_prefix(1);
      continue;
    }
    EntityTag tag = take_tag(list);
    bool ends_well = list.empty() || list.front() == ',' || base::is_ows(list.front());
    if (!tag.good || !ends_well) return false;  // the rest cannot be read with confidence
    if (matches(tag, wanted, strong)) return true;
  }
  return false;
}

ConditionVerdict evaluate(const Head& request, const char* bytes, const StoredValidators& stored, base::WallSeconds now) {
  // RFC 9110 13.2.1: only where the answer without the conditions would be a success.
  if (stored.status < 200 || stored.status >= 300) return ConditionVerdict::proceed;
  return is_unchanged(request, bytes, stored, now) ? ConditionVerdict::not_modified : ConditionVerdict::proceed;
}

bool if_range_holds(const Head& request, const char* bytes, const StoredValidators& stored, base::WallSeconds now) {
  if (!request.has(FieldId::if_range)) return true;
  if (request.occurrences(FieldId::if_range) != 1) return false;
  std::string_view value = request.value(FieldId::if_range, bytes);
  if (value.find('"') != value.npos) return strong_match(value, stored.etag);
  std::optional<base::WallSeconds> date = parse_date(value, now);
  std::optional<base::WallSeconds> modified = parse_date(stored.last_modified, now);
  return date && modified && *date == *modified && is_strong_date(modified, stored);
}

std::string_view strong_validator(const StoredValidators& stored) {
  if (!stored.etag.empty()) return strong_match(stored.etag, stored.etag) ? stored.etag : std::string_view();
  std::optional<base::WallSeconds> modified = parse_date(stored.last_modified, stored.date);
  return modified && stored.date > *modified ? stored.last_modified : std::string_view();
}

namespace {
// Texts of Last-Modified: equal as they are, or as the dates they mean.
bool same_time(std::string_view a, std::string_view b, base::WallSeconds now) {
  if (a == b) return true;
  std::optional<base::WallSeconds> when = parse_date(a, now);
  return when && when == parse_date(b, now);
}
}  // namespace

bool selects(const Head& not_modified, const char* bytes, const StoredValidators& stored) {
  std::string_view etag = not_modified.value(FieldId::etag, bytes), modified = not_modified.value(FieldId::last_modified, bytes);
  // Weakly: what compresses on the way makes a strong tag weak, and nginx does so in a 200 and not in the 304 about it.
  if (!etag.empty() && !stored.etag.empty()) return weak_match(etag, stored.etag) || etag == stored.etag;
  if (etag.empty() && modified.empty()) return true;
  if (!same_time(modified, stored.last_modified, stored.date)) return false;
  if (EntityTag tag = read_tag(etag); !tag.good || tag.weak) return !modified.empty();
  return is_strong_date(parse_date(stored.last_modified, stored.date), stored);
}

bool describes(const Head& answer, const char* bytes, const StoredValidators& stored, std::string_view content_length) {
  std::string_view length = answer.value(FieldId::content_length, bytes), etag = answer.value(FieldId::etag, bytes);
  std::string_view modified = answer.value(FieldId::last_modified, bytes);
  return (length.empty() || content_length.empty() || length == content_length) &&
         (etag.empty() || etag == stored.etag || weak_match(etag, stored.etag)) &&
         (modified.empty() || same_time(modified, stored.last_modified, stored.date));
}

}  // namespace loligo::http
