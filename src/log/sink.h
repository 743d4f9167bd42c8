// The end of a log line's way: a file, a pipe, a syslog socket, a UDP or TCP
// collector. A sink takes whole lines and says how many bytes it has taken.
//
// Owner: a Destination. Thread: the writer's (opened once by main before the
// writer knows it). write() waits for a file's disk, but never for a reader.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "log/target.h"

namespace loligo::log {

struct Taken {
  size_t bytes = 0;         // of what was given, from its start
  bool failed = false;      // the sink is closed now; else, where bytes are left, they would have to wait
  uint32_t lost_lines = 0;  // of the bytes taken, lines that went nowhere (a datagram refused or too large)
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool is_open() const = 0;
  // False with a reason. Must be called again after a failure.
  virtual bool open(std::string& why) = 0;
  // `lines` ends with a newline; it may begin within a line that an earlier call took in part.
  virtual Taken write(std::string_view lines, std::string& why) = 0;
  // Gives the name of what was written so far to file.0 and goes on in a new one; with 0 only opens again.
  virtual void rotate(int /*keep*/) {}
};

struct SinkOptions {
  bool pack_datagrams = false;  // several lines in one UDP datagram
};
std::unique_ptr<Sink> make_sink(const Target&, const SinkOptions&);

}  // namespace loligo::log
