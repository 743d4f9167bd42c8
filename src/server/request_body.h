// A request body on its way from a client connection to a fetch: a bounded
// buffer between two machines on one worker. Either side may end first.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loligo::server {

class RequestBody {
 public:
  // `capacity` bytes are held back at most (client_request_buffer_max_size).
  explicit RequestBody(size_t capacity = 64 * 1024) : capacity_(capacity) {}

  class Producer { public: virtual void body_space() = 0; protected: ~Producer() = default; };
  class Consumer { public: virtual void body_arrived() = 0; protected: ~Consumer() = default; };

  Producer* producer = nullptr;
  Consumer* consumer = nullptr;

  // ---- producer ----
  size_t space() const { return buffered() < capacity_ ? capacity_ - buffered() : 0; }
  void push(std::string_view bytes) {
    if (discarding_) { total_ += bytes.size(); return; }
    buffer_.append(bytes);
    total_ += bytes.size();
    if (consumer) consumer->body_arrived();
  }
  void finish(std::string trailers) {
    trailers_ = std::move(trailers);
    finished_ = true;
    if (consumer) consumer->body_arrived();
  }
  void abort() {
    aborted_ = true;
    if (consumer) consumer->body_arrived();
  }

  // ---- consumer ----
  std::string_view data() const { return std::string_view(buffer_).substr(consumed_in_buffer_); }
  void consume(size_t n) {
    consumed_in_buffer_ += n;
    consumed_ += n;
    if (consumed_in_buffer_ == buffer_.size()) buffer_.clear(), consumed_in_buffer_ = 0;
    else if (consumed_in_buffer_ >= capacity_ / 2) buffer_.erase(0, consumed_in_buffer_), consumed_in_buffer_ = 0;
    if (producer && space() >= capacity_ / 4) producer->body_space();
  }
  // Nobody will read it any more: what comes is counted and dropped.
  void discard() {
    discarding_ = true;
    buffer_.clear();
    consumed_in_buffer_ = 0;
    if (producer) producer->body_space();
  }
  bool untouched() const { return consumed_ == 0; }   // a retry can send it from its start
  bool finished() const { return finished_; }
  bool aborted() const { return aborted_; }
  const std::string& trailers() const { return trailers_; }
  uint64_t total() const { return total_; }
  // Known length, or kUnknown for chunked.
  static constexpr uint64_t kUnknown = ~uint64_t(0);
  uint64_t length = kUnknown;

 private:
  size_t buffered() const { return buffer_.size() - consumed_in_buffer_; }
  const size_t capacity_;
  std::string buffer_, trailers_;
  size_t consumed_in_buffer_ = 0;
  uint64_t consumed_ = 0, total_ = 0;
  bool finished_ = false, aborted_ = false, discarding_ = false;
};

}  // namespace loligo::server
