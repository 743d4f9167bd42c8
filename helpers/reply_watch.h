// Watches a reply go by: its status, and where it ends. The bytes themselves
// are printed as they come, so nothing is kept but an unfinished head.
// Sans-io; one thread. A reply that HTTP does not allow is watched to the end
// of the connection and named by problem().
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "http/chunked.h"
#include "http/framing.h"

namespace loligo::helpers {

class ReplyWatch {
 public:
  explicit ReplyWatch(std::string_view request_method);

  // How many of these bytes belong to the reply; fewer than given once it is finished.
  size_t feed(std::string_view bytes);
  void end_of_connection();

  bool finished() const { return state_ == State::finished; }
  int status() const { return status_; }                  // of the final reply; 0 = none seen (also: HTTP/0.9)
  const std::string& problem() const { return problem_; }  // empty = well so far

 private:
  enum class State : uint8_t { head, length, chunked, to_close, finished };
  size_t feed_head(std::string_view bytes);
  size_t feed_chunked(std::string_view bytes);
  void begin_body(const http::Head&);

  http::Method method_;
  State state_ = State::head;
  int status_ = 0;
  bool any_ = false;
  uint64_t remaining_ = 0;
  std::string head_;       // bytes of a head that is not complete, at most kMaxHead
  http::ChunkedDecoder chunked_;
  std::string problem_;
  static constexpr size_t kMaxHead = 256 * 1024;
};

}  // namespace loligo::helpers
