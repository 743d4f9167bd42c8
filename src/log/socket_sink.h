// Logs sent over sockets: syslog (RFC 3164 form, one datagram a line), UDP and
// TCP collectors. Sockets never block. Private to the log room; see sink.h.
#pragma once
#include <string>
#include <utility>

#include "log/sink.h"

namespace loligo::log {

// Common to all: a connected, non-blocking socket.
class SocketSink : public Sink {
 public:
  explicit SocketSink(Target target) : target_(std::move(target)) {}
  ~SocketSink() override { close_socket(); }
  bool is_open() const override { return fd_ >= 0; }

 protected:
  void close_socket();
  bool connect_to_host(int type, std::string& why);
  Taken failure(size_t done, std::string& why);

  Target target_;
  int fd_ = -1;
};

class SyslogSink final : public SocketSink {
 public:
  using SocketSink::SocketSink;
  bool open(std::string& why) override;
  Taken write(std::string_view lines, std::string& why) override;

 private:
  std::string datagram_;
};

class UdpSink final : public SocketSink {
 public:
  static constexpr size_t kPackedBytes = 1400;  // of lines in one datagram: fits an Ethernet frame
  UdpSink(Target target, bool pack) : SocketSink(std::move(target)), pack_(pack) {}
  bool open(std::string& why) override { return connect_to_host(2 /* SOCK_DGRAM */, why); }
  Taken write(std::string_view lines, std::string& why) override;

 private:
  bool pack_;
};

class TcpSink final : public SocketSink {
 public:
  using SocketSink::SocketSink;
  bool open(std::string& why) override;
  Taken write(std::string_view lines, std::string& why) override;

 private:
  bool connecting_ = false;
};

}  // namespace loligo::log
