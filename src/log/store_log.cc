#include "log/store_log.h"

#include <fmt/format.h>

#include "log/encode.h"
#include "log/format_codes.h"

namespace loligo::log {

namespace {

void append_encoded(Encoding encoding, std::string_view text, Buffer& out) {
  out.commit(encode(encoding, text, out.reserve(kGrowth * text.size() + kExtra)));
}

}  // namespace

// Squid's "%9d.%03d %-7s %02d %08X %s %4d %9ld %9ld %9ld %s %lld/%lld METHOD URL".
void render(const StoreRecord& r, bool strip_query_terms, Buffer& out) {
  static constexpr std::string_view kActions[] = {"SWAPOUT", "RELEASE", "SO_FAIL"};
  constexpr size_t kMostNumbers = 320;
  auto print = [&](auto format, auto... values) { out.commit(fmt::format_to(out.reserve(kMostNumbers), format, values...)); };
  print(FMT_STRING("{:9}.{:03} {:<7} {:02} {:08X} {:016X}{:016X} "), r.time_us / 1'000'000, r.time_us % 1'000'000 / 1000,
        kActions[unsigned(r.action)], r.directory, r.file, r.key_high, r.key_low);
  if (!r.described) return out.append("   ?         ?         ?         ? ?/? ?/? ? ?");
  print(FMT_STRING("{:4} {:9} {:9} {:9} "), r.status, r.date, r.last_modified, r.expires);
  std::string_view type = media_type(r.content_type);
  append_encoded(Encoding::token, type.empty() ? "unknown" : type, out);
  print(FMT_STRING(" {}/{} "), r.expected, r.real);
  append_encoded(Encoding::url, r.method, out);
  out.push(' ');
  std::string_view url = r.url;
  if (size_t mark = url.find('?'); strip_query_terms && mark != url.npos) url = url.substr(0, mark + 1);
  append_encoded(Encoding::url, url, out);
}

void StoreLog::write(const StoreRecord& record) {
  if (!on()) return;
  std::lock_guard lock(mutex_);
  if (!destination_) return;
  render(record, strip_query_terms_, block_.bytes);
  block_.bytes.push('\n');
  ++block_.lines;
  if (block_.bytes.size() >= kBlockBytes) writer_.submit(destination_, block_);
}

void StoreLog::lost(uint64_t lines) { writer_.count_lost_store_lines(lines); }

void StoreLog::flush() {
  if (!on()) return;
  std::lock_guard lock(mutex_);
  if (destination_) writer_.submit(destination_, block_);
}

void StoreLog::adopt(DestinationPtr destination, bool strip_query_terms) {
  flush();
  std::lock_guard lock(mutex_);
  on_ = destination != nullptr;
  destination_ = std::move(destination);
  strip_query_terms_ = strip_query_terms;
}

}  // namespace loligo::log
