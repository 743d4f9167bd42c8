#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"
#include "net/address.h"
#include "net/tls_context.h"

namespace loligo::net {

namespace {
constexpr size_t kRecordBytes = 16'384;   // RFC 8446 section 5.1: the most that one record carries
}

std::unique_ptr<TlsStream> TlsStream::accept(int fd, std::shared_ptr<const TlsServerContext> context) {
  std::unique_ptr<TlsStream> stream(new TlsStream(fd));
  stream->server_ = std::move(context);
  stream->ssl_ = SSL_new(stream->server_->state().context.get());
  if (!stream->ssl_ || SSL_set_fd(stream->ssl_, fd) != 1) {
    stream->fail(ENOMEM, "out of memory");
    return stream;
  }
  SSL_set_app_data(stream->ssl_, stream.get());
  SSL_set_accept_state(stream->ssl_);
  return stream;
}

std::unique_ptr<TlsStream> TlsStream::connect(int fd, std::shared_ptr<const TlsClientContext> context, std::string_view host,
                                              uint16_t port) {
  std::unique_ptr<TlsStream> stream(new TlsStream(fd));
  stream->client_ = std::move(context);
  TlsClientContext::State& state = stream->client_->state();
  SSL* ssl = stream->ssl_ = SSL_new(state.context.get());
  std::string name = state.domain.empty() ? base::to_lower(host) : state.domain;
  if (!name.empty() && name.back() == '.') name.pop_back();
  bool done = ssl && SSL_set_fd(ssl, fd) == 1;
  if (done) {
    SSL_set_app_data(ssl, stream.get());
    SSL_set_connect_state(ssl);
    X509_VERIFY_PARAM* verify = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool check = state.flags.verify_domain;
    // Addresses are verified against iPAddress entries and not sent as a name (RFC 6066 section 3).
    if (auto address = Address::parse(name)) {
      if (check) done = X509_VERIFY_PARAM_set1_ip_asc(verify, address->host().c_str()) == 1;
    } else {
      if (check) done = !name.empty() && X509_VERIFY_PARAM_set1_host(verify, name.c_str(), name.size()) == 1;
      if (done && !name.empty() && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1) stream->sni_ = name;
    }
  }
  if (!done) {
    ERR_clear_error();
    stream->fail(ssl ? EPROTO : ENOMEM, ssl ? "'" + name + "' cannot be verified as a host name" : "out of memory");
    return stream;
  }
  stream->peer_ = name + ' ' + base::to_lower(host) + ':' + std::to_string(port);
  if (SslSession session = state.take_session(stream->peer_)) SSL_set_session(ssl, session.get());
  return stream;
}

TlsStream::~TlsStream() {
  if (!ssl_) return;
  if (established_ && broken_.status == IoStatus::ok) {
    ERR_clear_error();
    if (!shutdown_sent_) SSL_shutdown(ssl_);   // once, without waiting: the other side learns that nothing was cut off
    // Else freeing it would take the session out of the cache, as after an attack.
    SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  SSL_free(ssl_);
  ERR_clear_error();
}

IoResult TlsStream::fail(int error, std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  broken_ = {IoStatus::failed, 0, error};
  return broken_;
}

// OpenSSL's outcome as ours. Called right after the failed call.
IoResult TlsStream::classify(int ssl_result) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, ssl_result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {IoStatus::again};
    case SSL_ERROR_ZERO_RETURN:
      return {IoStatus::closed};
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return fail(system_error ? system_error : ECONNRESET, std::strerror(system_error ? system_error : ECONNRESET));
    default:
      break;
  }
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    truncated_ = true;
    if (established_) return {IoStatus::closed};
    return fail(ECONNRESET, "closed by the other side during the handshake");
  }
  std::string why = openssl_reason();
  if (!established_)
    if (std::string refused = peer_verify_error(); !refused.empty()) why = "certificate refused: " + refused;
  return fail(EPROTO, std::move(why));
}

