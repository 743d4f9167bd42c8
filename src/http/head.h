// A strict, sans-io parser for the head of an HTTP/1 message (RFC 9112): start
// line and field lines, in place over the caller's bytes, into a flat table of
// offsets. No allocation, no copy, no socket, no clock.
//
// Owner: whoever holds the bytes. A Head refers into them by offset, so the
// bytes may move (pass them to each accessor through `bytes`), but not change.
// Any thread. Errors are values; one table (kHeadErrors) gives text and status.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "http/field_id.h"

namespace loligo::http {

enum class HeadError : uint8_t {
  none,
  bad_request_line,      // not METHOD SP target SP HTTP/1.x CRLF
  bad_status_line,
  no_version,            // HTTP/0.9's "GET /": method and target are known
  bad_version,           // HTTP/2.0, HTTP/0.9, http/1.1 ...: 505 where it is a well-formed other version, else 400
  unsupported_version,
  bad_target,            // a control character or blank in the target
  bad_field_name,        // not a token, or a blank before the colon (RFC 9112 5.1)
  bad_field_value,       // NUL, CR, LF or another control character
  bare_line_feed,        // LF without CR
  bare_carriage_return,
  obsolete_fold,         // RFC 9112 5.2
  leading_blank,         // white space between start line and first field (RFC 9112 2.2)
  too_large,             // more bytes than the limit: 431, or 414 while still in the request line
  target_too_long,
  too_many_fields,
};
struct HeadErrorRow { HeadError error; int status; std::string_view text; };
const HeadErrorRow& describe(HeadError);

struct HeadLimits {
  uint32_t max_bytes = 64 * 1024;
  uint32_t max_fields = 100;  // never more than kMaxFields
};

inline constexpr unsigned kMaxFields = 256;
inline constexpr unsigned kMaxEmptyLines = 8;

struct Slice {
  uint32_t offset = 0, length = 0;
  std::string_view in(const char* bytes) const { return {bytes + offset, length}; }
};

struct Field {
  Slice name, value;   // value without surrounding OWS
  FieldId id;          // FieldId::other for names outside the table
};

enum class ParseState : uint8_t { complete, incomplete, failed };

// Known methods; `other` keeps its text.
enum class Method : uint8_t { other, get, head, post, put, delete_, connect, options, trace, patch, purge };

class Head {
 public:
  // Large (5 KiB), so neither construction nor copying touches the unused part of the table.
  Head() {}
  Head(const Head& other) { *this = other; }
  Head& operator=(const Head& other);

  // Parses from the start of [bytes, bytes+size). `incomplete` = all so far is well-formed, more is needed
  // (a head is only judged whole; call again with more bytes). On `complete`, size() is the head's length with its blank line.
  // Empty lines (CRLF, at most kMaxEmptyLines) before a request line are skipped (RFC 9112 2.2), counted in size().
  // A head that fills max_bytes without its end has failed (too_large or target_too_long), never `incomplete`.
  ParseState parse_request(const char* bytes, size_t size, const HeadLimits&);
  ParseState parse_response(const char* bytes, size_t size, const HeadLimits&);
  HeadError error() const { return error_; }

  uint32_t size() const { return size_; }
  // Request line
  Method method() const { return method_; }
  Slice method_text() const { return start_[0]; }
  Slice target() const { return start_[1]; }
  // Status line
  int status() const { return status_; }
  Slice reason() const { return start_[1]; }
  // Minor version: HTTP/1.0 or 1.1 (any 1.x above 1 counts as 1)
  int minor_version() const { return minor_version_; }

  unsigned field_count() const { return count_; }
  const Field& field(unsigned i) const { return fields_[i]; }
  const Field* begin() const { return fields_; }
  const Field* end() const { return fields_ + count_; }

  // True if a field of this (known) name is there; costs one bit test.
  bool has(FieldId id) const { return (present_[unsigned(id) / 64] >> (unsigned(id) % 64)) & 1; }
  // The first one's value, or an empty view. Check has() to tell empty from absent.
  std::string_view value(FieldId id, const char* bytes) const;
  std::string_view value(std::string_view name, const char* bytes) const;  // name compared without case
  unsigned occurrences(FieldId id) const;

 private:
  friend class HeadParser;
  std::array<uint64_t, 2> present_{};
  Slice start_[2];
  uint32_t size_ = 0;
  uint16_t count_ = 0;
  int16_t status_ = 0;
  int8_t minor_version_ = 1;
  Method method_ = Method::other;
  HeadError error_ = HeadError::none;
  union { Field fields_[kMaxFields]; };  // a union: left uninitialised beyond count_
};

// Whether new bytes can have ended a head, so that a trickle of small reads is not parsed from its start each time:
// true if an empty line ends in [bytes + seen, bytes + size). Parse at least once at the first bytes, for early errors.
bool may_end_head(const char* bytes, size_t seen, size_t size);

// Every value of the fields named `id`, in order, for list-based fields that may stand on several lines.
template <class F>
void for_each_value(const Head& head, FieldId id, const char* bytes, F&& f) {
  if (!head.has(id)) return;
  for (const Field& field : head)
    if (field.id == id) f(field.value.in(bytes));
}

}  // namespace loligo::http
