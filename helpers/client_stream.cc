#include "helpers/client_stream.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace loligo::helpers {
namespace {

struct FreeAddresses { void operator()(addrinfo* a) const { freeaddrinfo(a); } };
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const std::string& host, const char* port, int family, int flags) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  return Addresses(getaddrinfo(host.c_str(), port, &hints, &found) == 0 ? found : nullptr);
}

std::string number_of(const addrinfo& a) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(a.ai_addr, a.ai_addrlen, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV)) return "?";
  return a.ai_family == AF_INET6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

// "[::1]" -> "::1": brackets are for URLs.
std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

std::string tls_error_text() {
  char text[256] = "closed by the other side";
  if (unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  return text;
}

}  // namespace

void ClientStream::FreeContext::operator()(SSL_CTX* c) const { SSL_CTX_free(c); }
void ClientStream::FreeSession::operator()(SSL* s) const { SSL_free(s); }

ClientStream::ClientStream(const ClientOptions& options, Trace trace) : options_(options), trace_(std::move(trace)) {
  if (!trace_) trace_ = [](const std::string&) {};
}

ClientStream::~ClientStream() {
  if (fd_ >= 0) ::close(fd_);
}

bool ClientStream::connect() {
  trace_("Resolving " + options_.host + " ...");
  Addresses found = resolve(without_brackets(options_.host), options_.port.c_str(), AF_UNSPEC, 0);
  if (!found) return fail("Cannot resolve " + options_.host + ": Host unknown.");
  for (const addrinfo* a = found.get(); a; a = a->ai_next) {
    trace_("Connecting... " + options_.host + " (" + number_of(*a) + ")");
    error_.clear();
    if (connect_to(*a)) {
      trace_("Connected to: " + options_.host + " (" + number_of(*a) + ")");
      return !options_.tls || start_tls();
    }
  }
  return error_.empty() ? fail("Cannot connect to " + options_.host + ":" + options_.port) : false;
}

bool ClientStream::connect_to(const addrinfo& a) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::socket(a.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || !bind_local(a.ai_family)) return false;
  if (::connect(fd_, a.ai_addr, a.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !wait(POLLOUT)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

bool ClientStream::bind_local(int family) {
  if (options_.local_address.empty()) return true;
  Addresses local = resolve(without_brackets(options_.local_address), nullptr, family, AI_NUMERICHOST);
  if (!local || ::bind(fd_, local->ai_addr, local->ai_addrlen) != 0)
    return fail("Cannot use the local address " + options_.local_address);
  return true;
}

bool ClientStream::wait(short poll_events) {
  pollfd p{fd_, poll_events, 0};
  int n;
  do n = ::poll(&p, 1, options_.timeout_seconds * 1000);
  while (n < 0 && errno == EINTR);
  return n > 0 || fail("Timed out after " + std::to_string(options_.timeout_seconds) + " seconds");
}

bool ClientStream::start_tls() {
  const bool anonymous = options_.tls_anonymous;
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* c = context_.get();
  std::string ciphers = !options_.tls_parameters.empty() ? options_.tls_parameters : anonymous ? "aNULL:ALL:@SECLEVEL=0" : "";
  const char* authorities = options_.tls_authorities.c_str();
  const char* certificate = options_.tls_certificate.c_str();
  if (!ciphers.empty() && SSL_CTX_set_cipher_list(c, ciphers.c_str()) != 1) return fail("No usable cipher in " + ciphers);
  if (anonymous) SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION);  // TLS 1.3 has no anonymous suites
  bool trust = *authorities ? SSL_CTX_load_verify_locations(c, authorities, nullptr) == 1 : SSL_CTX_set_default_verify_paths(c) == 1;
  if (!trust) return fail("Cannot read certificates from " + options_.tls_authorities);
  if (*certificate && (SSL_CTX_use_certificate_chain_file(c, certificate) != 1 ||
                       SSL_CTX_use_PrivateKey_file(c, certificate, SSL_FILETYPE_PEM) != 1))
    return fail("Cannot use the certificate and key in " + options_.tls_certificate);

  SSL_CTX_set_verify(c, anonymous ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  session_.reset(SSL_new(c));
  std::string name = without_brackets(options_.host);
  X509_VERIFY_PARAM* checks = SSL_get0_param(session_.get());
  bool is_address = X509_VERIFY_PARAM_set1_ip_asc(checks, name.c_str()) == 1;
  if (!is_address) {
    SSL_set_tlsext_host_name(session_.get(), name.c_str());
    SSL_set1_host(session_.get(), name.c_str());
  }
  SSL_set_fd(session_.get(), fd_);
  for (int r; (r = SSL_connect(session_.get())) != 1;)
    if (!wait_for_tls(r, "TLS handshake")) return false;
  return true;
}

// After a TLS call that did not finish: waits for what it wants. False: it failed, or timed out.
bool ClientStream::wait_for_tls(int result, const char* what) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ: return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE: return wait(POLLOUT);
    default: return fail(std::string(what) + ": " + tls_error_text());
  }
}

bool ClientStream::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    long n = session_ ? SSL_write(session_.get(), bytes.data(), int(bytes.size()))
                      : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes.remove_prefix(size_t(n));
    else if (session_ ? !wait_for_tls(int(n), "TLS write") : errno == EAGAIN ? !wait(POLLOUT) : errno != EINTR)
      return error_.empty() ? fail(std::string("Cannot send: ") + std::strerror(errno)) : false;
  }
  return true;
}

long ClientStream::read(char* buffer, size_t size) {
  for (;;) {
    if (session_) {
      int n = SSL_read(session_.get(), buffer, int(size));
      if (n > 0) return n;
      if (SSL_get_error(session_.get(), n) == SSL_ERROR_ZERO_RETURN) return 0;
      if (!wait_for_tls(n, "TLS read")) return -1;
      continue;
    }
    ssize_t n = ::recv(fd_, buffer, size, 0);
    if (n >= 0) return n;
    if (errno == EAGAIN ? !wait(POLLIN) : errno != EINTR) {
      if (error_.empty()) fail(std::string("Cannot read: ") + std::strerror(errno));
      return -1;
    }
  }
}

}  // namespace loligo::helpers
