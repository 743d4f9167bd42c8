#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/rand.h>

#include "base/text.h"
#include "net/dns_reply.h"

namespace loligo::net {

namespace {

constexpr long kSessionSeconds = 3600;
constexpr long kServerSessions = 20'480;        // in the cache for clients without tickets
constexpr size_t kPeersWithSessions = 1024, kSessionsPerPeer = 4;
constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// RFC 7301 section 3.2: a client that names protocols, but none of ours, is told so.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kHttp11, sizeof kHttp11, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool use(SSL_CTX* context, const LoadedCertificate& c) {
  return SSL_CTX_use_cert_and_key(context, c.certificate.get(), c.key.get(), c.chain.get(), 1) == 1;
}

bool load_authorities(SSL_CTX* context, const TlsSettings& settings, bool with_default, std::string& error) {
  ERR_clear_error();
  if (!settings.ca_file.empty() && SSL_CTX_load_verify_file(context, settings.ca_file.c_str()) != 1) {
    error = settings.ca_file + ": " + openssl_reason();
    return false;
  }
  if (!settings.ca_path.empty() && SSL_CTX_load_verify_dir(context, settings.ca_path.c_str()) != 1) {
    error = settings.ca_path + ": " + openssl_reason();
    return false;
  }
  if (with_default && SSL_CTX_set_default_verify_paths(context) != 1) ERR_clear_error();   // none installed: nothing is trusted
  return true;
}

void set_server_sessions(SSL_CTX* context, bool reuse) {
  // Sessions of one https_port must not be offered at another that may ask for client certificates.
  unsigned char identity[16];
  RAND_bytes(identity, sizeof identity);
  SSL_CTX_set_session_id_context(context, identity, sizeof identity);
  SSL_CTX_set_session_cache_mode(context, reuse ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
  SSL_CTX_sess_set_cache_size(context, kServerSessions);
  SSL_CTX_set_timeout(context, kSessionSeconds);
  if (reuse) return;
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
}

bool request_client_certificates(SSL_CTX* context, const TlsSettings& settings, const TlsFlags& flags, std::string& error) {
  if (settings.client_ca_file.empty()) return true;
  ERR_clear_error();
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(settings.client_ca_file.c_str());
  if (!names || SSL_CTX_load_verify_file(context, settings.client_ca_file.c_str()) != 1) {
    error = settings.client_ca_file + ": " + openssl_reason();
    return false;
  }
  SSL_CTX_set_client_CA_list(context, names);
  if (flags.delayed_auth) return true;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (flags.conditional_auth ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT), nullptr);
  return true;
}

}  // namespace

// ---- server ------------------------------------------------------------------

TlsServerContext::TlsServerContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsServerContext::~TlsServerContext() = default;

std::shared_ptr<const TlsServerContext> TlsServerContext::build(const TlsSettings& settings, std::string& error) {
  auto state = std::make_unique<State>();
  TlsFlags flags;
  if (!parse_tls_flags(settings.flags, flags, error)) return nullptr;
  if (settings.certificates.empty()) {
    error = "https_port needs a certificate: tls-cert=FILE";
    return nullptr;
  }
  state->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = state->context.get();
  if (!context) {
    error = openssl_reason();
    return nullptr;
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);   // min-version= may lower it
  if (!apply_common(context, settings, flags, error)) return nullptr;
  for (const auto& files : settings.certificates) {
    LoadedCertificate loaded;
    if (!load_certificate(files, loaded, error)) return nullptr;
    const size_t place = state->certificates.size();
    for (const std::string& name : loaded.names) {
      const bool any = name.starts_with("*.");
      auto& places = any ? state->wildcard[name.substr(2)] : state->exact[name];
      if (places.empty() || places.back() != place) places.push_back(place);
    }
    state->certificates.push_back(std::move(loaded));
  }
  if (!use(context, state->certificates.front())) {
    error = settings.certificates.front().cert_file + ": " + openssl_reason();
    return nullptr;
  }
  const bool verify = !settings.client_ca_file.empty();
  if ((verify && !load_authorities(context, settings, false, error)) ||
      !request_client_certificates(context, settings, flags, error))
    return nullptr;
  set_server_sessions(context, flags.reuse_sessions);
  SSL_CTX_set_app_data(context, &state->tickets);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, [](SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int sealing) {
    auto* keys = static_cast<TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    return keys->on_ticket(name, iv, cipher, mac, sealing == 1, SSL_version(ssl) >= TLS1_3_VERSION);
  });
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_tlsext_servername_callback(context, State::on_server_name);
  SSL_CTX_set_cert_cb(context, State::choose_certificate, state.get());
  return std::shared_ptr<const TlsServerContext>(new TlsServerContext(std::move(state)));
}

