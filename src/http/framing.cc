// Where a message ends (RFC 9112 section 6.3). Every doubt is an error: a message that two implementations could
// measure differently is never passed on.
#include "http/framing.h"

#include "base/text.h"
#include "http/cache_control.h"
#include "http/hop_by_hop.h"
#include "http/uri.h"

namespace loligo::http {
namespace {

constexpr FramingErrorRow kFramingErrors[] = {
    {FramingError::none, 200, "no error"},
    {FramingError::bad_content_length, 400, "malformed or contradictory Content-Length"},
    {FramingError::length_overflow, 400, "Content-Length too large"},
    {FramingError::length_and_transfer, 400, "both Content-Length and Transfer-Encoding"},
    {FramingError::transfer_in_http_1_0, 400, "Transfer-Encoding in an HTTP/1.0 message"},
    {FramingError::unknown_transfer_coding, 501, "unknown transfer coding"},
    {FramingError::chunked_not_final, 400, "chunked must be the last transfer coding, once"},
    {FramingError::bad_host, 400, "missing, repeated or malformed Host"},
    {FramingError::body_not_allowed, 400, "this method allows no request body"},
};

constexpr uint64_t kMaxLength = (uint64_t(1) << 63) - 1;

// Content-Length = 1*DIGIT; "5, 5" and two equal lines count once (RFC 9112 6.3 item 5). Compared as text: a peer may read "05" as octal.
FramingError content_length(const Head& head, const char* bytes, uint64_t& length) {
  std::string_view first;
  bool seen = false, good = true;
  for_each_value(head, FieldId::content_length, bytes, [&](std::string_view value) {
    for (size_t start = 0;;) {
      size_t comma = value.find(',', start);
      std::string_view member = base::trim_ows(value.substr(start, comma == value.npos ? comma : comma - start));
      if (!seen) first = member;
      good = good && member == first;
      seen = true;
      if (comma == value.npos) break;
      start = comma + 1;
    }
  });
  if (!good || first.empty()) return FramingError::bad_content_length;
  for (char c : first)
    if (!base::is_digit(c)) return FramingError::bad_content_length;
  std::optional<uint64_t> number = base::parse_decimal<uint64_t>(first);
  if (!number || *number > kMaxLength) return FramingError::length_overflow;
  length = *number;
  return FramingError::none;
}

FramingError transfer_encoding(const Head& head, const char* bytes) {
  unsigned chunked = 0, others = 0;
  bool chunked_last = false;
  for_each_value(head, FieldId::transfer_encoding, bytes, [&](std::string_view value) {
    for_each_list_member(value, [&](std::string_view coding) {
      chunked_last = base::iequals(coding, "chunked");
      ++(chunked_last ? chunked : others);
    });
  });
  if (chunked > 1 || (chunked && !chunked_last) || chunked + others == 0) return FramingError::chunked_not_final;
  return others ? FramingError::unknown_transfer_coding : FramingError::none;
}

// What Content-Length and Transfer-Encoding say, whatever the method or status.
Framing declared_body(const Head& head, const char* bytes) {
  Framing out;
  if (head.has(FieldId::transfer_encoding)) {
    out.kind = BodyKind::chunked;
    if (head.minor_version() == 0) out.error = FramingError::transfer_in_http_1_0;
    else if (head.has(FieldId::content_length)) out.error = FramingError::length_and_transfer;
    else out.error = transfer_encoding(head, bytes);
  } else if (head.has(FieldId::content_length)) {
    out.kind = BodyKind::length;
    out.error = content_length(head, bytes, out.length);
  }
  return out;
}

// Persistence by version and options (RFC 9112 9.3). Proxy-Connection is what old clients send to proxies instead.
bool persistent(const Head& head, const char* bytes) {
  if (!head.has(FieldId::connection) && !head.has(FieldId::proxy_connection)) return head.minor_version() >= 1;
  ConnectionOptions options(head, bytes);
  return !options.close() && (head.minor_version() >= 1 || options.keep_alive());
}

// RFC 9112 3.2: exactly one valid Host in 1.1. Empty is allowed only where the target itself names the authority.
bool host_is_good(const Head& head, const char* bytes) {
  if (!head.has(FieldId::host)) return head.minor_version() == 0;
  if (head.occurrences(FieldId::host) != 1) return false;
  std::string_view host = head.value(FieldId::host, bytes);
  if (!host.empty()) return parse_authority(host).has_value();
  char first = bytes[head.target().offset];
  return first != '/' && first != '*';
}

bool has_content(const Framing& f) { return f.kind == BodyKind::chunked || (f.kind == BodyKind::length && f.length > 0); }

}  // namespace

const FramingErrorRow& describe(FramingError error) { return kFramingErrors[unsigned(error)]; }

Framing request_framing(const Head& head, const char* bytes) {
  Framing out = declared_body(head, bytes);
  // RFC 9110 9.3.6, 9.3.8: what follows a CONNECT is the tunnel's, and TRACE must not carry content.
  bool bodiless = head.method() == Method::connect || head.method() == Method::trace;
  if (out.error == FramingError::none && bodiless && has_content(out)) out.error = FramingError::body_not_allowed;
  if (out.error == FramingError::none && !host_is_good(head, bytes)) out.error = FramingError::bad_host;
  if (out.error != FramingError::none) {
    out.keep_alive = false;
    return out;
  }
  if (out.kind == BodyKind::length && out.length == 0) out.kind = BodyKind::none;
  out.keep_alive = persistent(head, bytes);
  return out;
}

Framing response_framing(const Head& head, const char* bytes, Method request_method) {
  int status = head.status();
  if (request_method == Method::connect && status >= 200 && status < 300) return Framing();  // RFC 9112 6.3 item 2: the fields are void
  Framing out = declared_body(head, bytes);
  if (out.error != FramingError::none) {
    out.keep_alive = false;
    return out;
  }
  bool no_content = status < 200 || status == 204;
  if (no_content || status == 304 || request_method == Method::head) {
    // A declared body where there can be none (RFC 9110 8.6): its sender may yet send it.
    out.keep_alive = persistent(head, bytes) && !(no_content && has_content(out));
    out.kind = BodyKind::none;
    out.length = 0;
    return out;
  }
  if (out.kind == BodyKind::none) out.kind = BodyKind::to_close;
  out.keep_alive = out.kind != BodyKind::to_close && persistent(head, bytes);
  return out;
}

}  // namespace loligo::http
