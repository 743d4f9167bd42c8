// The grammar, as strict as it is read here (RFC 9112 sections 2 to 5):
//
//   request-head  = *CRLF method SP request-target SP HTTP-version CRLF fields
//   response-head = HTTP-version SP 3DIGIT [ SP reason-phrase ] CRLF fields
//   fields        = *( token ":" OWS field-value OWS CRLF ) CRLF
//
// What the RFC lets a recipient repair (bare LF, obs-fold, blanks around the target) is refused instead: each repair
// is a difference of opinion with the next hop about where a message ends.
#include "http/head.h"

#include <cstring>

#include "base/text.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

constexpr HeadErrorRow kHeadErrors[] = {
    {HeadError::none, 200, "no error"},
    {HeadError::bad_request_line, 400, "malformed request line"},
    {HeadError::bad_status_line, 502, "malformed status line"},
    {HeadError::no_version, 400, "request line without a version"},
    {HeadError::bad_version, 400, "malformed HTTP version"},
    {HeadError::unsupported_version, 505, "unsupported HTTP version"},
    {HeadError::bad_target, 400, "character not allowed in the request target"},
    {HeadError::bad_field_name, 400, "malformed header field name"},
    {HeadError::bad_field_value, 400, "control character in a header field value"},
    {HeadError::bare_line_feed, 400, "LF without CR"},
    {HeadError::bare_carriage_return, 400, "CR without LF"},
    {HeadError::obsolete_fold, 400, "folded header field"},
    {HeadError::leading_blank, 400, "white space before the first header field"},
    {HeadError::too_large, 431, "header too large"},
    {HeadError::target_too_long, 414, "request target too long"},
    {HeadError::too_many_fields, 431, "too many header fields"},
};

struct MethodName { std::string_view name; Method method; };
constexpr MethodName kMethods[] = {
    {"GET", Method::get},         {"HEAD", Method::head},       {"POST", Method::post},
    {"PUT", Method::put},         {"DELETE", Method::delete_},  {"CONNECT", Method::connect},
    {"OPTIONS", Method::options}, {"TRACE", Method::trace},     {"PATCH", Method::patch},
    {"PURGE", Method::purge},
};

Method method_of(std::string_view text) {
  for (const MethodName& known : kMethods)
    if (known.name == text) return known.method;
  return Method::other;  // method names are case-sensitive: "get" is another method
}

constexpr size_t kVersionLength = 8;  // "HTTP/1.1"

}  // namespace

const HeadErrorRow& describe(HeadError error) { return kHeadErrors[unsigned(error)]; }

Head& Head::operator=(const Head& other) {
  if (this == &other) return *this;
  present_ = other.present_;
  start_[0] = other.start_[0];
  start_[1] = other.start_[1];
  size_ = other.size_;
  count_ = other.count_;
  status_ = other.status_;
  minor_version_ = other.minor_version_;
  method_ = other.method_;
  error_ = other.error_;
  std::memcpy(static_cast<void*>(fields_), other.fields_, count_ * sizeof(Field));
  return *this;
}

// One pass over one buffer. Each step returns `complete` to go on, or the verdict that ends the parse.
class HeadParser {
 public:
  HeadParser(Head& head, const char* bytes, size_t size, const HeadLimits& limits)
      : head_(head), begin_(bytes), at_(bytes), end_(bytes + (size < limits.max_bytes ? size : limits.max_bytes)),
        full_(size >= limits.max_bytes), max_fields_(limits.max_fields < kMaxFields ? limits.max_fields : kMaxFields) {
    head.present_ = {};
    head.start_[0] = head.start_[1] = Slice();
    head.size_ = 0;
    head.count_ = 0;
    head.status_ = 0;
    head.minor_version_ = 1;
    head.method_ = Method::other;
    head.error_ = HeadError::none;
  }

  ParseState request() {
    if (ParseState s = skip_empty_lines(); s != ParseState::complete) return s;
    if (ParseState s = request_line(); s != ParseState::complete) return s;
    return fields();
  }

  ParseState response() {
    if (ParseState s = status_line(); s != ParseState::complete) return s;
    return fields();
  }

