// OpenSSL's objects with owners, its errors as text, and PEM files. Included by the
// tls_*.cc files only. Reading files blocks: start and reconfigure only.
#pragma once
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls_settings.h"

namespace loligo::net {

template <auto Free>
struct Freer {
  template <class T> void operator()(T* object) const { Free(object); }
};
inline void free_certificates(STACK_OF(X509)* stack) { sk_X509_pop_free(stack, X509_free); }

using SslContext = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using SslSession = std::unique_ptr<SSL_SESSION, Freer<SSL_SESSION_free>>;
using X509Pointer = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using ChainPointer = std::unique_ptr<STACK_OF(X509), Freer<free_certificates>>;
using BioPointer = std::unique_ptr<BIO, Freer<BIO_free>>;

// The first error in this thread's queue, in words; empties the queue.
std::string openssl_reason();

struct LoadedCertificate {
  X509Pointer certificate;
  KeyPointer key;
  ChainPointer chain;               // what follows the certificate in its file
  std::vector<std::string> names;   // lower case: DNS names of subjectAltName, else the common name (RFC 6125 section 6.4.4)
};
// False with `error` naming the file and the reason; a key that does not fit its certificate is one.
bool load_certificate(const TlsSettings::Certificate&, LoadedCertificate&, std::string& error);
bool load_dh(SSL_CTX*, const std::string& curve_and_file, std::string& error);
bool load_crl(SSL_CTX*, const std::string& file, std::string& error);

// sslflags words.
struct TlsFlags {
  bool verify_peer = true, verify_domain = true, default_ca = true, reuse_sessions = true;
  bool delayed_auth = false, conditional_auth = false, verify_crl = false, verify_crl_all = false;
};
bool parse_tls_flags(const std::vector<std::string>& words, TlsFlags&, std::string& error);

// What servers and clients have in common: versions, options, ciphers, groups, CRL, modes.
bool apply_common(SSL_CTX*, const TlsSettings&, const TlsFlags&, std::string& error);

}  // namespace loligo::net
