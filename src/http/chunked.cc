// The grammar (RFC 9112 section 7.1):
//
//   chunked-body = *chunk last-chunk trailer-section CRLF
//   chunk        = 1*HEXDIG [ chunk-ext ] CRLF chunk-data CRLF
//   chunk-ext    = *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )
//
// A bare LF, a bare CR, a sign, a prefix, blanks after the size without an extension: all refused, for each has been
// read in two ways by two programs in a row.
#include "http/chunked.h"

#include <algorithm>

#include "base/text.h"
#include "http/hop_by_hop.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

constexpr uint8_t kMaxSizeDigits = 15;  // below 2^60: no sum with it overflows
constexpr uint32_t kMaxLineBytes = 4096;
constexpr uint32_t kMaxExtensionBytes = 64 * 1024;

// RFC 9110 6.5.1: fields that say how to frame, route, authenticate or interpret a message come too late in a trailer.
constexpr FieldId kNotInTrailers[] = {
    FieldId::content_length, FieldId::host, FieldId::max_forwards, FieldId::via, FieldId::expect, FieldId::range,
    FieldId::content_type, FieldId::content_encoding, FieldId::content_range, FieldId::authorization,
    FieldId::www_authenticate, FieldId::cookie, FieldId::set_cookie, FieldId::cache_control, FieldId::cdn_cache_control,
    FieldId::surrogate_control, FieldId::pragma, FieldId::age, FieldId::expires, FieldId::date, FieldId::vary, FieldId::location,
    FieldId::retry_after, FieldId::if_match, FieldId::if_none_match, FieldId::if_range, FieldId::if_modified_since,
    FieldId::if_unmodified_since, FieldId::x_forwarded_for, FieldId::x_forwarded_proto, FieldId::forwarded,
};

bool may_stand_in_trailers(FieldId id) {
  return !is_hop_by_hop(id) && std::find(std::begin(kNotInTrailers), std::end(kNotInTrailers), id) == std::end(kNotInTrailers);
}

unsigned hex_value(char c) { return base::is_digit(c) ? unsigned(c - '0') : unsigned(base::ascii_lower(c) - 'a' + 10); }

}  // namespace

ChunkedDecoder::Step ChunkedDecoder::size_step(char c) {
  if (is_class(c, kHexDigit)) {
    if (++digits_ > kMaxSizeDigits) return Step::failed;
    remaining_ = remaining_ * 16 + hex_value(c);
    return Step::size;
  }
  if (step_ == Step::size_start) return Step::failed;
  if (c == '\r') return Step::size_lf;
  if (c == ';') return Step::name_start;
  return base::is_ows(c) ? Step::before_semicolon : Step::failed;
}

ChunkedDecoder::Step ChunkedDecoder::extension_step(char c) {
  bool blank = base::is_ows(c), token = is_class(c, kToken);
  if (++extension_bytes_ > kMaxExtensionBytes) return Step::failed;
  switch (step_) {
    case Step::before_semicolon:
      return blank ? step_ : c == ';' ? Step::name_start : Step::failed;
    case Step::name_start:
      return blank ? step_ : token ? Step::name : Step::failed;
    case Step::name:
      if (token) return step_;
      [[fallthrough]];
    case Step::after_name:
      if (c == '=') return Step::value_start;
      if (c == ';') return Step::name_start;
      if (c == '\r' && step_ == Step::name) return Step::size_lf;
      return blank ? Step::after_name : Step::failed;
    case Step::value_start:
      return blank ? step_ : c == '"' ? Step::quoted : token ? Step::value : Step::failed;
    case Step::quoted:
      return c == '"' ? Step::after_quoted : c == '\\' ? Step::escaped : is_class(c, kValue) ? step_ : Step::failed;
    case Step::escaped:
      return is_class(c, kValue) ? Step::quoted : Step::failed;
    case Step::value:
      if (token) return step_;
      [[fallthrough]];
    default:  // after_quoted
      if (c == '\r') return Step::size_lf;
      return c == ';' ? Step::name_start : blank ? Step::before_semicolon : Step::failed;
  }
}

ChunkedDecoder::Step ChunkedDecoder::line_step(char c) {
  if (++line_bytes_ > kMaxLineBytes) return Step::failed;
  return step_ <= Step::size ? size_step(c) : extension_step(c);
}

ChunkedDecoder::Step ChunkedDecoder::trailer_step(char c) {
  if (++trailer_bytes_ > uint64_t(max_trailer_bytes_) + 2) return Step::failed;  // the empty line is not counted
  if (step_ == Step::trailer_lf) return c == '\n' ? end_trailer_line() : Step::failed;
  if (c == '\r') return Step::trailer_lf;
  if (!is_class(c, kValue)) return Step::failed;
  line_ += c;
  return Step::trailer_line;
}

ChunkedDecoder::Step ChunkedDecoder::end_trailer_line() {
  if (line_.empty()) return Step::done;
  std::string_view line = line_;
  size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) return Step::failed;  // obs-fold too: a blank is no token
  if (may_stand_in_trailers(field_id(line.substr(0, colon)))) {
    trailers_.append(line.substr(0, colon)).append(": ").append(base::trim_ows(line.substr(colon + 1))).append("\r\n");
  }
  line_.clear();
  return Step::trailer_line;
}

// Reads framing bytes until data, the end or the end of the input; false on failure.
bool ChunkedDecoder::read_framing(std::string_view input, size_t& at) {
  while (at < input.size() && step_ != Step::data && step_ != Step::done) {
    char c = input[at++];
    switch (step_) {
      case Step::size_lf:
        if (c != '\n') step_ = Step::failed;
        else step_ = remaining_ ? Step::data : Step::trailer_line;
        break;
      case Step::data_cr:
        step_ = c == '\r' ? Step::data_lf : Step::failed;
        break;
      case Step::data_lf:
        step_ = c == '\n' ? Step::size_start : Step::failed;
        digits_ = 0;
        line_bytes_ = 0;
        break;
      case Step::trailer_line:
      case Step::trailer_lf:
        step_ = trailer_step(c);
        break;
      default:
        step_ = line_step(c);
    }
    if (step_ == Step::failed) return false;
  }
  return true;
}

ChunkedDecoder::Result ChunkedDecoder::feed(std::string_view input) {
  if (step_ == Step::failed) return {State::failed, 0, {}};
  size_t at = 0;
  if (!read_framing(input, at)) return {State::failed, at, {}};
  if (step_ == Step::done) return {State::end, at, {}};
  if (step_ != Step::data || at == input.size()) return {State::more, at, {}};
  std::string_view data = input.substr(at, size_t(std::min<uint64_t>(remaining_, input.size() - at)));
  remaining_ -= data.size();
  if (!remaining_) step_ = Step::data_cr;
  return {State::data, at + data.size(), data};
}

size_t write_chunk_size(uint64_t size, char* out) {
  char* end = std::to_chars(out, out + 16, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return size_t(end - out);
}

}  // namespace loligo::http
