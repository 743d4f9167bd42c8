#include "server/settings.h"

#include "config/bind.h"
#include "net/tls_options.h"

namespace loligo::server {
namespace {

using namespace config;

void parse_tls_outgoing(const Statement& s, void* settings, Problems& problems) {
  auto& server = *static_cast<Settings*>(settings);
  if (!require_word(s, 0, "options", problems)) return;
  server.tls_outgoing_place = s.place;
  if (s.words[0].text == "disable") {
    server.tls_outgoing = false;
    return warn_surplus(s, 1, problems);
  }
  server.tls_outgoing = true;
  for (size_t i = 0; i < s.words.size(); ++i)
    if (!net::parse_tls_option(s.words[i].text, server.tls_outgoing_options, s.at(i), problems))
      problems.error(s.at(i), "'" + s.words[i].text + "' is no option of tls_outgoing_options", "cert= key= cafile= capath= crlfile= cipher= options= flags= min-version= default-ca=off");
}
void dump_tls_outgoing(const Directive& self, const void* settings, std::string& out) {
  auto& server = *static_cast<const Settings*>(settings);
  std::string value = server.tls_outgoing ? net::tls_options_text(server.tls_outgoing_options, "") : " disable";
  if (!value.empty()) dump_line(self, value.substr(1), out);
}

// sslproxy_* became words of tls_outgoing_options.
template <const char* kOption>
void parse_sslproxy(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 0, "a value", problems)) return;
  std::string value;
  for (const Word& w : s.words) value.append(value.empty() ? "" : ",").append(w.text);
  net::parse_tls_option(std::string(kOption) + "=" + value, static_cast<Settings*>(settings)->tls_outgoing_options, s.at(0), problems);
}
constexpr char kCafile[] = "cafile", kCapath[] = "capath", kCipher[] = "cipher", kCert[] = "cert", kKey[] = "key", kFlags[] = "flags",
               kOptions[] = "options", kVersion[] = "version";
template <const char* kOption>
constexpr Directive sslproxy(std::string_view name, std::string_view text) {
  Directive d = obsolete(name, text);
  d.parse = parse_sslproxy<kOption>;
  return d;
}

void parse_connect_retries(const Statement& s, void* settings, Problems& problems) {
  int64_t value = 0;
  if (!read_integer(s, 0, 0, 2147483647, value, problems)) return;
  if (value > 10) {
    problems.warning(s.at(0), "connect_retries is at most 10");
    value = 10;
  }
  static_cast<Settings*>(settings)->connect_retries = int(value);
}
void dump_connect_retries(const Directive& self, const void* settings, std::string& out) {
  dump_line(self, std::to_string(static_cast<const Settings*>(settings)->connect_retries), out);
}

