// The chunked transfer coding (RFC 9112 section 7.1), decoded strictly and piecewise.
//
// feed() looks at input and says what to do next: pass on some body bytes that
// lie in the input, ask for more, or end. It copies nothing but the trailer section.
// Limits: chunk-size at most 15 hex digits, a chunk line (with extensions) at most 4096 bytes, all chunk extensions
// together 64 KiB, the trailer section at most `max_trailer_bytes`. Extensions are dropped.
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
  bool finished() const { return step_ == Step::done; }

 private:
  // The order matters: every step up to after_quoted reads the chunk-size line.
  enum class Step : uint8_t {
    size_start, size,
    before_semicolon,                            // blanks after the size or an extension
    name_start, name, after_name,                // of an extension
    value_start, value, quoted, escaped, after_quoted,
    size_lf, data, data_cr, data_lf,
    trailer_line, trailer_lf, done, failed,
  };
  Step line_step(char c);       // one byte of a chunk-size line
  Step size_step(char c);
  Step extension_step(char c);
  Step trailer_step(char c);
  Step end_trailer_line();
  bool read_framing(std::string_view input, size_t& at);

  Step step_ = Step::size_start;
  uint8_t digits_ = 0;
  uint32_t line_bytes_ = 0;       // of the current chunk-size line
  uint32_t extension_bytes_ = 0;  // of all extensions together
  uint32_t trailer_bytes_ = 0;
  uint32_t max_trailer_bytes_;
  uint64_t remaining_ = 0;        // of the chunk's data; while reading the size: the size so far
  std::string line_;              // the trailer line being gathered
  std::string trailers_;
};

// "1a\r\n" for a chunk of `size` bytes, written into `out` (at least 20 bytes); returns its length.
size_t write_chunk_size(uint64_t size, char* out);

}  // namespace loligo::http
