#include "log/encode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace loligo::log {
namespace {

// What becomes of a byte: 0 = stays, 1 = %XX, 2 = \xHH, else a backslash and that character.
using Table = std::array<char, 256>;
constexpr char kPercent = 1, kHex = 2;

constexpr Table controls_as(char action) {
  Table table{};
  for (int c = 0; c < 0x20; ++c) table[c] = action;
  table[0x7f] = action;
  return table;
}

constexpr Table with(Table table, std::string_view bytes, char action) {
  for (char c : bytes) table[static_cast<unsigned char>(c)] = action;
  return table;
}

constexpr Table high_as(Table table, char action) {
  for (int c = 0x7f; c < 256; ++c) table[c] = action;
  return table;
}

// Backslash before itself and a double quote; line ends and tabs by their letters.
constexpr Table backslashed() {
  Table table = controls_as(kHex);
  table['\r'] = 'r', table['\n'] = 'n', table['\t'] = 't', table['"'] = '"', table['\\'] = '\\';
  return table;
}

constexpr Table mime() {
  Table table = with(high_as(controls_as(kPercent), kPercent), "%[]", kPercent);
  table['\r'] = 'r', table['\n'] = 'n', table['\\'] = '\\';
  return table;
}

constexpr std::string_view kUnsafe = " \"<>#{}|\\^~[]`'";
constexpr Table kTables[] = {
    with(high_as(controls_as(kPercent), kPercent), kUnsafe, kPercent),                    // token
    with(controls_as(kPercent), " ", kPercent),                                           // url
    with(backslashed(), " ", kPercent),                                                   // quoted_word
    backslashed(),                                                                        // quoted
    mime(),                                                                               // mime
    with(mime(), " ", kPercent),                                                          // mime_token
    with(with(high_as(controls_as(kPercent), kPercent), kUnsafe, kPercent), "%", kPercent),  // percent
    backslashed(),                                                                        // shell
    controls_as(kPercent),                                                                // raw
    with(controls_as(kHex), "\t", 0),                                                     // event
};

constexpr char kHexDigits[] = "0123456789ABCDEF";

char* escape(char action, unsigned char c, char* out) {
  if (action == kPercent) {
    *out++ = '%';
  } else {
    *out++ = '\\';
    if (action != kHex) {
      *out++ = action;
      return out;
    }
    *out++ = 'x';
  }
  *out++ = kHexDigits[c >> 4];
  *out++ = kHexDigits[c & 15];
  return out;
}

constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (int i = 0; i < 100; ++i) pairs[2 * i] = char('0' + i / 10), pairs[2 * i + 1] = char('0' + i % 10);
  return pairs;
}();

constexpr auto kPowersOfTen = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (uint64_t& p : powers) p = power, power *= 10;
  return powers;
}();

// 1233/4096 is the logarithm of 2 to base 10, near enough for 64 bits.
int digits_of(uint64_t value) {
  int estimate = int(unsigned(std::bit_width(value | 1)) * 1233 >> 12);
  return estimate + (value >= kPowersOfTen[unsigned(estimate)] || estimate == 0 ? 1 : 0);
}

bool clean_by_table(const Table& table, const char* text) {
  const unsigned char* c = reinterpret_cast<const unsigned char*>(text);
  return !(table[c[0]] | table[c[1]] | table[c[2]] | table[c[3]] | table[c[4]] | table[c[5]] | table[c[6]] | table[c[7]]);
}

// No blank, control or DEL among eight bytes, in a handful of instructions: what Encoding::url asks. It may say no for
// nothing (a borrow from a byte that is dirty), never yes.
bool clean_for_url(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  uint64_t word;
  std::memcpy(&word, text, 8);
  const uint64_t below_33 = (word - kOnes * 0x21) & ~word, other = word ^ (kOnes * 0x7f), is_del = (other - kOnes) & ~other;
  return !((below_33 | is_del) & kHighs);
}

// Copies while nothing has to be escaped, eight bytes at a time: values seldom need it. The last eight may overlap those
// before. Returns how many were copied.
template <class Clean>
size_t copy_clean(std::string_view text, char* out, Clean&& clean) {
  if (text.size() < 8) return 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    if (!clean(text.data() + i)) return i;
    std::memcpy(out + i, text.data() + i, 8);
  }
  const size_t last = text.size() - 8;
  if (i == text.size() || !clean(text.data() + last)) return i;
  std::memcpy(out + last, text.data() + last, 8);
  return text.size();
}

char* write_octet(unsigned value, char* out) {
  if (value >= 100) {
    *out++ = char('0' + value / 100);
    value %= 100;
    *out++ = kPairs[2 * value];
    *out++ = kPairs[2 * value + 1];
  } else {
    if (value >= 10) *out++ = kPairs[2 * value];
    *out++ = kPairs[2 * value + 1];
  }
  return out;
}

}  // namespace

char* encode(Encoding encoding, std::string_view text, char* out) {
  const Table& table = kTables[unsigned(encoding)];
  bool in_quotes = encoding == Encoding::shell && text.find_first_of(" \t") != text.npos;
  if (in_quotes) *out++ = '"';
  size_t clean = encoding == Encoding::url ? copy_clean(text, out, clean_for_url)
                                           : copy_clean(text, out, [&table](const char* at) { return clean_by_table(table, at); });
  out += clean;
  for (unsigned char c : text.substr(clean)) {
    char action = table[c];
    if (action == 0) [[likely]] *out++ = char(c);
    else out = escape(action, c, out);
  }
  if (in_quotes) *out++ = '"';
  return out;
}

char* write_padded(uint64_t value, int digits, char* out) {
  int length = std::max(digits, digits_of(value));
  char* end = out + length;
  for (char* at = end; at > out;) {
    if (at - out >= 2) {
      at -= 2;
      std::memcpy(at, &kPairs[2 * (value % 100)], 2);
      value /= 100;
    } else {
      *--at = char('0' + value % 10);
      value /= 10;
    }
  }
  return end;
}

char* write_number(int64_t value, char* out) {
  if (value < 0) {
    *out++ = '-';
    return write_padded(0 - uint64_t(value), 1, out);
  }
  return write_padded(uint64_t(value), 1, out);
}

char* write_address(const net::Address& address, char* out) {
  if (!address.v4()) return out + address.write_host(out);
  unsigned char octets[4];
  std::memcpy(octets, &reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr, 4);
  out = write_octet(octets[0], out);
  for (int i = 1; i < 4; ++i) {
    *out++ = '.';
    out = write_octet(octets[i], out);
  }
  return out;
}

}  // namespace loligo::log
