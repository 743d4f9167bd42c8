// The TLS words of squid.conf: https_port, cache_peer and tls_outgoing_options
// spell the same options with and without a prefix (tls-cert=, sslcert=, cert=).
// Pure functions over text; no OpenSSL. One thread (configuration).
#pragma once
#include <string>
#include <string_view>

#include "config/problem.h"
#include "net/tls_settings.h"

namespace loligo::net {

// Applies one word. False when it is no TLS option at all; a wrong value is reported and still gives true.
bool parse_tls_option(std::string_view word, TlsSettings&, const config::Place&, config::Problems&);
// As options, each with its blank in front: " tls-cert=/a.pem tls-min-version=1.2".
std::string tls_options_text(const TlsSettings&, std::string_view prefix);

}  // namespace loligo::net
