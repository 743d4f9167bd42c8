// What a request asks for: the effective request URI (RFC 9112 section 3.3) by
// the kind of port it came in on, in canonical form. Pure.
#pragma once
#include <string>
#include <string_view>

#include "client/settings.h"
#include "http/head.h"
#include "http/uri.h"

namespace loligo::client {

enum class TargetKind : unsigned char {
  resource,       // fetch it
  tunnel,         // CONNECT host:port
  manager,        // cache_object://host/page, or /squid-internal-mgr/ addressed to this proxy
  internal,       // another /squid-internal-* path
  server,         // "*" of OPTIONS
};
enum class TargetError : unsigned char { none, bad_url, bad_authority, unsupported_scheme, missing_site };

struct Target {
  TargetKind kind = TargetKind::resource;
  TargetError error = TargetError::none;
  std::string scheme, host;      // lower case; host without brackets or trailing dot
  uint16_t port = 0;
  bool ipv6_literal = false;
  std::string path_query;        // "/..." ; "*" for server
  std::string url;               // canonical; "host:port" for tunnels, as given for the manager
  std::string host_field;        // Host to send: authority without default port
  std::string userinfo;          // of an absolute URI; becomes Authorization where the request has none
};

// check_hostnames: letters, digits, dots, hyphens and colons (of an IPv6 address) alone; maybe underscores.
bool host_name_fits(std::string_view host, bool underscores);

// `host` is the value of the Host field ("" if absent). `local_port` for vport.
Target effective_target(const Port&, http::Method, std::string_view target, std::string_view host, uint16_t local_port);

}  // namespace loligo::client
