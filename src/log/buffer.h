// A growing run of bytes into which log lines are rendered. Keeps its memory
// when cleared, so that rendering allocates nothing once it is warm.
// Owner: a worker's log or a queue entry. One thread at a time.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace loligo::log {

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer& other) { append(other.view()); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  void swap(Buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  const char* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  void clear() { size_ = 0; }
  void truncate(size_t size) { if (size < size_) size_ = size; }

  // Room for `bytes` more: write there, then commit(the end of what was written).
  char* reserve(size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return bytes_.get() + size_;
  }
  void commit(const char* end) { size_ = size_t(end - bytes_.get()); }

  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void push(char c) {
    *reserve(1) = c;
    ++size_;
  }

 private:
  void grow(size_t bytes) {
    size_t wanted = std::max<size_t>({capacity_ * 2, size_ + bytes, 256});
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (size_) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = wanted;
  }

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace loligo::log
