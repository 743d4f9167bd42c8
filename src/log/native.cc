// The native access log line, the format nearly everybody keeps:
//
//   end.ms elapsed client tag/status bytes method url user hierarchy/server type
//
// Room for the longest line is taken once, then everything is written through
// one pointer. log_test holds it to the bytes of the compiled definition.
#include <algorithm>

#include "log/fields.h"
#include "log/format_codes.h"

namespace loligo::log {
namespace {

char* put(std::string_view text, char* out) { return std::copy(text.begin(), text.end(), out); }

char* put_word(Encoding encoding, std::string_view text, char* out) {
  if (!text.empty()) return encode(encoding, text, out);
  *out++ = '-';
  return out;
}

// Three digits, as milliseconds and status codes have them.
char* put_three(unsigned value, char* out) {
  out[0] = char('0' + value / 100);
  out[1] = char('0' + value / 10 % 10);
  out[2] = char('0' + value % 10);
  return out + 3;
}

char* put_time(int64_t end_us, NativeCache& cache, char* out) {
  const int64_t second = end_us / 1'000'000;
  if (cache.second != second) {
    cache.second = second;
    cache.second_size = unsigned(write_padded(uint64_t(second), 1, cache.second_text) - cache.second_text);
  }
  out = put({cache.second_text, cache.second_size}, out);
  *out++ = '.';
  return put_three(unsigned(end_us % 1'000'000) / 1000, out);
}

char* put_client(const net::Address& client, NativeCache& cache, char* out) {
  if (!cache.client.valid() || !cache.client.same_host(client)) {
    cache.client = client;
    cache.client_size = unsigned(write_address(client, cache.client_text) - cache.client_text);
  }
  return put({cache.client_text, cache.client_size}, out);
}

char* put_right(int64_t value, int width, char* out) {
  if (value >= 0 && value < 10) {   // most hits
    std::fill_n(out, width - 1, ' ');
    out[width - 1] = char('0' + value);
    return out + width;
  }
  char digits[24];
  int length = int(write_number(value, digits) - digits);
  for (; width > length; --width) *out++ = ' ';
  return std::copy_n(digits, length, out);
}

char* put_server(const Record& record, char* out) {
  if (record.server.valid()) return write_address(record.server, out);
  return put_word(Encoding::token, record.peer_host, out);
}

}  // namespace

void render_native(const Record& record, const RenderOptions& options, NativeCache& cache, Buffer& buffer) {
  std::string_view url = logged_url(record, options);
  std::string_view user = record.user;
  if (user.empty()) user = !record.auth_user.empty() ? record.auth_user : !record.ext_user.empty() ? record.ext_user : record.tls_user;
  std::string_view type = media_type(record.content_type);
  size_t values = record.method.size() + url.size() + user.size() + record.peer_host.size() + type.size();
  char* out = buffer.reserve(kGrowth * values + 512);

  out = put_time(std::max<int64_t>(record.end_us, 0), cache, out);
  *out++ = ' ';
  out = record.elapsed_us < 0 ? put("     -", out) : put_right(record.elapsed_us / 1000, 6, out);
  *out++ = ' ';
  if (options.client_netmask.valid()) out = write_address(masked_client(record, options), out);
  else if (record.client.valid()) out = put_client(record.client, cache, out);
  else *out++ = '-';
  *out++ = ' ';
  out = write_tag(record, out);
  *out++ = '/';
  const unsigned status = unsigned(std::max(record.status, 0));
  out = status < 1000 ? put_three(status, out) : write_padded(status, 3, out);
  *out++ = ' ';
  out = write_padded(record.reply_total_size, 1, out);
  *out++ = ' ';
  out = put_word(Encoding::url, record.method, out);
  *out++ = ' ';
  out = put_word(Encoding::url, url, out);
  *out++ = ' ';
  out = put_word(Encoding::mime_token, user, out);
  *out++ = ' ';
  out = write_hierarchy(record, out);
  *out++ = '/';
  out = put_server(record, out);
  *out++ = ' ';
  out = put_word(Encoding::token, type, out);
  buffer.commit(out);
}

void append_mime_headers(const Record& record, Buffer& buffer) {
  for (std::string_view block : {request_field_block(record), reply_block(record)}) {
    char* out = put(" [", buffer.reserve(kGrowth * block.size() + 4));
    out = put_word(Encoding::mime, block, out);
    *out++ = ']';
    buffer.commit(out);
  }
}

}  // namespace loligo::log
