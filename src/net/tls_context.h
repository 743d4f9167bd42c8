// The inside of the two contexts; included by tls_context.cc and tls_stream.cc only.
#pragma once
#include <mutex>
#include <unordered_map>

#include "net/hosts_file.h"
#include "net/tls.h"
#include "net/tls_openssl.h"
#include "net/tls_tickets.h"

namespace loligo::net {

struct TlsServerContext::State {
  SslContext context;
  std::vector<LoadedCertificate> certificates;
  // Places in `certificates` by name; several for one name when it has, say, an RSA and an ECDSA certificate.
  StringMap<std::vector<size_t>> exact, wildcard;   // wildcard: "*.example.com" under "example.com"

  const std::vector<size_t>* find(std::string_view lower_case_name) const;

  static int on_server_name(SSL*, int*, void*);
  static int choose_certificate(SSL*, void* state);

  TicketKeys tickets;
};

struct TlsClientContext::State {
  SslContext context;
  TlsFlags flags;
  std::string domain;

  SslSession take_session(const std::string& peer);
  void keep_session(const std::string& peer, SslSession);
  void forget_sessions(const std::string& peer);
  static int on_new_session(SSL*, SSL_SESSION*);

 private:
  // Sessions to resume, from all workers: locked once per handshake, never on the data path.
  std::mutex mutex_;
  StringMap<std::vector<SslSession>> sessions_;
};

}  // namespace loligo::net
