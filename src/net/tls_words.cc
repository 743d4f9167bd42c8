// squid.conf's words for versions, options, ciphers and flags, applied to a context.
#include <openssl/err.h>

#include <charconv>

#include "net/tls_openssl.h"

namespace loligo::net {

namespace {

struct OptionRow { std::string_view word; uint64_t bits; };
// Bits of 0: workarounds and protocols that OpenSSL 3 has dropped, or that are always on.
constexpr OptionRow kOptions[] = {
    {"ALL", SSL_OP_ALL},
    {"ALLOW_NO_DHE_KEX", SSL_OP_ALLOW_NO_DHE_KEX},
    {"ALLOW_UNSAFE_LEGACY_RENEGOTIATION", SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION},
    {"CIPHER_SERVER_PREFERENCE", SSL_OP_CIPHER_SERVER_PREFERENCE},
    {"CISCO_ANYCONNECT", SSL_OP_CISCO_ANYCONNECT},
    {"CRYPTOPRO_TLSEXT_BUG", SSL_OP_CRYPTOPRO_TLSEXT_BUG},
    {"DONT_INSERT_EMPTY_FRAGMENTS", SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS},
    {"EPHEMERAL_RSA", 0},
    {"IGNORE_UNEXPECTED_EOF", SSL_OP_IGNORE_UNEXPECTED_EOF},
    {"LEGACY_SERVER_CONNECT", SSL_OP_LEGACY_SERVER_CONNECT},
    {"MICROSOFT_BIG_SSLV3_BUFFER", 0},
    {"MICROSOFT_SESS_ID_BUG", 0},
    {"MSIE_SSLV2_RSA_PADDING", 0},
    {"NETSCAPE_CA_DN_BUG", 0},
    {"NETSCAPE_CHALLENGE_BUG", 0},
    {"NETSCAPE_DEMO_CIPHER_CHANGE_BUG", 0},
    {"NETSCAPE_REUSE_CIPHER_CHANGE_BUG", 0},
    {"NO_ANTI_REPLAY", SSL_OP_NO_ANTI_REPLAY},
    {"NO_COMPRESSION", SSL_OP_NO_COMPRESSION},
    {"NO_ENCRYPT_THEN_MAC", SSL_OP_NO_ENCRYPT_THEN_MAC},
    {"NO_RENEGOTIATION", SSL_OP_NO_RENEGOTIATION},
    {"NO_SESSION_RESUMPTION_ON_RENEGOTIATION", SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION},
    {"NO_SSLv2", 0},
    {"NO_SSLv3", SSL_OP_NO_SSLv3},
    {"NO_TICKET", SSL_OP_NO_TICKET},
    {"NO_TLSv1", SSL_OP_NO_TLSv1},
    {"NO_TLSv1_1", SSL_OP_NO_TLSv1_1},
    {"NO_TLSv1_2", SSL_OP_NO_TLSv1_2},
    {"NO_TLSv1_3", SSL_OP_NO_TLSv1_3},
    {"PKCS1_CHECK_1", 0},
    {"PKCS1_CHECK_2", 0},
    {"PRIORITIZE_CHACHA", SSL_OP_PRIORITIZE_CHACHA},
    {"SINGLE_DH_USE", 0},
    {"SINGLE_ECDH_USE", 0},
    {"SSLEAY_080_CLIENT_DH_BUG", 0},
    {"SSLREF2_REUSE_CERT_TYPE_BUG", 0},
    {"TLS_BLOCK_PADDING_BUG", 0},
    {"TLS_D5_BUG", 0},
    {"TLS_ROLLBACK_BUG", SSL_OP_TLS_ROLLBACK_BUG},
};

struct FlagRow { std::string_view word; bool TlsFlags::*member; bool value; };
constexpr FlagRow kFlags[] = {
    {"CONDITIONAL_AUTH", &TlsFlags::conditional_auth, true},
    {"DELAYED_AUTH", &TlsFlags::delayed_auth, true},
    {"DONT_VERIFY_DOMAIN", &TlsFlags::verify_domain, false},
    {"DONT_VERIFY_PEER", &TlsFlags::verify_peer, false},
    {"NO_DEFAULT_CA", &TlsFlags::default_ca, false},
    {"NO_SESSION_REUSE", &TlsFlags::reuse_sessions, false},
    {"VERIFY_CRL", &TlsFlags::verify_crl, true},
    {"VERIFY_CRL_ALL", &TlsFlags::verify_crl_all, true},
};

struct VersionRow { std::string_view word; int version; };
constexpr VersionRow kVersions[] = {
    {"1.0", TLS1_VERSION}, {"1.1", TLS1_1_VERSION}, {"1.2", TLS1_2_VERSION}, {"1.3", TLS1_3_VERSION},
};

template <class Row, size_t N>
const Row* find_row(const Row (&rows)[N], std::string_view word) {
  for (const Row& row : rows)
    if (row.word == word) return &row;
  return nullptr;
}

// Calls `visit` with each word until it gives false.
template <class Visit>
bool each_word(std::string_view text, const char* separators, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0 && !visit(text.substr(0, end))) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

// "NO_TLSv1_1,-NO_TICKET,0x4000": '-' or '!' takes away.
bool apply_options(SSL_CTX* context, const std::string& text, std::string& error) {
  return each_word(text, ":, ", [&](std::string_view word) {
    const std::string_view given = word;
    const bool remove = word.front() == '-' || word.front() == '!';
    if (remove || word.front() == '+') word.remove_prefix(1);
    uint64_t bits = 0;
    if (const OptionRow* row = find_row(kOptions, word)) {
      bits = row->bits;
    } else {
      const bool hexadecimal = word.starts_with("0x");
      auto [end, code] = std::from_chars(word.data() + (hexadecimal ? 2 : 0), word.data() + word.size(), bits, 16);
      if (!hexadecimal || code != std::errc{} || end != word.data() + word.size()) {
        error = "TLS options: '" + std::string(given) + "' is not known";
        return false;
      }
    }
    if (remove) SSL_CTX_clear_options(context, bits);
    else SSL_CTX_set_options(context, bits);
    return true;
  });
}

// OpenSSL keeps the ciphers of TLS 1.3 (names that begin with TLS_) in a list of their own.
bool apply_ciphers(SSL_CTX* context, const std::string& text, std::string& error) {
  std::string older, suites;
  each_word(text, ":, ", [&](std::string_view word) {
    std::string& list = word.starts_with("TLS_") ? suites : older;
    if (!list.empty()) list += ':';
    list += word;
    return true;
  });
  ERR_clear_error();
  if ((older.empty() || SSL_CTX_set_cipher_list(context, older.c_str()) == 1) &&
      (suites.empty() || SSL_CTX_set_ciphersuites(context, suites.c_str()) == 1))
    return true;
  error = "TLS cipher '" + text + "': " + openssl_reason();
  return false;
}

}  // namespace

bool parse_tls_flags(const std::vector<std::string>& words, TlsFlags& flags, std::string& error) {
  for (const std::string& word : words) {
    const FlagRow* row = find_row(kFlags, word);
    if (!row) {
      error = "TLS flags: '" + word + "' is not known";
      return false;
    }
    flags.*row->member = row->value;
  }
  return true;
}

bool apply_common(SSL_CTX* context, const TlsSettings& settings, const TlsFlags& flags, std::string& error) {
  // Renegotiation lets a client make the server work for free; compression leaks secrets (CRIME).
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_SSLv3);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);   // one recv for a record's header and body
  if (!settings.min_version.empty()) {
    const VersionRow* row = find_row(kVersions, settings.min_version);
    if (!row || SSL_CTX_set_min_proto_version(context, row->version) != 1) {
      error = "TLS min-version '" + settings.min_version + "' is not known; 1.0 to 1.3 are";
      return false;
    }
  }
  if (!apply_options(context, settings.options, error) || !apply_ciphers(context, settings.cipher, error) ||
      !load_dh(context, settings.dh_file, error) || !load_crl(context, settings.crl_file, error))
    return false;
  unsigned long crl = 0;
  if (flags.verify_crl || !settings.crl_file.empty()) crl |= X509_V_FLAG_CRL_CHECK;
  if (flags.verify_crl_all) crl |= X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
  if (crl) X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), crl);
  return true;
}

}  // namespace loligo::net
