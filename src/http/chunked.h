// The chunked transfer coding (RFC 9112 section 7.1), decoded strictly and piecewise.
//
// feed() looks at input and says what to do next: pass on some body bytes that
// lie in the input, ask for more, or end. It copies nothing but the trailer section.
// Limits: chunk-size at most 15 hex digits, a chunk line (with extensions) at most 4096 bytes, all chunk extensions
// together bounded, the trailer section at most `max_trailer_bytes`. Extensions are dropped.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loligo::http {

class ChunkedDecoder {
 public:
  explicit ChunkedDecoder(uint32_t max_trailer_bytes = 16 * 1024) : max_trailer_bytes_(max_trailer_bytes) {}
  enum class State : uint8_t { more, data, end, failed };
  struct Result {
    State state;
    size_t consumed;         // bytes of input to drop, including `data`
    std::string_view data;   // body bytes within the input (state data; may also accompany nothing else)
  };
  // Call repeatedly with the remaining input until it returns more, end or failed.
  Result feed(std::string_view input);
  // After end: the trailer section's field lines ("Name: value\r\n..."), checked like head fields; framing,
  // routing and hop-by-hop names are dropped (RFC 9110 6.5.1). Empty if there were none.
  const std::string& trailers() const { return trailers_; }
  bool finished() const;

 private:
  enum class Step : uint8_t { size_start, size, extension, size_lf, data, data_cr, data_lf, trailer_line, done, failed };
  Step step_ = Step::size_start;
  uint8_t digits_ = 0;
  uint32_t line_bytes_ = 0;
  uint32_t extension_bytes_ = 0;
  uint32_t max_trailer_bytes_;
  uint64_t remaining_ = 0;
  bool quoted_ = false;
  std::string line_;
  std::string trailers_;
};

// "1a\r\n" for a chunk of `size` bytes, written into `out` (at least 20 bytes); returns its length.
size_t write_chunk_size(uint64_t size, char* out);

}  // namespace loligo::http