const std::vector<size_t>* TlsServerContext::State::find(std::string_view name) const {
  if (auto found = exact.find(name); found != exact.end()) return &found->second;
  const size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos) return nullptr;
  auto found = wildcard.find(name.substr(dot + 1));
  return found == wildcard.end() ? nullptr : &found->second;
}

// Called for every ClientHello, resumed or not.
int TlsServerContext::State::on_server_name(SSL* ssl, int*, void*) {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!name || !is_host_name(name)) return SSL_TLSEXT_ERR_NOACK;   // it goes into logs: nothing but host names
  static_cast<TlsStream*>(SSL_get_app_data(ssl))->sni_ = base::to_lower(name);
  return SSL_TLSEXT_ERR_OK;
}

int TlsServerContext::State::choose_certificate(SSL* ssl, void* argument) {
  const State& state = *static_cast<State*>(argument);
  const std::string_view name = static_cast<TlsStream*>(SSL_get_app_data(ssl))->sni_;
  const std::vector<size_t>* places = name.empty() ? nullptr : state.find(name);
  if (!places) return 1;   // the first certificate is in the context already
  SSL_certs_clear(ssl);
  for (size_t place : *places) {
    const LoadedCertificate& c = state.certificates[place];
    if (SSL_use_cert_and_key(ssl, c.certificate.get(), c.key.get(), c.chain.get(), 1) != 1) return 0;
  }
  return 1;
}

// ---- client ------------------------------------------------------------------

TlsClientContext::TlsClientContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsClientContext::~TlsClientContext() = default;

std::shared_ptr<const TlsClientContext> TlsClientContext::build(const TlsSettings& settings, std::string& error) {
  auto state = std::make_unique<State>();
  if (!parse_tls_flags(settings.flags, state->flags, error)) return nullptr;
  state->domain = base::to_lower(settings.domain);
  state->context.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = state->context.get();
  if (!context) {
    error = openssl_reason();
    return nullptr;
  }
  if (!apply_common(context, settings, state->flags, error)) return nullptr;
  const bool verify = state->flags.verify_peer;
  if (!load_authorities(context, settings, verify && settings.default_ca && state->flags.default_ca, error)) return nullptr;
  SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!settings.certificates.empty()) {
    LoadedCertificate own;
    if (!load_certificate(settings.certificates.front(), own, error)) return nullptr;
    if (!use(context, own)) {
      error = settings.certificates.front().cert_file + ": " + openssl_reason();
      return nullptr;
    }
  }
  SSL_CTX_set_alpn_protos(context, kHttp11, sizeof kHttp11);
  if (state->flags.reuse_sessions) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, State::on_new_session);
  } else {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  }
  SSL_CTX_set_app_data(context, state.get());
  return std::shared_ptr<const TlsClientContext>(new TlsClientContext(std::move(state)));
}

int TlsClientContext::State::on_new_session(SSL* ssl, SSL_SESSION* session) {
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (!SSL_SESSION_is_resumable(session)) return 0;
  auto* state = static_cast<State*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  state->keep_session(stream->peer_, SslSession(session));
  return 1;   // the reference is ours
}

SslSession TlsClientContext::State::take_session(const std::string& peer) {
  std::lock_guard lock(mutex_);
  auto found = sessions_.find(peer);
  if (found == sessions_.end() || found->second.empty()) return nullptr;
  SslSession session = std::move(found->second.back());
  found->second.pop_back();
  // Tickets of TLS 1.3 are used once (RFC 8446 appendix C.4); older sessions stay good.
  if (SSL_SESSION_get_protocol_version(session.get()) < TLS1_3_VERSION && SSL_SESSION_up_ref(session.get()) == 1)
    found->second.emplace_back(session.get());
  return session;
}

void TlsClientContext::State::keep_session(const std::string& peer, SslSession session) {
  std::lock_guard lock(mutex_);
  if (sessions_.size() >= kPeersWithSessions && !sessions_.contains(peer)) sessions_.erase(sessions_.begin());   // any other
  auto& list = sessions_[peer];
  if (list.size() >= kSessionsPerPeer) list.erase(list.begin());
  list.push_back(std::move(session));
}

void TlsClientContext::State::forget_sessions(const std::string& peer) {
  std::lock_guard lock(mutex_);
  sessions_.erase(peer);
}

}  // namespace loligo::net
