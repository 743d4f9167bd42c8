// sources: src/http/*.cc
// However the bytes are cut, the body is the same; and a decoded body encoded again decodes to itself.
#include <string>

#include "http/chunked.h"
#include "test-suite/fuzz/check.h"

using namespace loligo::http;
using State = ChunkedDecoder::State;

namespace {

struct Outcome {
  State state = State::more;
  std::string body, trailers;
  size_t consumed = 0;
};

// Cuts after `first` bytes, then every `piece`.
Outcome decode(std::string_view input, size_t first, size_t piece) {
  ChunkedDecoder decoder(256);
  Outcome out;
  size_t end = first;
  while (out.consumed < input.size()) {
    if (end <= out.consumed) end = out.consumed + piece;
    std::string part(input.substr(out.consumed, end - out.consumed));  // a copy, so that reading beyond is noticed
    ChunkedDecoder::Result r = decoder.feed(part);
    FUZZ_CHECK(r.consumed <= part.size() && r.data.size() <= r.consumed);
    FUZZ_CHECK((r.state == State::data) == !r.data.empty());
    FUZZ_CHECK(r.state != State::more || r.consumed == part.size());
    out.body += r.data;
    out.consumed += r.consumed;
    out.state = r.state;
    if (r.state == State::end || r.state == State::failed) break;
  }
  FUZZ_CHECK(decoder.finished() == (out.state == State::end));
  if (out.state == State::end) out.trailers = decoder.trailers();
  return out;
}

void check_encoded_again(const Outcome& whole) {
  char size[20];
  std::string text;
  if (!whole.body.empty()) text.append(size, write_chunk_size(whole.body.size(), size)).append(whole.body).append("\r\n");
  text.append(size, write_chunk_size(0, size)).append(whole.trailers).append("\r\n");
  // Trailers are written with a blank after the colon, so they may be longer than what was received.
  if (whole.trailers.size() > 250) return;
  Outcome again = decode(text, text.size(), text.size());
  FUZZ_CHECK(again.state == State::end && again.body == whole.body && again.trailers == whole.trailers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  Outcome whole = decode(input, input.size() + 1, 1);
  for (size_t first : {size_t(1), size_t(data[0]) + 1}) {
    Outcome cut = decode(input, first, 1 + data[0] % 7);
    FUZZ_CHECK(cut.body == whole.body);
    FUZZ_CHECK((cut.state == State::failed) == (whole.state == State::failed));
    FUZZ_CHECK((cut.state == State::end) == (whole.state == State::end));
    FUZZ_CHECK(cut.consumed == whole.consumed && cut.trailers == whole.trailers);
  }
  if (whole.state == State::end) check_encoded_again(whole);
  return 0;
}