constexpr Directive kDirectives[] = {
    duration<&Settings::forward_timeout>("forward_timeout", "4 minutes", "How long to try destinations for one request before giving up."),
    duration<&Settings::connect_timeout>("connect_timeout", "1 minute", "How long one connection attempt to a server may take."),
    duration<&Settings::read_timeout>("read_timeout", "15 minutes", "A server that sends nothing for this long is given up."),
    duration<&Settings::server_idle_pconn_timeout>("server_idle_pconn_timeout pconn_timeout", "1 minute", "How long an idle connection to a server or peer is kept."),
    duration<&Settings::pconn_lifetime>("pconn_lifetime", "0 seconds", "The longest life of a persistent connection; it is closed after the reply under way. 0 = no limit."),
    integer<&Settings::forward_max_tries, 1>("forward_max_tries", "25", "The most destinations tried for one request."),
    custom("connect_retries", "number", "0", "How often a failed connection attempt to one address is repeated, at most 10.", parse_connect_retries, dump_connect_retries),
    flag<&Settings::retry_on_error>("retry_on_error", "off", "Try the next destination also when a server answers 403, 500, 501, 502, 503 or 504."),
    flag<&Settings::server_persistent_connections>("server_persistent_connections", "on", "Keep connections to servers and peers open for further requests."),
    rules<&Settings::server_pconn_for_nonretriable>("server_pconn_for_nonretriable", "none", "Requests that must not be repeated, like POST, use an idle connection only where this allows it."),
    milliseconds<&Settings::happy_eyeballs_connect_timeout>("happy_eyeballs_connect_timeout", "250", "How long the first address family is tried alone before the other one is tried beside it."),
    milliseconds<&Settings::happy_eyeballs_connect_gap, -1>("happy_eyeballs_connect_gap", "-1", "The least time between two such second attempts of the whole process; -1 = none."),
    integer<&Settings::happy_eyeballs_connect_limit, -1>("happy_eyeballs_connect_limit", "-1", "The most second attempts of the whole process under way at a time; 0 = one address after the other, -1 = no limit."),
    rules<&Settings::always_direct>("always_direct", "none", "Requests that go straight to the origin, never through a peer."),
    rules<&Settings::never_direct>("never_direct", "none", "Requests that go through a peer and never straight to the origin."),
    rules<&Settings::miss_access>("miss_access", "none", "Who may have requests forwarded that the cache cannot answer; others get hits only. Keeps siblings from using this proxy as a relay."),
    flag<&Settings::prefer_direct>("prefer_direct", "off", "Try the origin before the parents."),
    flag<&Settings::nonhierarchical_direct>("nonhierarchical_direct", "on", "Requests that no cache would answer (CONNECT, POST, ...) go straight to the origin where that is allowed."),
    bytes<&Settings::reply_header_max_size, 1024>("reply_header_max_size", "64 KB", "The largest head of a reply."),
    bytes<&Settings::quick_abort_min, 1024>("quick_abort_min", "16 KB", "When the client leaves and no more than this is missing, the fetch goes on for the cache. -1 KB = it always goes on."),
    bytes<&Settings::quick_abort_max, 1024>("quick_abort_max", "16 KB", "When the client leaves and more than this is missing, the fetch ends."),
    percent<&Settings::quick_abort_pct>("quick_abort_pct", "95", "When the client leaves and more than this share has arrived, the fetch goes on."),
    bytes<&Settings::read_ahead_gap>("read_ahead_gap", "16 KB", "How far a server's reply may run ahead of the client that receives it."),
    custom("tls_outgoing_options", "option ...", "min-version=1.0",
           "TLS towards https:// origins: cert= key= cafile= capath= crlfile= cipher= options= flags= min-version= default-ca=off, or disable. Certificates are verified unless flags=DONT_VERIFY_PEER.",
           parse_tls_outgoing, dump_tls_outgoing),
    statements<&Settings::tcp_outgoing_address>("tcp_outgoing_address", WordStyle::rule, "address [[!]acl ...]", "none", "The local address for connections to servers, by the first line whose ACLs match."),

    accepted("tcp_outgoing_tos tcp_outgoing_ds tcp_outgoing_dscp", "none", "packets carry no marks."),
    accepted("tcp_outgoing_mark", "none", "packets carry no marks."),
    accepted("qos_flows", "none", "packets carry no marks."),
    obsolete("zph_local", "qos_flows took its place."),
    obsolete("zph_mode", "qos_flows took its place."),
    obsolete("zph_option", "qos_flows took its place."),
    obsolete("zph_parent", "qos_flows took its place."),
    obsolete("zph_sibling", "qos_flows took its place."),
    accepted("detect_broken_pconn", "off", "a connection that a server misuses is closed anyway."),
    accepted("spoof_client_ip", "none", "the proxy always connects from its own address."),
    sslproxy<kCafile>("sslproxy_cafile", "written tls_outgoing_options cafile= now."),
    sslproxy<kCapath>("sslproxy_capath", "written tls_outgoing_options capath= now."),
    sslproxy<kCipher>("sslproxy_cipher", "written tls_outgoing_options cipher= now."),
    sslproxy<kCert>("sslproxy_client_certificate", "written tls_outgoing_options cert= now."),
    sslproxy<kKey>("sslproxy_client_key", "written tls_outgoing_options key= now."),
    sslproxy<kFlags>("sslproxy_flags", "written tls_outgoing_options flags= now."),
    sslproxy<kOptions>("sslproxy_options", "written tls_outgoing_options options= now."),
    sslproxy<kVersion>("sslproxy_version", "written tls_outgoing_options min-version= now."),
    // These only soften certificate checks of servers: ignoring them is stricter.
    accepted("sslproxy_cert_error", "none", "certificate errors of servers are never forgiven."),
    accepted("sslproxy_cert_sign", "none", "no certificates are generated."),
    accepted("sslproxy_cert_adapt", "none", "no certificates are generated."),
    accepted("sslproxy_cert_sign_hash", "none", "no certificates are generated."),
    accepted("sslproxy_foreign_intermediate_certs", "none", "intermediate certificates come from the server itself."),
    accepted("sslproxy_session_ttl", "300", "sessions are resumed within the library's own limits."),
    accepted("sslproxy_session_cache_size", "2 MB", "sessions are resumed within the library's own limits."),
    restricting("sslcrtvalidator_program", "none", "its helper refuses servers whose certificates the library accepts.", says_off),
    accepted("sslcrtvalidator_children", "32 startup=5 idle=1 concurrency=1", "it belongs to sslcrtvalidator_program."),
    obsolete("server_http11", "HTTP/1.1 is spoken to every server."),
    obsolete("httpd_accel_no_pmtu_disc", "the option disable-pmtu-discovery of http_port took its place."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::server
