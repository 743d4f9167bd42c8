#include "client/target.h"

#include <fmt/format.h>

#include "base/text.h"

namespace loligo::client {

namespace {

std::string lower_host(std::string_view host) {
  std::string out = base::to_lower(host);
  if (out.size() > 1 && out.back() == '.') out.pop_back();
  return out;
}

std::string authority_text(const Target& t) {
  return t.ipv6_literal ? "[" + t.host + "]" : t.host;
}

void complete(Target& t) {
  if (t.path_query.empty() || t.path_query[0] == '?') t.path_query.insert(0, "/");
  http::canonical(t.scheme, t.host, t.ipv6_literal, t.port, t.path_query, t.url);
  t.host_field = authority_text(t);
  if (t.port != http::default_port(t.scheme)) t.host_field.append(":").append(std::to_string(t.port));
}

Target failed(TargetError error, std::string_view text) {
  Target t;
  t.error = error;
  t.url = text;
  return t;
}

Target tunnel(std::string_view target) {
  auto a = http::parse_authority(target);
  if (!a || a->port == 0) return failed(TargetError::bad_authority, target);
  Target t;
  t.kind = TargetKind::tunnel;
  t.host = lower_host(a->host);
  t.port = a->port;
  t.ipv6_literal = a->ipv6_literal;
  t.url = fmt::format("{}:{}", authority_text(t), t.port);
  t.host_field = t.url;
  return t;
}

// Squid's number: the usual "deny !Safe_ports" stands before the line that lets the manager in.
constexpr uint16_t kManagerPort = 3128;

Target manager(std::string_view target) {
  Target t;
  t.kind = TargetKind::manager;
  t.scheme = "cache_object";
  t.url = target;
  std::string_view rest = target.substr(target.find("//") + 2);
  size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  auto a = http::parse_authority(authority);
  t.host = lower_host(a ? a->host : authority);
  t.ipv6_literal = a && a->ipv6_literal;
  t.port = a && a->port ? a->port : kManagerPort;
  t.path_query = slash == rest.npos ? "/" : std::string(rest.substr(slash));
  t.host_field = t.host;
  return t;
}

Target absolute(std::string_view target) {
  if (base::istarts_with(target, "cache_object://")) return manager(target);
  auto uri = http::parse_absolute(target);
  if (!uri) return failed(TargetError::bad_url, target);
  Target t;
  t.scheme = base::to_lower(uri->scheme);
  t.host = lower_host(uri->authority.host);
  t.ipv6_literal = uri->authority.ipv6_literal;
  t.port = uri->authority.port ? uri->authority.port : http::default_port(t.scheme);
  t.path_query = uri->path_query;
  t.userinfo = uri->userinfo;
  if (t.scheme != "http" && t.scheme != "https") {
    t.error = TargetError::unsupported_scheme;
    t.url = target;
    if (t.port == 0) return t;
  }
  complete(t);
  return t;
}

// An accelerator's site: which host a request without one in its target is for.
Target accelerated(const Port& port, std::string_view target, std::string_view host, uint16_t local_port) {
  std::string_view site = port.vhost && !host.empty() ? host : std::string_view(port.defaultsite);
  if (site.empty()) site = host;
  if (site.empty()) return failed(TargetError::missing_site, target);
  auto a = http::parse_authority(site);
  if (!a) return failed(TargetError::bad_url, target);
  Target t;
  t.scheme = !port.protocol.empty() ? base::to_lower(port.protocol) : port.tls ? "https" : "http";
  t.host = lower_host(a->host);
  t.ipv6_literal = a->ipv6_literal;
  t.port = port.vport > 0 ? uint16_t(port.vport) : port.vport == 0 ? local_port : a->port;
  if (t.port == 0) t.port = http::default_port(t.scheme);
  t.path_query = target;
  if (target == "*") t.kind = TargetKind::server, t.path_query = "/";
  complete(t);
  if (target == "*") t.path_query = "*";
  return t;
}

}  // namespace

bool host_name_fits(std::string_view host, bool underscores) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789.-:_";
  return host.find_first_not_of(kAllowed.substr(0, kAllowed.size() - !underscores)) == host.npos;
}

Target effective_target(const Port& port, http::Method method, std::string_view target, std::string_view host, uint16_t local_port) {
  if (method == http::Method::connect && port.mode != Port::Mode::accel) return tunnel(target);
  if (method == http::Method::connect) return failed(TargetError::bad_url, target);
  if (target.empty()) return failed(TargetError::bad_url, target);
  bool accel = port.mode == Port::Mode::accel;
  if (target[0] == '/' || target == "*") {
    bool internal = target.starts_with("/squid-internal-");
    if (accel && !internal) return accelerated(port, target, host, local_port);
    if (target == "*") {
      Target t;
      t.kind = TargetKind::server;
      t.path_query = "*";
      t.url = "*";
      return t;
    }
    Target t;
    auto a = http::parse_authority(host.empty() ? std::string_view("localhost") : host);
    t.scheme = port.tls ? "https" : "http";
    if (a) t.host = lower_host(a->host), t.ipv6_literal = a->ipv6_literal, t.port = a->port;
    if (t.port == 0) t.port = internal ? local_port : http::default_port(t.scheme);
    t.path_query = target;
    if (!a || t.host.empty()) return failed(TargetError::bad_url, target);
    complete(t);
    if (!internal) {
      t.error = TargetError::bad_url;   // origin-form to a forward port names no host to trust
      return t;
    }
    t.kind = target.starts_with("/squid-internal-mgr/") || target == "/squid-internal-mgr" ? TargetKind::manager : TargetKind::internal;
    return t;
  }
  Target t = absolute(target);
  if (t.error != TargetError::none || t.kind == TargetKind::manager || !accel) return t;
  // A server must take the absolute form too; which site it is for is still the port's business.
  Target site = accelerated(port, t.path_query, port.vhost ? std::string_view(t.host_field) : std::string_view(), local_port);
  return site;
}

}  // namespace loligo::client
