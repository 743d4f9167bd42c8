#define BOOST_TEST_DYN_LINK
#include "http/chunked.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace loligo::http;
using namespace std::literals;

BOOST_AUTO_TEST_SUITE(chunked)

using State = ChunkedDecoder::State;

struct Outcome {
  State state = State::more;
  std::string body, trailers;
  size_t consumed = 0;
  bool operator==(const Outcome&) const = default;
};

// Feeds `input` in pieces of `piece` bytes.
Outcome decode(std::string_view input, size_t piece, uint32_t max_trailer_bytes = 16 * 1024) {
  ChunkedDecoder decoder(max_trailer_bytes);
  Outcome out;
  for (size_t at = 0; at < input.size();) {
    std::string_view part = input.substr(at, piece);
    ChunkedDecoder::Result r = decoder.feed(part);
    out.body += r.data;
    at += r.consumed;
    out.consumed = at;
    out.state = r.state;
    if (r.state == State::end || r.state == State::failed) break;
    if (r.state == State::more) BOOST_REQUIRE(r.consumed == part.size());
    else BOOST_REQUIRE(!r.data.empty());
  }
  BOOST_TEST(decoder.finished() == (out.state == State::end));
  if (out.state == State::end) out.trailers = decoder.trailers();
  return out;
}

struct Row { std::string_view input; State state; std::string_view body, trailers, section; };

