// Small text functions that every room needs: ASCII case, trimming, numbers.
// Pure functions, any thread. "OWS" is SP and HT only (RFC 9110 section 5.6.3).
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loligo::base {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_ows(char c) { return c == ' ' || c == '\t'; }

constexpr bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  return true;
}

constexpr bool istarts_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && iequals(text.substr(0, prefix.size()), prefix);
}

constexpr std::string_view trim_ows(std::string_view s) {
  while (!s.empty() && is_ows(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_ows(s.back())) s.remove_suffix(1);
  return s;
}

inline std::string to_lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

// The whole of `s` as a decimal number: digits only, no sign, no blanks, no overflow.
template <class Integer>
std::optional<Integer> parse_decimal(std::string_view s) {
  Integer value{};
  if (s.empty() || !is_digit(s.front())) return std::nullopt;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return value;
}

}  // namespace loligo::base