 private:
  ParseState fail(HeadError error) {
    head_.error_ = error;
    return ParseState::failed;
  }
  // The bytes end here: more may follow, unless the limit is reached.
  ParseState starved(HeadError when_full = HeadError::too_large) { return full_ ? fail(when_full) : ParseState::incomplete; }
  Slice slice(const char* from, const char* to) const { return {uint32_t(from - begin_), uint32_t(to - from)}; }

  // at_ stands on a byte that may not stand there; if it is CRLF, steps over it.
  ParseState line_end(HeadError otherwise, HeadError when_full = HeadError::too_large) {
    if (at_ == end_) return starved(when_full);
    if (*at_ == '\n') return fail(HeadError::bare_line_feed);
    if (*at_ != '\r') return fail(otherwise);
    if (at_ + 1 == end_) return starved(when_full);
    if (at_[1] != '\n') return fail(HeadError::bare_carriage_return);
    at_ += 2;
    return ParseState::complete;
  }

  ParseState skip_empty_lines() {
    for (unsigned n = 0; at_ < end_ && (*at_ == '\r' || *at_ == '\n'); ++n) {
      if (n == kMaxEmptyLines) return fail(HeadError::bad_request_line);
      if (ParseState s = line_end(HeadError::bad_request_line); s != ParseState::complete) return s;
    }
    return ParseState::complete;
  }

  ParseState request_line() {
    const char* method = at_;
    at_ = skip_class(at_, end_, kToken);
    if (at_ == end_) return starved(HeadError::target_too_long);
    if (*at_ != ' ' || at_ == method) return fail(HeadError::bad_request_line);
    head_.start_[0] = slice(method, at_);
    head_.method_ = method_of({method, size_t(at_ - method)});
    const char* target = ++at_;
    at_ = skip_target(at_, end_);
    if (at_ == end_) return starved(HeadError::target_too_long);
    if (*at_ == '\r' || *at_ == '\n') {
      head_.start_[1] = slice(target, at_);
      ParseState s = line_end(HeadError::bad_request_line, HeadError::target_too_long);
      return s == ParseState::complete ? fail(HeadError::no_version) : s;
    }
    if (*at_ != ' ') return fail(HeadError::bad_target);
    if (at_ == target) return fail(HeadError::bad_request_line);
    head_.start_[1] = slice(target, at_++);
    if (ParseState s = version(HeadError::bad_request_line, HeadError::target_too_long); s != ParseState::complete) return s;
    return line_end(HeadError::bad_request_line, HeadError::target_too_long);
  }

  // HTTP-version = %s"HTTP/" DIGIT "." DIGIT
  ParseState version(HeadError otherwise, HeadError when_full) {
    std::string_view have(at_, size_t(end_ - at_) < kVersionLength ? size_t(end_ - at_) : kVersionLength);
    if (have == "HTTP/1.1" || have == "HTTP/1.0") {
      head_.minor_version_ = have.back() == '1';
      at_ += kVersionLength;
      return ParseState::complete;
    }
    constexpr std::string_view kPattern = "HTTP/d.d";
    for (size_t i = 0; i < have.size(); ++i) {
      if (kPattern[i] == 'd' ? base::is_digit(have[i]) : have[i] == kPattern[i]) continue;
      // Judged by the first wrong byte alone, so that cutting the bytes elsewhere changes nothing.
      bool resembles = i >= 5 || base::ascii_lower(have[i]) == base::ascii_lower(kPattern[i]);
      return fail(resembles ? HeadError::bad_version : otherwise);
    }
    if (have.size() < kVersionLength) return starved(when_full);
    if (have[5] != '1') return fail(HeadError::unsupported_version);
    head_.minor_version_ = 1;  // HTTP/1.2 and above are to be treated as the highest known (RFC 9110 2.5)
    at_ += kVersionLength;
    return ParseState::complete;
  }

