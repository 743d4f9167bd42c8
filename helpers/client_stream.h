// One connection of loligoclient: TCP, or TLS over it. Every wait ends after
// the timeout. Owner: the caller; one thread. Errors are texts, ready to show.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "helpers/client_options.h"

struct addrinfo;
typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

namespace loligo::helpers {

class ClientStream {
 public:
  using Trace = std::function<void(const std::string&)>;
  explicit ClientStream(const ClientOptions& options, Trace trace = {});
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // Tries every address of the host in turn. False with error().
  bool connect();
  bool write_all(std::string_view bytes);
  // Bytes read, 0 at the end of the connection, -1 with error().
  long read(char* buffer, size_t size);
  const std::string& error() const { return error_; }

 private:
  struct FreeContext { void operator()(SSL_CTX*) const; };
  struct FreeSession { void operator()(SSL*) const; };
  bool connect_to(const addrinfo&);
  bool bind_local(int family);
  bool start_tls();
  bool wait(short poll_events);
  bool wait_for_tls(int result, const char* what);
  bool fail(std::string text) { error_ = std::move(text); return false; }

  const ClientOptions& options_;
  Trace trace_;
  int fd_ = -1;
  std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<SSL, FreeSession> session_;
  std::string error_;
};

}  // namespace loligo::helpers
