#include "http/structured_field.h"

#include "base/text.h"
#include "http/cache_control.h"
#include "http/scan.h"

namespace loligo::http {

using Kind = StructuredItem::Kind;

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_alpha(char c) { return is_lower(base::ascii_lower(c)); }

bool StructuredReader::skip(char c) {
  if (!next_is(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

template <class F> std::string_view StructuredReader::take(F&& wanted) {
  size_t n = 0;
  while (n < rest_.size() && wanted(rest_[n])) ++n;
  std::string_view out = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return out;
}

void StructuredReader::blanks(bool tabs) {
  take([tabs](char c) { return c == ' ' || (tabs && c == '\t'); });
}

std::string_view StructuredReader::key() {
  if (!next_is(is_lower) && !next_is('*')) return fail(), std::string_view();
  return take([](char c) { return is_lower(c) || base::is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*'; });
}

StructuredItem StructuredReader::value() {
  if (skip('=')) return member();
  parameters();
  return {};
}

StructuredItem StructuredReader::member() {
  StructuredItem out = skip('(') ? inner_list() : bare_item();
  parameters();
  return out;
}

void StructuredReader::separator() {
  blanks(true);
  if (at_end()) return;
  if (!skip(',')) return fail();
  blanks(true);
  if (rest_.empty()) fail();
}

void StructuredReader::parameters() {
  while (skip(';')) {
    blanks(false);
    key();
    if (skip('=')) bare_item();
  }
}

StructuredItem StructuredReader::inner_list() {
  while (good_) {
    blanks(false);
    if (skip(')')) return {Kind::other, 0, {}};
    bare_item();
    parameters();
    if (good_ && !next_is(' ') && !next_is(')')) fail();
  }
  return {};
}

StructuredItem StructuredReader::bare_item() {
  if (!good_ || rest_.empty()) return fail(), StructuredItem();
  char c = rest_.front();
  if (c == '-' || base::is_digit(c)) return number();
  if (c == '"') return string();
  if (c == '*' || is_alpha(c)) return take([](char t) { return is_class(t, kToken) || t == ':' || t == '/'; }), StructuredItem{Kind::other, 0, {}};
  if (c == ':') return binary();
  if (skip('?')) {
    bool yes = skip('1');
    if (!yes && !skip('0')) fail();
    return {Kind::boolean, yes, {}};
  }
  if (skip('@') && number().kind == Kind::integer) return {Kind::other, 0, {}};   // a date
  return fail(), StructuredItem();
}

StructuredItem StructuredReader::number() {
  bool negative = skip('-');
  std::string_view whole = take(base::is_digit);
  bool decimal = skip('.');
  std::string_view fraction = decimal ? take(base::is_digit) : std::string_view();
  bool fits = decimal ? whole.size() <= 12 && !fraction.empty() && fraction.size() <= 3 : whole.size() <= 15;
  if (whole.empty() || !fits) return fail(), StructuredItem();
  if (decimal) return {Kind::other, 0, {}};
  int64_t seconds = parse_delta_seconds(whole);
  return {Kind::integer, negative ? -seconds : seconds, {}};
}

StructuredItem StructuredReader::string() {
  rest_.remove_prefix(1);
  for (size_t i = 0; i < rest_.size(); ++i) {
    char c = rest_[i];
    if (c == '"') {
      StructuredItem out{Kind::string, 0, rest_.substr(0, i)};
      rest_.remove_prefix(i + 1);
      return out;
    }
    if (c == '\\' && (++i == rest_.size() || (rest_[i] != '"' && rest_[i] != '\\'))) break;
    if (c < 0x20 || c > 0x7e) break;   // chars may be signed: what is not ASCII is below
  }
  return fail(), StructuredItem();
}

StructuredItem StructuredReader::binary() {
  rest_.remove_prefix(1);
  take([](char c) { return is_alpha(c) || base::is_digit(c) || c == '+' || c == '/' || c == '='; });
  if (!skip(':')) fail();
  return {Kind::other, 0, {}};
}

}  // namespace loligo::http