  ParseState status_line() {
    if (ParseState s = version(HeadError::bad_status_line, HeadError::too_large); s != ParseState::complete) return s;
    const char* line = at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_) return starved();
      if (i == 0 ? *at_ != ' ' : !base::is_digit(*at_)) return fail(HeadError::bad_status_line);
    }
    int status = (line[1] - '0') * 100 + (line[2] - '0') * 10 + (line[3] - '0');
    if (status < 100) return fail(HeadError::bad_status_line);
    head_.status_ = int16_t(status);
    head_.start_[0] = slice(line + 1, at_);
    if (at_ < end_ && *at_ == ' ') ++at_;  // many origins omit it together with the reason
    else if (at_ < end_ && *at_ != '\r' && *at_ != '\n') return fail(HeadError::bad_status_line);
    const char* reason = at_;
    at_ = skip_value(at_, end_);
    head_.start_[1] = slice(reason, at_);
    return line_end(HeadError::bad_status_line);
  }

  ParseState fields() {
    for (;;) {
      if (at_ == end_) return starved();
      if (*at_ == '\r' || *at_ == '\n') break;
      if (ParseState s = field(); s != ParseState::complete) return s;
    }
    if (ParseState s = line_end(HeadError::bad_field_name); s != ParseState::complete) return s;
    head_.size_ = uint32_t(at_ - begin_);
    return ParseState::complete;
  }

  // A known name needs no check of its characters. The search for the colon may cross lines; then the name is not a token.
  ParseState field() {
    const char* name = at_;
    const char* colon = find_colon(at_, end_);
    FieldId id = colon == end_ ? FieldId::other : field_id({name, size_t(colon - name)});
    if (id == FieldId::other) {
      const char* stop = skip_class(name, colon, kToken);
      if (stop != colon || stop == name) return bad_name(name, stop);
      if (colon == end_) return starved();
    }
    if (head_.count_ == max_fields_) return fail(HeadError::too_many_fields);
    const char* value = colon + 1;
    while (value < end_ && base::is_ows(*value)) ++value;
    at_ = skip_value(value, end_);
    const char* value_end = at_;
    if (ParseState s = line_end(HeadError::bad_field_value); s != ParseState::complete) return s;
    while (value_end > value && base::is_ows(value_end[-1])) --value_end;
    Field& field = head_.fields_[head_.count_++];
    field.name = slice(name, colon);
    field.value = slice(value, value_end);
    field.id = id;
    head_.present_[unsigned(id) / 64] |= uint64_t(1) << (unsigned(id) % 64);
    return ParseState::complete;
  }

  ParseState bad_name(const char* name, const char* stop) {
    if (stop == name && base::is_ows(*name)) return fail(head_.count_ ? HeadError::obsolete_fold : HeadError::leading_blank);
    if (stop < end_ && *stop == '\n') return fail(HeadError::bare_line_feed);
    return fail(HeadError::bad_field_name);
  }

  Head& head_;
  const char* const begin_;
  const char* at_;
  const char* const end_;
  const bool full_;
  const unsigned max_fields_;
};

ParseState Head::parse_request(const char* bytes, size_t size, const HeadLimits& limits) {
  return HeadParser(*this, bytes, size, limits).request();
}

ParseState Head::parse_response(const char* bytes, size_t size, const HeadLimits& limits) {
  return HeadParser(*this, bytes, size, limits).response();
}

std::string_view Head::value(FieldId id, const char* bytes) const {
  if (has(id))
    for (const Field& field : *this)
      if (field.id == id) return field.value.in(bytes);
  return {};
}

std::string_view Head::value(std::string_view name, const char* bytes) const {
  if (FieldId id = field_id(name); id != FieldId::other) return value(id, bytes);
  for (const Field& field : *this)
    if (field.id == FieldId::other && base::iequals(field.name.in(bytes), name)) return field.value.in(bytes);
  return {};
}

unsigned Head::occurrences(FieldId id) const {
  if (!has(id)) return 0;
  unsigned n = 0;
  for (const Field& field : *this) n += field.id == id;
  return n;
}

bool may_end_head(const char* bytes, size_t seen, size_t size) {
  // The empty line's own "\n" is new; what precedes it ("\r", "\n\r") may be old.
  const char* at = bytes + seen;
  const char* end = bytes + size;
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '\n', size_t(end - at)));
    if (!at) return false;
    size_t i = size_t(at - bytes);
    if (i >= 3 && std::memcmp(at - 3, "\r\n\r", 3) == 0) return true;
    ++at;
  }
  return false;
}

}  // namespace loligo::http
