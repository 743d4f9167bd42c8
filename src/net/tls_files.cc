// Errors and PEM files.
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstring>

#include "base/text.h"
#include "net/dns_reply.h"
#include "net/tls_openssl.h"

namespace loligo::net {

namespace {

// OpenSSL would ask the terminal for a passphrase, and a daemon has none.
int no_passphrase(char*, int, int, void*) { return 0; }

BioPointer open_file(const std::string& path, std::string& error) {
  ERR_clear_error();
  BioPointer file(BIO_new_file(path.c_str(), "r"));
  if (!file) error = path + ": " + openssl_reason();
  return file;
}

void add_name(std::vector<std::string>& names, const ASN1_STRING* text) {
  const char* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  std::string name = base::to_lower({bytes, size_t(ASN1_STRING_length(text))});
  // A wildcard stands for exactly the first label.
  if (is_host_name(name.starts_with("*.") ? std::string_view(name).substr(2) : std::string_view(name))) names.push_back(std::move(name));
}

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  auto* alternatives = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type == GEN_DNS) add_name(names, name->d.dNSName);
  }
  GENERAL_NAMES_free(alternatives);
  if (!names.empty()) return names;
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
    add_name(names, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  return names;
}

bool load_chain(const std::string& path, LoadedCertificate& loaded, std::string& error) {
  BioPointer file = open_file(path, error);
  if (!file) return false;
  loaded.certificate.reset(PEM_read_bio_X509_AUX(file.get(), nullptr, no_passphrase, nullptr));
  if (!loaded.certificate) {
    error = path + ": no certificate: " + openssl_reason();
    return false;
  }
  loaded.chain.reset(sk_X509_new_null());
  while (X509* next = PEM_read_bio_X509(file.get(), nullptr, no_passphrase, nullptr)) sk_X509_push(loaded.chain.get(), next);
  // The end of the file shows as "no start line"; anything else is damage.
  if (unsigned long last = ERR_peek_last_error(); last && ERR_GET_REASON(last) != PEM_R_NO_START_LINE) {
    error = path + ": " + openssl_reason();
    return false;
  }
  ERR_clear_error();
  return true;
}

}  // namespace

std::string openssl_reason() {
  unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  if (const char* reason = ERR_reason_error_string(code)) return reason;
  return "error " + std::to_string(code);
}

bool load_certificate(const TlsSettings::Certificate& files, LoadedCertificate& loaded, std::string& error) {
  if (!load_chain(files.cert_file, loaded, error)) return false;
  const std::string& key_file = files.key_file.empty() ? files.cert_file : files.key_file;
  BioPointer file = open_file(key_file, error);
  if (!file) return false;
  loaded.key.reset(PEM_read_bio_PrivateKey(file.get(), nullptr, no_passphrase, nullptr));
  if (!loaded.key) {
    error = key_file + ": no usable private key (encrypted keys cannot be read): " + openssl_reason();
    return false;
  }
  if (X509_check_private_key(loaded.certificate.get(), loaded.key.get()) != 1) {
    error = key_file + ": is not the key of " + files.cert_file + ": " + openssl_reason();
    return false;
  }
  loaded.names = names_of(loaded.certificate.get());
  return true;
}

// tls-dh=[curve:]file
bool load_dh(SSL_CTX* context, const std::string& words, std::string& error) {
  SSL_CTX_set_dh_auto(context, 1);
  if (words.empty()) return true;
  std::string path = words;
  // A path may hold a colon, but not before its first slash.
  if (size_t colon = words.find(':'); colon != std::string::npos && words.find('/') > colon) {
    const std::string curve = words.substr(0, colon);
    path = words.substr(colon + 1);
    if (SSL_CTX_set1_groups_list(context, curve.c_str()) != 1) {
      error = "tls-dh: '" + curve + "' is no known curve: " + openssl_reason();
      return false;
    }
  }
  if (path.empty()) return true;
  BioPointer file = open_file(path, error);
  if (!file) return false;
  KeyPointer parameters(PEM_read_bio_Parameters(file.get(), nullptr));
  if (!parameters || SSL_CTX_set0_tmp_dh_pkey(context, parameters.get()) != 1) {
    error = path + ": no usable DH parameters: " + openssl_reason();
    return false;
  }
  (void)parameters.release();   // the context's now
  return true;
}

bool load_crl(SSL_CTX* context, const std::string& path, std::string& error) {
  if (path.empty()) return true;
  BioPointer file = open_file(path, error);
  if (!file) return false;
  int count = 0;
  while (X509_CRL* list = PEM_read_bio_X509_CRL(file.get(), nullptr, no_passphrase, nullptr)) {
    count += X509_STORE_add_crl(SSL_CTX_get_cert_store(context), list);
    X509_CRL_free(list);
  }
  if (count == 0) error = path + ": no revocation list: " + openssl_reason();
  ERR_clear_error();
  return count > 0;
}

}  // namespace loligo::net
