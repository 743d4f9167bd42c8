// A byte stream under a connection: plain TCP or TLS, one code path above it.
// Non-blocking, owned by one connection on one worker. Errors are values.
#pragma once
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace loligo::net {

enum class IoStatus : unsigned char {
  ok,      // `bytes` moved (at least one)
  again,   // nothing now; an event will come
  closed,  // read: the other side ended its direction in order (TLS: with close_notify, or the transport's end)
  failed,  // `error` is an errno, or EPROTO for TLS
};
struct IoResult {
  IoStatus status;
  size_t bytes = 0;
  int error = 0;
};

class Stream {
 public:
  explicit Stream(int fd) : fd_(fd) {}
  virtual ~Stream();   // closes the descriptor
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int fd() const { return fd_; }
  virtual IoResult read(char* into, size_t size) = 0;
  // `more`: further bytes follow at once, so they may share a packet.
  virtual IoResult write(const iovec* parts, int count, bool more = false) = 0;
  // Bytes of a file, which should be in the page cache: the plain stream never sees them, TLS reads a piece at a time.
  virtual IoResult send_file(int file, uint64_t offset, size_t size);
  virtual void shutdown_write() = 0;
  // TLS: call on every event until it is not `again`. Plain: ok at once.
  virtual IoResult handshake() { return {IoStatus::ok}; }
  // True if a short read means that the socket is drained (plain TCP); TLS may hold decrypted bytes.
  virtual bool short_read_drains() const { return true; }
  virtual bool is_tls() const { return false; }
  // TLS facts for logs; empty when plain.
  virtual std::string_view tls_version() const { return {}; }
  virtual std::string_view tls_cipher() const { return {}; }
  virtual std::string_view sni() const { return {}; }
  virtual std::string_view failure() const { return {}; }   // why a handshake failed
  // The transport ended without the protocol's own end: what ends with the connection may have been cut.
  virtual bool truncated() const { return false; }

 protected:
  int fd_;
};

class PlainStream final : public Stream {
 public:
  using Stream::Stream;
  IoResult read(char* into, size_t size) override;
  IoResult write(const iovec* parts, int count, bool more = false) override;
  IoResult send_file(int file, uint64_t offset, size_t size) override;
  void shutdown_write() override;
};

}  // namespace loligo::net
