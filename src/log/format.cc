// Rendering of compiled formats.
#include "log/format.h"

#include <algorithm>
#include <ctime>

#include "log/fields.h"
#include "log/format_codes.h"

namespace loligo::log {
namespace {

constexpr size_t kMaxDate = 256;

// strftime in local time or UTC, made safe; empty where the time cannot be shown.
std::string date_text(const std::string& format, int64_t second, bool utc) {
  std::time_t time = second;
  std::tm parts{};
  if (!(utc ? gmtime_r(&time, &parts) : localtime_r(&time, &parts))) return {};
  char text[kMaxDate];
  size_t length = std::strftime(text, sizeof text, format.c_str(), &parts);
  char safe[kMaxDate * kGrowth + kExtra];
  return std::string(safe, encode(Encoding::raw, {text, length}, safe));
}

std::string_view cached_date(Item& item, int64_t second) {
  if (item.cached_second != second) {
    item.cached = date_text(item.text, second, item.code->kind == Kind::utc_date);
    item.cached_second = second;
  }
  return item.cached;
}

constexpr uint64_t kPowersOfTen[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000};

// The first `digits` digits of a fraction given in microseconds.
char* write_fraction(uint64_t microseconds, int digits, char* out) {
  digits = std::min(digits, 6);
  return digits <= 0 ? out : write_padded(microseconds / kPowersOfTen[6 - digits], digits, out);
}

char* write_milliseconds(int64_t microseconds, int digits, char* out) {
  out = write_number(microseconds / 1000, out);
  if (digits <= 0) return out;
  *out++ = '.';
  return write_fraction(uint64_t(microseconds % 1000) * 1000, digits, out);
}

char* write_timestamp(int64_t microseconds, int digits, char* out) {
  out = write_number(microseconds / 1'000'000, out);
  if (digits == 0) return out;
  *out++ = '.';
  return write_fraction(uint64_t(microseconds % 1'000'000), digits < 0 ? 3 : digits, out);
}

// A number of any kind into `out` (48 bytes); nothing for "no value".
char* write_value(const Item& item, const Record& record, char* out) {
  int64_t value = item.code->number(record);
  if (value == kNone) return out;
  switch (item.code->kind) {
    case Kind::milliseconds: return value < 0 ? out : write_milliseconds(value, item.max, out);
    case Kind::timestamp: return write_timestamp(std::max<int64_t>(value, 0), item.max, out);
    case Kind::subsecond: {
      uint64_t fraction = uint64_t(std::max<int64_t>(value, 0)) % 1'000'000;
      if (item.max > 0) return write_fraction(fraction, item.max, out);
      return write_padded(fraction / 1000, 1, out);
    }
    default: return write_number(value, out);
  }
}

void fill(char c, size_t count, Buffer& out) {
  char* at = out.reserve(count);
  std::fill_n(at, count, c);
  out.commit(at + count);
}

// Pads what stands from `start` on to the item's width.
void pad(const Item& item, size_t start, bool number, Buffer& out) {
  size_t length = out.size() - start;
  if (length >= size_t(item.width)) return;
  size_t missing = size_t(item.width) - length;
  fill(' ', missing, out);
  if (item.left) return;
  char* text = out.reserve(0) - length - missing;
  std::memmove(text + missing, text, length);
  std::memset(text, number && item.zeros ? '0' : ' ', missing);
}

void render_number(const Item& item, const Record& record, Buffer& out) {
  size_t start = out.size();
  char* begin = out.reserve(48);
  char* end = write_value(item, record, begin);
  bool some = end != begin;
  if (!some) *end++ = '-';
  out.commit(end);
  if (item.width) pad(item, start, some, out);
}

void render_text(const Item& item, std::string_view value, Buffer& out) {
  size_t start = out.size();
  if (value.empty()) {
    out.push('-');
  } else {
    out.commit(encode(item.encoding, value, out.reserve(kGrowth * value.size() + kExtra)));
    if (item.max >= 0) out.truncate(start + size_t(item.max));
  }
  if (item.width) pad(item, start, false, out);
}

void render_item(Item& item, const Record& record, const RenderOptions& options, Buffer& scratch, Buffer& out) {
  if (!item.code) return out.append(item.text);
  switch (item.code->kind) {
    case Kind::text: {
      scratch.clear();
      Fetch fetch{item, options, scratch};
      return render_text(item, item.code->text ? item.code->text(record, fetch) : std::string_view(), out);
    }
    case Kind::local_date:
    case Kind::utc_date: return render_text(item, cached_date(item, item.code->number(record)), out);
    default: return render_number(item, record, out);
  }
}

}  // namespace

void Format::render(const Record& record, const RenderOptions& options, Buffer& out) {
  size_t start = out.size();
  if (native_) {
    render_native(record, options, native_cache_, out);
  } else {
    for (Item& item : items_) {
      render_item(item, record, options, scratch_, out);
      if (out.size() - start > kMaxLineBytes) break;
    }
  }
  if (mime_headers_ && options.log_mime_hdrs) append_mime_headers(record, out);
  out.truncate(start + kMaxLineBytes);
}

}  // namespace loligo::log