const Row kRows[] = {
    {"0\r\n\r\n", State::end, "", "", "9112 7.1"},
    {"5\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1"},
    {"5\r\nhello\r\n0\r\n\r\nGET /", State::end, "hello", "", "9112 7.1"},
    {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", State::end, "hello world", "", "9112 7.1"},
    {"a\r\n0123456789\r\n000\r\n\r\n", State::end, "0123456789", "", "9112 7.1"},
    {"A\r\n0123456789\r\n0\r\n\r\n", State::end, "0123456789", "", "9112 7.1"},
    {"2\r\n\r\n\r\n0\r\n\r\n", State::end, "\r\n", "", "9112 7.1"},
    {"000000000000005\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1"},
    {"0000000000000005\r\nhello\r\n0\r\n\r\n", State::failed, "", "", "9112 7.1"},
    {"10000000000000005\r\nhello\r\n0\r\n\r\n", State::failed, "", "", "9112 7.1"},
    {"ffffffffffffffff\r\nhello", State::failed, "", "", "9112 7.1"},
    {"fffffffffffffff\r\nhello", State::data, "hello", "", "9112 7.1"},
    {"\r\nhello", State::failed, "", "", "9112 7.1"},
    {"", State::more, "", "", "9112 7.1"},
    {"5", State::more, "", "", "9112 7.1"},
    {"5\r", State::more, "", "", "9112 7.1"},
    {"5\r\n", State::more, "", "", "9112 7.1"},
    {"5\r\nhe", State::data, "he", "", "9112 7.1"},
    {"5\r\nhello\r\n", State::more, "hello", "", "9112 8"},
    {"5\r\nhello\r\n0\r\n", State::more, "hello", "", "9112 8"},
    {"0x5\r\nhello\r\n0\r\n\r\n", State::failed, "", "", "9112 7.1"},
    {"+5\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"-5\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {" 5\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5 \r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5\t\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5 5\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"g\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5_0\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5\nhello\n0\n\n", State::failed, "", "", "9112 2.2"},
    {"5\rhello", State::failed, "", "", "9112 2.2"},
    {"5\r\r\nhello\r\n", State::failed, "", "", "9112 7.1"},
    {"5\r\nhelloXX0\r\n\r\n", State::failed, "hello", "", "9112 7.1"},
    {"5\r\nhello\n0\r\n\r\n", State::failed, "hello", "", "9112 7.1"},
    {"5\r\nhello\rX", State::failed, "hello", "", "9112 7.1"},
    {"5\r\nhello0\r\n\r\n", State::failed, "hello", "", "9112 7.1"},
    {"5\0\r\nhello\r\n"sv, State::failed, "", "", "9112 7.1"},
    // chunk-ext
    {"5;a\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;a=b\r\nhello\r\n0;c\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;a=b;c=d;e\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5 ; a = b ; c\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;a=\"b c;\\\"\\\\\"\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;a=\"\"\t;b\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;a=\"\xe4\"\r\nhello\r\n0\r\n\r\n", State::end, "hello", "", "9112 7.1.1"},
    {"5;\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;;a\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;=b\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a b\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a \r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=b \r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=b=c\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=\"b\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=\"b\\\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=\"b\"c\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a\nhello\r\n0\r\n\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a=\"\n\"\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    {"5;a\0\r\nhello\r\n"sv, State::failed, "", "", "9112 7.1.1"},
    {"5,a\r\nhello\r\n", State::failed, "", "", "9112 7.1.1"},
    // trailer section
    {"0\r\nX-A: b\r\n\r\n", State::end, "", "X-A: b\r\n", "9112 7.1.2"},
    {"0\r\nX-A:b\t\r\nX-B:\r\n\r\n", State::end, "", "X-A: b\r\nX-B: \r\n", "9112 7.1.2"},
    {"0\r\nServer-Timing: a\r\nETag: \"x\"\r\n\r\n", State::end, "", "Server-Timing: a\r\nETag: \"x\"\r\n", "9110 6.5"},
    {"0\r\nContent-Length: 100\r\nX-A: b\r\n\r\n", State::end, "", "X-A: b\r\n", "9110 6.5.1"},
    {"0\r\ntransfer-encoding: chunked\r\nHOST: evil\r\n\r\n", State::end, "", "", "9110 6.5.1"},
    {"0\r\nConnection: close\r\nTrailer: x\r\nUpgrade: h2c\r\n\r\n", State::end, "", "", "9110 7.6.1"},
    {"0\r\nAuthorization: x\r\nSet-Cookie: a\r\nCache-Control: public\r\n\r\n", State::end, "", "", "9110 6.5.1"},
    {"0\r\nX-A\r\n\r\n", State::failed, "", "", "9112 5"},
    {"0\r\nX-A : b\r\n\r\n", State::failed, "", "", "9112 5.1"},
    {"0\r\n: b\r\n\r\n", State::failed, "", "", "9112 5"},
    {"0\r\n X-A: b\r\n\r\n", State::failed, "", "", "9112 5.2"},
    {"0\r\nX-A: b\r\n c\r\n\r\n", State::failed, "", "", "9112 5.2"},
    {"0\r\nX-A: b\n\r\n", State::failed, "", "", "9112 2.2"},
    {"0\r\nX-A: b\rc\r\n\r\n", State::failed, "", "", "9112 2.2"},
    {"0\r\nX-A: b\0\r\n\r\n"sv, State::failed, "", "", "9110 5.5"},
    {"0\r\n\n", State::failed, "", "", "9112 7.1"},
    {"0\r\n\rX", State::failed, "", "", "9112 7.1"},
};

BOOST_AUTO_TEST_CASE(rows_in_pieces_of_every_size) {
  for (const Row& row : kRows) {
    BOOST_TEST_CONTEXT("[" << row.input << "] RFC " << row.section) {
      Outcome whole = decode(row.input, row.input.size() + 1);
      BOOST_TEST(int(whole.state) == int(row.state));
      BOOST_TEST(whole.body == row.body);
      BOOST_TEST(whole.trailers == row.trailers);
      for (size_t piece = 1; piece < row.input.size(); ++piece) {
        Outcome cut = decode(row.input, piece);
        if (row.state == State::end) BOOST_TEST((cut == whole), "pieces of " << piece);
        BOOST_TEST((cut.state == State::failed) == (row.state == State::failed), "pieces of " << piece);
        BOOST_TEST(cut.body == row.body);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_follows_is_left) {
  std::string_view input = "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1";
  BOOST_TEST(decode(input, 100).consumed == input.find("GET"));
}

BOOST_AUTO_TEST_CASE(line_and_extension_limits) {
  auto with_extension = [](size_t bytes) { return "1;" + std::string(bytes, 'a') + "\r\nx\r\n"; };
  BOOST_TEST(int(decode(with_extension(4000) + "0\r\n\r\n", 512).state) == int(State::end));
  BOOST_TEST(int(decode(with_extension(4096) + "0\r\n\r\n", 512).state) == int(State::failed));
  std::string many;
  for (int i = 0; i < 15; ++i) many += with_extension(4000);
  BOOST_TEST(int(decode(many + "0\r\n\r\n", 512).state) == int(State::end));
  many += with_extension(4000) + with_extension(4000);  // 64 KiB of extensions for 17 bytes of body
  BOOST_TEST(int(decode(many + "0\r\n\r\n", 512).state) == int(State::failed));
}

BOOST_AUTO_TEST_CASE(trailer_limit) {
  std::string trailers = "X-A: " + std::string(93, 'b') + "\r\n";  // 100 bytes
  BOOST_TEST(int(decode("0\r\n" + trailers + "\r\n", 7, 100).state) == int(State::end));
  BOOST_TEST(int(decode("0\r\n" + trailers + "\r\n", 7, 99).state) == int(State::failed));
  BOOST_TEST(int(decode("0\r\n\r\n", 7, 0).state) == int(State::end));
}

BOOST_AUTO_TEST_CASE(failed_stays_failed) {
  ChunkedDecoder decoder;
  BOOST_TEST(int(decoder.feed("x").state) == int(State::failed));
  BOOST_TEST(int(decoder.feed("0\r\n\r\n").state) == int(State::failed));
}

BOOST_AUTO_TEST_CASE(twenty_thousand_chunks) {
  std::string input;
  for (int i = 0; i < 20000; ++i) input += "1\r\na\r\n";
  Outcome out = decode(input + "0\r\n\r\n", 4096);
  BOOST_TEST(int(out.state) == int(State::end));
  BOOST_TEST(out.body.size() == 20000u);
}

BOOST_AUTO_TEST_CASE(sizes_written) {
  struct Written { uint64_t size; std::string_view text; };
  const Written rows[] = {{0, "0\r\n"}, {1, "1\r\n"}, {26, "1a\r\n"}, {65536, "10000\r\n"}, {~uint64_t(0), "ffffffffffffffff\r\n"}};
  for (const Written& row : rows) {
    char out[20];
    BOOST_TEST(std::string_view(out, write_chunk_size(row.size, out)) == row.text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
