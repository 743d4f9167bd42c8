// TLS as a kind of stream: contexts built from squid.conf, and the stream over one descriptor.
//
// Contexts are built at start and on reconfigure (file reads: blocking) and are
// shared by all workers; their session tickets and caches are too. A TlsStream
// belongs to one connection on one worker and never blocks. Only HTTP/1.1 is
// offered by ALPN (RFC 7301). The process must ignore SIGPIPE: OpenSSL writes to
// sockets without MSG_NOSIGNAL.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/stream.h"
#include "net/tls_settings.h"

struct ssl_st;

namespace loligo::net {

// https_port: certificates by server name (exact names, then one-label wildcards; the first certificate for all
// others), and client certificates where clientca= asks for them.
class TlsServerContext {
 public:
  // Null with `error`, which names the file and the reason.
  static std::shared_ptr<const TlsServerContext> build(const TlsSettings&, std::string& error);
  ~TlsServerContext();

  struct State;
  State& state() const { return *state_; }

 private:
  explicit TlsServerContext(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

// cache_peer tls and https:// origins: the server's certificate and name are verified unless sslflags say otherwise.
class TlsClientContext {
 public:
  static std::shared_ptr<const TlsClientContext> build(const TlsSettings&, std::string& error);
  ~TlsClientContext();

  struct State;
  State& state() const { return *state_; }

 private:
  explicit TlsClientContext(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

// Errors are errno values, EPROTO for what TLS itself refuses; failure() says why in words.
// After write() gave `again`, the next write must begin with the same bytes, as many or more (they may have moved).
// A write is short only when the socket is full.
class TlsStream final : public Stream {
 public:
  // Takes the descriptor, which is non-blocking and, for connect, connected. Never null; out of memory shows in handshake().
  static std::unique_ptr<TlsStream> accept(int fd, std::shared_ptr<const TlsServerContext>);
  // `host` is the name (or IP literal) that is sent as SNI and verified, unless the settings have `domain`.
  static std::unique_ptr<TlsStream> connect(int fd, std::shared_ptr<const TlsClientContext>, std::string_view host,
                                            uint16_t port);
  ~TlsStream() override;

  IoResult read(char* into, size_t size) override;   // fills `into` as far as possible
  IoResult write(const iovec* parts, int count, bool more = false) override;
  void shutdown_write() override;                    // close_notify, then the transport's end of file
  IoResult handshake() override;                     // read() and write() continue it too
  bool short_read_drains() const override { return false; }
  bool is_tls() const override { return true; }
  std::string_view tls_version() const override;     // "TLSv1.3"; empty before the handshake is done
  std::string_view tls_cipher() const override;
  std::string_view sni() const override { return sni_; }   // sent or received; lower case
  std::string_view failure() const override { return failure_; }

  bool established() const { return established_; }
  bool resumed() const;
  // The transport ended without close_notify: a body that ends with the connection may have been cut (RFC 9112 section 9.8).
  bool truncated() const override { return truncated_; }
  // Why the other side's certificate is not trusted; empty when it is, or when there is none.
  std::string peer_verify_error() const;
  // Subject of the other side's certificate ("CN=a,O=b"), empty without one.
  std::string peer_subject() const;

 private:
  friend struct TlsServerContext::State;
  friend struct TlsClientContext::State;

  explicit TlsStream(int fd) : Stream(fd) {}
  IoResult classify(int ssl_result);
  IoResult fail(int error, std::string why);

  ssl_st* ssl_ = nullptr;
  std::shared_ptr<const TlsServerContext> server_;
  std::shared_ptr<const TlsClientContext> client_;
  std::string sni_, failure_;
  std::string peer_;           // whom we mean to talk to, "host:port"; key of sessions
  IoResult broken_{IoStatus::ok};   // not ok: the outcome of every further call
  bool established_ = false, truncated_ = false, shutdown_pending_ = false, shutdown_sent_ = false;
};

}  // namespace loligo::net