IoResult TlsStream::handshake() {
  if (established_ || broken_.status != IoStatus::ok) return broken_;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) {
    established_ = true;
    return {IoStatus::ok};
  }
  IoResult outcome = classify(result);
  if (outcome.status == IoStatus::closed) outcome = fail(ECONNRESET, "closed by the other side during the handshake");
  // A session that the server chokes on must not spoil the next attempt as well.
  if (outcome.status == IoStatus::failed && client_) client_->state().forget_sessions(peer_);
  return outcome;
}

IoResult TlsStream::read(char* into, size_t size) {
  if (IoResult ready = handshake(); ready.status != IoStatus::ok) return ready;
  if (shutdown_pending_) shutdown_write();
  size_t total = 0;
  while (total < size) {
    ERR_clear_error();
    errno = 0;
    size_t n = 0;
    const int result = SSL_read_ex(ssl_, into + total, size - total, &n);
    if (result != 1) {
      IoResult outcome = classify(result);
      // What came before an end or a failure is delivered first; OpenSSL, or broken_, repeats the rest.
      return total > 0 ? IoResult{IoStatus::ok, total} : outcome;
    }
    total += n;
  }
  return {IoStatus::ok, total};
}

// Small parts are put together, so that a head and a short body travel in one record and one system call;
// whole records' worth of data is encrypted from where it lies.
IoResult TlsStream::write(const iovec* parts, int count, bool) {
  if (IoResult ready = handshake(); ready.status != IoStatus::ok) return ready;
  char gathered[kRecordBytes];
  size_t total = 0, offset = 0;   // offset: into parts[0]
  while (true) {
    while (count > 0 && offset >= parts->iov_len) offset -= parts->iov_len, ++parts, --count;
    if (count == 0) break;
    const char* from = static_cast<const char*>(parts->iov_base) + offset;
    size_t size = parts->iov_len - offset;
    if (size < kRecordBytes && count > 1) {
      std::memcpy(gathered, from, size);
      for (int i = 1; i < count && size < kRecordBytes; ++i) {
        const size_t more = std::min(parts[i].iov_len, kRecordBytes - size);
        if (more > 0) std::memcpy(gathered + size, parts[i].iov_base, more);
        size += more;
      }
      from = gathered;
    }
    ERR_clear_error();
    errno = 0;
    size_t n = 0;
    const int result = SSL_write_ex(ssl_, from, size, &n);
    if (result != 1) {
      IoResult outcome = classify(result);
      if (outcome.status == IoStatus::closed) outcome = fail(EPIPE, "closed");
      return total > 0 ? IoResult{IoStatus::ok, total} : outcome;
    }
    total += n;
    offset += n;   // may reach over several gathered parts
  }
  return {IoStatus::ok, total};
}

void TlsStream::shutdown_write() {
  if (!established_ || broken_.status != IoStatus::ok) {
    if (!established_) ::shutdown(fd_, SHUT_WR);
    return;
  }
  if (!shutdown_sent_) {
    ERR_clear_error();
    const int result = SSL_shutdown(ssl_);
    shutdown_pending_ = result < 0 && SSL_get_error(ssl_, result) == SSL_ERROR_WANT_WRITE;   // read() tries again
    ERR_clear_error();
    if (shutdown_pending_) return;
    shutdown_sent_ = true;
  }
  ::shutdown(fd_, SHUT_WR);
}

std::string_view TlsStream::tls_version() const { return established_ ? SSL_get_version(ssl_) : std::string_view(); }

std::string_view TlsStream::tls_cipher() const { return established_ ? SSL_get_cipher_name(ssl_) : std::string_view(); }

bool TlsStream::resumed() const { return established_ && SSL_session_reused(ssl_) == 1; }

std::string TlsStream::peer_verify_error() const {
  if (!ssl_) return {};
  const long result = SSL_get_verify_result(ssl_);
  if (result == X509_V_OK) return {};
  return X509_verify_cert_error_string(result);
}

std::string TlsStream::peer_subject() const {
  if (!ssl_) return {};
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  BioPointer text(BIO_new(BIO_s_mem()));
  if (!certificate || !text) return {};
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);   // escapes control characters
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return size > 0 ? std::string(bytes, size_t(size)) : std::string();
}

}  // namespace loligo::net
