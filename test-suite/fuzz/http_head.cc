// sources: src/http/*.cc
// A head cut anywhere is judged as the whole is; every slice lies within the bytes and holds only what its place allows.
#include <string>

#include "http/framing.h"
#include "http/head.h"
#include "http/hop_by_hop.h"
#include "http/scan.h"
#include "test-suite/fuzz/check.h"

using namespace loligo::http;

namespace {

constexpr size_t kCuts = 24;

using Parse = ParseState (Head::*)(const char*, size_t, const HeadLimits&);

void check_fields(const Head& head, const char* bytes, const HeadLimits& limits) {
  FUZZ_CHECK(head.field_count() <= limits.max_fields);
  for (const Field& field : head) {
    FUZZ_CHECK(field.name.offset + field.name.length < head.size() && field.value.offset + field.value.length < head.size());
    FUZZ_CHECK(is_token(field.name.in(bytes)));
    FUZZ_CHECK(field.id == field_id(field.name.in(bytes)));
    FUZZ_CHECK(head.has(field.id));
    std::string_view value = field.value.in(bytes);
    FUZZ_CHECK(is_all(value, kValue));
    FUZZ_CHECK(value.empty() || (value.front() != ' ' && value.back() != ' ' && value.front() != '\t' && value.back() != '\t'));
  }
}

// A complete head written anew from its parts must read the same.
void check_rewritten(const Head& head, const char* bytes, Parse parse, const HeadLimits& limits) {
  std::string text(bytes, head.size());
  text = text.substr(text.find_first_not_of("\r\n"));
  text.resize(text.find("\r\n") + 2);
  for (const Field& field : head) text.append(field.name.in(bytes)).append(":").append(field.value.in(bytes)).append("\r\n");
  text += "\r\n";
  Head again;
  FUZZ_CHECK((again.*parse)(text.data(), text.size(), limits) == ParseState::complete);
  FUZZ_CHECK(again.size() == text.size() && again.field_count() == head.field_count());
  for (unsigned i = 0; i < head.field_count(); ++i) FUZZ_CHECK(again.field(i).value.in(text.data()) == head.field(i).value.in(bytes));
}

void check_message(std::string_view input, Parse parse, const HeadLimits& limits) {
  Head whole;
  ParseState state = (whole.*parse)(input.data(), input.size(), limits);
  FUZZ_CHECK((state == ParseState::failed) == (whole.error() != HeadError::none));
  if (state == ParseState::complete) {
    FUZZ_CHECK(whole.size() <= input.size() && whole.size() <= limits.max_bytes);
    FUZZ_CHECK(may_end_head(input.data(), 0, input.size()));
    check_fields(whole, input.data(), limits);
    check_rewritten(whole, input.data(), parse, limits);
  }
  size_t step = input.size() / kCuts + 1;
  for (size_t size = input.size() % step; size < input.size(); size += step) {
    std::string cut(input.substr(0, size));  // a copy, so that reading beyond is noticed
    Head head;
    ParseState early = (head.*parse)(cut.data(), size, limits);
    if (early == ParseState::failed) FUZZ_CHECK(state == ParseState::failed && head.error() == whole.error());
    if (early == ParseState::complete) FUZZ_CHECK(state == ParseState::complete && head.size() == whole.size());
  }
}

void check_framing(std::string_view input) {
  Head head;
  if (head.parse_request(input.data(), input.size(), {}) == ParseState::complete) {
    Framing f = request_framing(head, input.data());
    FUZZ_CHECK(f.kind != BodyKind::to_close);
    FUZZ_CHECK(f.error == FramingError::none || !f.keep_alive);
    if (f.error == FramingError::none) FUZZ_CHECK(!(head.has(FieldId::content_length) && head.has(FieldId::transfer_encoding)));
    ConnectionOptions options(head, input.data());
    for (const Field& field : head)
      FUZZ_CHECK(!options.nominated(field, input.data()) || (field.id != FieldId::host && field.id != FieldId::content_length));
  }
  if (head.parse_response(input.data(), input.size(), {}) == ParseState::complete)
    for (Method method : {Method::get, Method::head, Method::connect}) {
      Framing f = response_framing(head, input.data(), method);
      FUZZ_CHECK(f.kind != BodyKind::to_close || !f.keep_alive);
      FUZZ_CHECK(f.error == FramingError::none || !f.keep_alive);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  HeadLimits small{64, 3};
  for (const HeadLimits& limits : {HeadLimits(), small}) {
    check_message(input, &Head::parse_request, limits);
    check_message(input, &Head::parse_response, limits);
  }
  check_framing(input);
  return 0;
}
