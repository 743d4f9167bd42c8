// sources: src/log/encode.cc src/log/fields.cc src/log/format.cc src/log/format_codes.cc src/log/format_compiler.cc src/log/native.cc src/log/record.cc src/log/settings.cc src/log/target.cc src/net/address.cc src/http/head.cc src/http/field_id.cc src/config/values.cc
// libs: -lfmt
// Fuzzes the logformat compiler and the encodings. Input: a definition, up to
// the first newline; what follows stands in every field of the record.
// Must hold: no crash, one line, no control character but the definition's own
// tabs, at most kMaxLineBytes; the squid format's two renderings agree.
#include <cstdint>
#include <string>

#include "log/format.h"
#include "log/settings.h"
#include "test-suite/fuzz/check.h"

using namespace loligo;

namespace {

std::string rendered(log::Format& format, const log::Record& record, const log::RenderOptions& options) {
  log::Buffer out;
  format.render(record, options, out);
  FUZZ_CHECK(out.size() <= log::Format::kMaxLineBytes);
  for (unsigned char c : out.view()) FUZZ_CHECK((c >= 0x20 || c == '\t') && c != 0x7f);
  return std::string(out.view());
}

log::Record record_of(std::string_view value, http::Head& head) {
  log::Record r;
  uint64_t bits = 0;
  for (unsigned char c : value.substr(0, 8)) bits = bits << 8 | c;
  int64_t number = int64_t(bits);
  r.end_us = r.start_us = r.elapsed_us = r.dns_us = number;
  r.reply_total_size = r.sequence = bits;
  r.status = int(number % 1000);
  r.tag = log::ResultTag(bits % 24);
  r.hierarchy = log::HierarchyCode(bits % 23);
  r.collapsed = number & 1, r.aborted = number & 2, r.hierarchy_timeout = number & 4;
  if (number & 8) r.client = r.server = *net::Address::parse("192.0.2.1", 80);
  if (number & 16) r.client = *net::Address::parse("2001:db8::1", 80);
  r.user = r.auth_user = r.method = r.url = r.client_url = r.scheme = r.host = r.path = r.reply_head = r.content_type = value;
  r.peer_host = r.err_code = r.err_detail = r.access_rule = r.reasons[0] = r.reasons[1] = r.reasons[2] = r.sni = r.tls_cipher = r.listening_port_name = value;
  if (head.parse_request(value.data(), value.size(), {}) == http::ParseState::complete) r.request = &head, r.request_bytes = value.data();
  return r;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t split = std::min(input.find('\n'), input.size());
  std::string_view definition = input.substr(0, split), value = input.substr(std::min(split + 1, input.size()));

  static http::Head head;
  log::Record record = record_of(value, head);
  log::RenderOptions options{.strip_query_terms = size % 2 == 0, .log_mime_hdrs = size % 3 == 0};
  if (size % 5 == 0) options.client_netmask = *net::Address::parse("255.255.0.0");

  std::vector<log::FormatNote> notes;
  if (auto format = log::Format::compile(definition, notes)) {
    rendered(*format, record, options);
  } else {
    FUZZ_CHECK(!notes.empty() && notes.back().error && notes.back().offset <= definition.size());
  }

  options.log_mime_hdrs = false;
  static log::Format native = *log::Format::builtin("squid");
  static log::Format by_table = *log::Format::compile(log::Format::builtin_definition("squid"), notes);
  std::string line = rendered(native, record, options);
  if (record.end_us >= 0 && record.status >= 0 && int64_t(record.reply_total_size) >= 0) FUZZ_CHECK(line == rendered(by_table, record, options));

  log::EventLogSetting events;
  std::vector<std::string> complaints;
  log::parse_debug_options(definition, events, complaints);
  std::string why;
  (void)log::parse_target(definition, why);
  return 0;
}
