// For tests: a head made from text, with the text kept beside it.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "http/head.h"

namespace loligo::http {

struct TestHead {
  std::string text;
  Head head;
  const char* bytes() const { return text.data(); }
};

// `fields` are whole lines: "Name: value\r\n...".
inline TestHead request_with(std::string_view fields, std::string_view line = "GET / HTTP/1.1") {
  TestHead out{std::string(line) + "\r\n" + std::string(fields) + "\r\n", {}};
  BOOST_REQUIRE(out.head.parse_request(out.text.data(), out.text.size(), {}) == ParseState::complete);
  return out;
}

inline TestHead response_with(std::string_view fields, std::string_view line = "HTTP/1.1 200 OK") {
  TestHead out{std::string(line) + "\r\n" + std::string(fields) + "\r\n", {}};
  BOOST_REQUIRE(out.head.parse_response(out.text.data(), out.text.size(), {}) == ParseState::complete);
  return out;
}

}  // namespace loligo::http
