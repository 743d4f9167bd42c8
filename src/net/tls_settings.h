// What squid.conf says about TLS, as plain words: https_port, cache_peer and
// tls_outgoing_options share one parser and this struct. net::Tls* builds contexts from it.
#pragma once
#include <string>
#include <vector>

namespace loligo::net {

struct TlsSettings {
  struct Certificate { std::string cert_file, key_file; };   // key_file empty = in the certificate file
  std::vector<Certificate> certificates;     // several on one port: chosen by SNI
  std::string min_version;                   // "1.0".."1.3", empty = library default (1.2 for https_port)
  std::string cipher;                        // OpenSSL list (TLS 1.2 and below) ; names with TLS_ = 1.3 suites
  std::string options;                       // NO_TLSv1_1,NO_TICKET,... (Squid's words)
  std::string ca_file, ca_path, crl_file, client_ca_file, dh_file, domain;
  std::vector<std::string> flags;            // sslflags words: DONT_VERIFY_PEER, DONT_VERIFY_DOMAIN, NO_SESSION_REUSE, ...
  bool default_ca = true;
};

}  // namespace loligo::net
