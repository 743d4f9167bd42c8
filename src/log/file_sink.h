// A log file or pipe. Private to the log room; see sink.h.
#pragma once
#include <string>
#include <utility>

#include "log/sink.h"

namespace loligo::log {

class FileSink final : public Sink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}
  ~FileSink() override;
  bool is_open() const override { return fd_ >= 0; }
  bool open(std::string& why) override;
  Taken write(std::string_view lines, std::string& why) override;
  void rotate(int keep) override;

 private:
  void close_file();
  Taken write_regular(std::string_view lines);
  Taken write_when_ready(std::string_view lines);
  size_t take_back(std::string_view lines, size_t done);

  std::string path_;
  int fd_ = -1;
  bool regular_ = false;
};

}  // namespace loligo::log
