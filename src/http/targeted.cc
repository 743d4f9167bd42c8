// RFC 8941 section 3.2, as far as caching needs it: every kind of member is recognised, only the kinds that
// directives have are kept. A member that is given again replaces the one before.
#include "http/targeted.h"

#include <algorithm>

#include "base/text.h"
#include "http/cache_control_rows.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

enum class Kind : uint8_t { boolean, integer, string, other };
struct Item {
  Kind kind = Kind::boolean;
  int64_t number = 1;      // of a boolean or an integer; beyond kDeltaMax it saturates
  std::string_view text;   // of a string, between its quotes, escapes as they came
};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_lower(base::ascii_lower(c)); }

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) { blanks(false); }
  bool good() const { return good_; }
  bool at_end() const { return !good_ || rest_.empty(); }

  std::string_view key() {
    if (!next_is(is_lower) && !next_is('*')) return fail(), std::string_view();
    return take([](char c) { return is_lower(c) || base::is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*'; });
  }
  // What follows a key: "=" and an item or inner list, or nothing, which is true; then its parameters.
  Item value() {
    Item out;
    if (skip('=')) out = skip('(') ? inner_list() : bare_item();
    parameters();
    return out;
  }
  // To the next member, if there is one; a comma must have one behind it.
  void separator() {
    blanks(true);
    if (at_end()) return;
    if (!skip(',')) return fail();
    blanks(true);
    if (rest_.empty()) fail();
  }

 private:
  void fail() { good_ = false; }
  bool next_is(char c) const { return good_ && !rest_.empty() && rest_.front() == c; }
  bool next_is(bool (*wanted)(char)) const { return good_ && !rest_.empty() && wanted(rest_.front()); }
  bool skip(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class F> std::string_view take(F&& wanted) {
    size_t n = 0;
    while (n < rest_.size() && wanted(rest_[n])) ++n;
    std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  void blanks(bool tabs) { take([tabs](char c) { return c == ' ' || (tabs && c == '\t'); }); }

  void parameters() {
    while (skip(';')) {
      blanks(false);
      key();
      if (skip('=')) bare_item();
    }
  }

  Item inner_list() {
    while (good_) {
      blanks(false);
      if (skip(')')) return {Kind::other, 0, {}};
      bare_item();
      parameters();
      if (good_ && !next_is(' ') && !next_is(')')) fail();
    }
    return {};
  }

  Item bare_item() {
    if (!good_ || rest_.empty()) return fail(), Item();
    char c = rest_.front();
    if (c == '-' || base::is_digit(c)) return number();
    if (c == '"') return string();
    if (c == '*' || is_alpha(c)) return take([](char t) { return is_class(t, kToken) || t == ':' || t == '/'; }), Item{Kind::other, 0, {}};
    if (c == ':') return binary();
    if (skip('?')) {
      bool yes = skip('1');
      if (!yes && !skip('0')) fail();
      return {Kind::boolean, yes, {}};
    }
    if (skip('@') && number().kind == Kind::integer) return {Kind::other, 0, {}};   // a date: RFC 9651
    return fail(), Item();
  }

  Item number() {
    bool negative = skip('-');
    std::string_view whole = take(base::is_digit);
    bool decimal = skip('.');
    std::string_view fraction = decimal ? take(base::is_digit) : std::string_view();
    bool fits = decimal ? whole.size() <= 12 && !fraction.empty() && fraction.size() <= 3 : whole.size() <= 15;
    if (whole.empty() || !fits) return fail(), Item();
    if (decimal) return {Kind::other, 0, {}};
    int64_t seconds = parse_delta_seconds(whole);
    return {Kind::integer, negative ? -seconds : seconds, {}};
  }

  Item string() {
    rest_.remove_prefix(1);
    for (size_t i = 0; i < rest_.size(); ++i) {
      char c = rest_[i];
      if (c == '"') {
        Item out{Kind::string, 0, rest_.substr(0, i)};
        rest_.remove_prefix(i + 1);
        return out;
      }
      if (c == '\\' && (++i == rest_.size() || (rest_[i] != '"' && rest_[i] != '\\'))) break;
      if (c < 0x20 || c > 0x7e) break;   // chars may be signed: what is not ASCII is below
    }
    return fail(), Item();
  }

  Item binary() {
    rest_.remove_prefix(1);
    take([](char c) { return is_alpha(c) || base::is_digit(c) || c == '+' || c == '/' || c == '='; });
    if (!skip(':')) fail();
    return {Kind::other, 0, {}};
  }

  std::string_view rest_;
  bool good_ = true;
};

// no-cache and private: true, or the names of fields. False: of no type that they may have.
bool whole_or_fields(const Item& item, bool& whole, std::vector<std::string_view>& fields) {
  fields.clear();
  whole = item.kind == Kind::boolean && item.number;
  if (item.kind == Kind::boolean) return true;
  if (item.kind != Kind::string) return false;
  bool good = true;
  for_each_list_member(item.text, [&](std::string_view name) {
    good = good && is_token(name) && fields.size() < 64;
    if (good) fields.push_back(name);
  });
  whole = !good || fields.empty();
  return true;
}

// False: a value of the wrong type.
bool apply(std::string_view key, const Item& item, ResponseCacheControl& out) {
  for (const ResponseSeconds& row : kResponseSeconds) {
    if (row.name != key) continue;
    out.*row.member = std::max<int64_t>(item.number, 0);
    return item.kind == Kind::integer;
  }
  for (const ResponseFlag& row : kResponseFlags) {
    if (row.name != key) continue;
    out.*row.member = item.number;
    return item.kind == Kind::boolean;
  }
  if (key == "no-cache") return whole_or_fields(item, out.no_cache, out.no_cache_fields);
  if (key == "private") return whole_or_fields(item, out.private_, out.private_fields);
  return true;
}

}  // namespace

std::optional<ResponseCacheControl> targeted_cache_control(const Head& response, const char* bytes) {
  ResponseCacheControl out;
  out.targeted = true;
  bool good = true, empty = true;
  for_each_value(response, FieldId::cdn_cache_control, bytes, [&](std::string_view line) {
    Reader reader(line);
    while (good && !reader.at_end()) {
      std::string_view key = reader.key();
      Item item = reader.value();
      reader.separator();
      empty = false;
      good = reader.good() && apply(key, item, out);
    }
  });
  if (!good || empty) return std::nullopt;
  return out;
}

}  // namespace loligo::http
