#include "helpers/reply_watch.h"

#include <algorithm>
#include <memory>

namespace loligo::helpers {

ReplyWatch::ReplyWatch(std::string_view method)
    : method_(method == "HEAD" ? http::Method::head : method == "CONNECT" ? http::Method::connect : http::Method::get) {}

size_t ReplyWatch::feed(std::string_view bytes) {
  size_t used = 0;
  any_ = any_ || !bytes.empty();
  while (used < bytes.size() && state_ != State::finished) {
    std::string_view rest = bytes.substr(used);
    switch (state_) {
      case State::head: used += feed_head(rest); break;
      case State::chunked: used += feed_chunked(rest); break;
      case State::to_close: used += rest.size(); break;
      case State::length: {
        size_t n = size_t(std::min<uint64_t>(rest.size(), remaining_));
        remaining_ -= n;
        used += n;
        if (remaining_ == 0) state_ = State::finished;
        break;
      }
      case State::finished: break;
    }
  }
  return used;
}

size_t ReplyWatch::feed_head(std::string_view bytes) {
  size_t before = head_.size();
  head_.append(bytes);
  // Answers from before HTTP/1.0 have no head at all.
  std::string_view start = std::string_view(head_).substr(0, 5);
  if (start != std::string_view("HTTP/").substr(0, start.size())) {
    state_ = State::to_close;
    return bytes.size();
  }
  auto head = std::make_unique<http::Head>();  // too large for a small stack frame
  http::HeadLimits limits{kMaxHead, http::kMaxFields};
  switch (head->parse_response(head_.data(), head_.size(), limits)) {
    case http::ParseState::incomplete:
      return bytes.size();
    case http::ParseState::failed:
      problem_ = "malformed reply: " + std::string(http::describe(head->error()).text);
      state_ = State::to_close;
      return bytes.size();
    case http::ParseState::complete:
      break;
  }
  size_t used = head->size() - before;
  begin_body(*head);
  head_.clear();
  return used;
}

void ReplyWatch::begin_body(const http::Head& head) {
  bool interim = head.status() >= 100 && head.status() < 200 && head.status() != 101;
  if (interim) return;  // the final reply's head follows
  status_ = head.status();
  if (status_ == 101 || (method_ == http::Method::connect && status_ < 300)) {
    state_ = State::to_close;  // what follows is not HTTP
    return;
  }
  http::Framing framing = http::response_framing(head, head_.data(), method_);
  if (framing.error != http::FramingError::none) problem_ = "malformed reply: " + std::string(http::describe(framing.error).text);
  remaining_ = framing.length;
  switch (framing.error != http::FramingError::none ? http::BodyKind::to_close : framing.kind) {
    case http::BodyKind::none: state_ = State::finished; break;
    case http::BodyKind::length: state_ = remaining_ ? State::length : State::finished; break;
    case http::BodyKind::chunked: state_ = State::chunked; break;
    case http::BodyKind::to_close: state_ = State::to_close; break;
  }
}

size_t ReplyWatch::feed_chunked(std::string_view bytes) {
  size_t used = 0;
  for (;;) {
    http::ChunkedDecoder::Result r = chunked_.feed(bytes.substr(used));
    used += r.consumed;
    switch (r.state) {
      case http::ChunkedDecoder::State::data: continue;
      case http::ChunkedDecoder::State::more: return bytes.size();
      case http::ChunkedDecoder::State::end: state_ = State::finished; return used;
      case http::ChunkedDecoder::State::failed:
        problem_ = "malformed reply: bad chunk";
        state_ = State::to_close;
        return bytes.size();
    }
  }
}

void ReplyWatch::end_of_connection() {
  if (state_ == State::finished) return;
  if (problem_.empty() && !any_) problem_ = "the connection was closed without a reply";
  else if (problem_.empty() && state_ != State::to_close) problem_ = "the reply is not complete";
  state_ = State::finished;
}

}  // namespace loligo::helpers
