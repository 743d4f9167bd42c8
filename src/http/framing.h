// How long a message body is: the one framing decision of the proxy (RFC 9112
// section 6). Nothing else in the project reads Content-Length or
// Transfer-Encoding to find where a message ends.
#pragma once
#include <cstdint>
#include <string_view>

#include "http/head.h"

namespace loligo::http {

enum class BodyKind : uint8_t {
  none,       // the message ends with its head
  length,     // exactly Framing::length bytes
  chunked,
  to_close,   // responses only: to the end of the connection
};

enum class FramingError : uint8_t {
  none,
  bad_content_length,         // not 1*DIGIT, or differing values; identical repeated values collapse to one
  length_overflow,
  length_and_transfer,        // Content-Length beside Transfer-Encoding (RFC 9112 6.1): refused
  transfer_in_http_1_0,       // Transfer-Encoding in a 1.0 message: refused
  unknown_transfer_coding,    // requests: 501
  chunked_not_final,          // chunked missing, twice, or not last
  bad_host,                   // request_framing also judges Host: missing in 1.1, more than one, malformed
  body_not_allowed,           // e.g. TRACE with a body (RFC 9110 9.3.8)
};
struct FramingErrorRow { FramingError error; int status; std::string_view text; };
const FramingErrorRow& describe(FramingError);

struct Framing {
  BodyKind kind = BodyKind::none;
  uint64_t length = 0;          // for BodyKind::length
  FramingError error = FramingError::none;
  bool keep_alive = true;       // by version, Connection and Proxy-Connection; false whenever error is set or kind is to_close
};

// A request's body, whether the connection may persist, and its Host field(s), together.
Framing request_framing(const Head&, const char* bytes);
// A response's body, given the method of its request. 1xx, 204, 304 and answers to HEAD have none;
// a 2xx to CONNECT has none (the tunnel starts).
Framing response_framing(const Head&, const char* bytes, Method request_method);

}  // namespace loligo::http
