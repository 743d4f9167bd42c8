// Byte classes of HTTP/1 and the scans over them: 16 bytes at a time with SSE2,
// byte by byte elsewhere and near the end. No scan reads at or beyond `end`.
// Pure functions, any thread. RFC 9110 section 5.6.2 (token), 5.5 (field-value), RFC 9112 section 3.2 (request-target).
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace loligo::http {

enum ByteClass : uint8_t { kToken = 1, kValue = 2, kTarget = 4, kRegName = 8, kHexDigit = 16 };

namespace detail {
constexpr bool is_in(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
constexpr std::array<uint8_t, 256> byte_classes() {
  std::array<uint8_t, 256> out{};
  for (unsigned i = 0; i < 256; ++i) {
    char c = char(i);
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (letter || digit || (i && is_in(c, "!#$%&'*+-.^_`|~"))) out[i] |= kToken;
    if (i == '\t' || (i >= 0x20 && i != 0x7f)) out[i] |= kValue;      // HTAB, SP, VCHAR, obs-text
    if (i > 0x20 && i != 0x7f) out[i] |= kTarget;                      // RFC 3986 has VCHAR only; clients send UTF-8 as it is
    if (letter || digit || (i && is_in(c, "-._~!$&'()*+,;="))) out[i] |= kRegName;
    if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) out[i] |= kHexDigit;
  }
  return out;
}
}  // namespace detail
inline constexpr std::array<uint8_t, 256> kByteClasses = detail::byte_classes();

constexpr bool is_class(char c, ByteClass wanted) { return kByteClasses[uint8_t(c)] & wanted; }
constexpr bool is_all(std::string_view text, ByteClass wanted) {
  for (char c : text)
    if (!is_class(c, wanted)) return false;
  return true;
}
constexpr bool is_token(std::string_view text) { return !text.empty() && is_all(text, kToken); }

// The first byte outside `wanted`, or end.
inline const char* skip_class(const char* at, const char* end, ByteClass wanted) {
  while (at < end && is_class(*at, wanted)) ++at;
  return at;
}

// The first byte that cannot stand in a field value, or end.
inline const char* skip_value(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i highest_control = _mm_set1_epi8(0x1f), tab = _mm_set1_epi8('\t'), del = _mm_set1_epi8(0x7f);
  for (; end - at >= 16; at += 16) {
    __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(text, highest_control), text);
    __m128i bad = _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(text, tab), control), _mm_cmpeq_epi8(text, del));
    if (unsigned mask = unsigned(_mm_movemask_epi8(bad))) return at + __builtin_ctz(mask);
  }
#endif
  return skip_class(at, end, kValue);
}

// The first byte that cannot stand in a request-target, or end.
inline const char* skip_target(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(0x20), del = _mm_set1_epi8(0x7f);
  for (; end - at >= 16; at += 16) {
    __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(text, space), text);
    __m128i bad = _mm_or_si128(low, _mm_cmpeq_epi8(text, del));
    if (unsigned mask = unsigned(_mm_movemask_epi8(bad))) return at + __builtin_ctz(mask);
  }
#endif
  return skip_class(at, end, kTarget);
}

// The first colon, or end.
inline const char* find_colon(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i colon = _mm_set1_epi8(':');
  for (; end - at >= 16; at += 16) {
    __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    if (unsigned mask = unsigned(_mm_movemask_epi8(_mm_cmpeq_epi8(text, colon)))) return at + __builtin_ctz(mask);
  }
#endif
  while (at < end && *at != ':') ++at;
  return at;
}

}  // namespace loligo::http
