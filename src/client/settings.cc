#include "client/settings.h"

#include "client/port_options.h"
#include "config/bind.h"

namespace loligo::client {
namespace {

using namespace config;

constexpr Choice<ForwardedFor> kForwardedFor[] = {{"on", ForwardedFor::on}, {"off", ForwardedFor::off}, {"transparent", ForwardedFor::transparent},
                                                  {"delete", ForwardedFor::remove}, {"truncate", ForwardedFor::truncate}};

constexpr Choice<http::BlanksInTarget> kBlanks[] = {{"deny", http::BlanksInTarget::deny}, {"strip", http::BlanksInTarget::strip}, {"encode", http::BlanksInTarget::encode},
                                                    {"chop", http::BlanksInTarget::chop}, {"allow", http::BlanksInTarget::encode}};
constexpr Directive kBlanksRow = choice<&Settings::uri_whitespace, kBlanks>("uri_whitespace", {}, {}, {});

void parse_blanks(const Statement& s, void* settings, Problems& problems) {
  kBlanksRow.parse(s, settings, problems);
  if (!s.words.empty() && s.words[0].text == "allow")
    problems.warning(s.at(0), "a URL with blanks is sent on with %20: as it came, servers would read the line in two ways", "uri_whitespace encode");
}
void dump_blanks(const Directive& self, const void* settings, std::string& out) { kBlanksRow.dump(self, settings, out); }

// NAME VALUE, the value to the end of the line or one quoted string.
template <auto Member>
void parse_replacement(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 1, "a header name and a value", problems)) return;
  const Word& value = s.words[1];
  Field<Member>::in(settings).push_back({s.words[0].text, value.quoted ? value.text : std::string(rest_from_word(s, 1))});
}
template <auto Member>
void dump_replacement(const Directive& self, const void* settings, std::string& out) {
  for (const HeaderReplacement& r : Field<Member>::in(settings)) dump_line(self, r.name + " " + r.value, out);
}
template <auto Member>
constexpr Directive replacement(std::string_view names, std::string_view text) {
  return custom(names, "name value", "none", text, parse_replacement<Member>, dump_replacement<Member>, true, WordStyle::quoted);
}

// NAME VALUE [acl ...], the value one word or one quoted string.
template <auto Member>
void parse_addition(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 1, "a header name and a value", problems)) return;
  Field<Member>::in(settings).push_back({s.words[0].text, s.words[1].text, s, 2});
}
template <auto Member>
void dump_addition(const Directive& self, const void* settings, std::string& out) {
  for (const HeaderAddition& a : Field<Member>::in(settings)) dump_line(self, rest_without_comment(a.statement), out);
}
template <auto Member>
constexpr Directive addition(std::string_view names, std::string_view text) {
  return custom(names, "name value [[!]acl ...]", "none", text, parse_addition<Member>, dump_addition<Member>, true, WordStyle::quoted);
}

// "none" and 0 are no limit, with or without ACLs behind them.
void parse_reply_limit(const Statement& s, void* settings, Problems& problems) {
  ReplyLimit limit;
  if (!read_bytes(s, 0, 1, limit.bytes, problems, &limit.first_acl)) return;
  if (limit.bytes == 0) limit.bytes = kUnlimited;
  limit.statement = s;
  static_cast<Settings*>(settings)->reply_body_max_size.push_back(std::move(limit));
}
void dump_reply_limits(const Directive& self, const void* settings, std::string& out) {
  for (const ReplyLimit& l : static_cast<const Settings*>(settings)->reply_body_max_size) dump_line(self, rest_without_comment(l.statement), out);
}

constexpr Directive kDirectives[] = {
    custom("http_port ascii_port", "[address:]port [option ...]", "none",
           "A port that takes HTTP requests. Without a mode it is a forward proxy; accel makes it a website's front with "
           "defaultsite=HOST, no-vhost, vport[=N], protocol=, allow-direct, ignore-cc and act-as-origin. name= is what the ACL myportname sees. "
           "Further options: tcpkeepalive[=idle,interval,timeout] in seconds, ipv4.",
           parse_http_port, dump_http_ports, true),
    custom("https_port", "[address:]port tls-cert=path [tls-key=path] [option ...]", "none",
           "A port that takes HTTP requests inside TLS. Several tls-cert= are chosen by the name that the client asks for. Options: those of http_port, "
           "and tls-key=, tls-min-version=, cipher=, options=, tls-dh=, clientca=, tls-cafile=, capath=, crlfile=, sslflags=.",
           parse_https_port, dump_https_ports, true),
    rules<&Settings::http_access>("http_access", "deny all", "Who may use the proxy for what. Without any line everything is denied."),
    rules<&Settings::http_reply_access>("http_reply_access", "none", "Which replies reach clients, by rep_mime_type, rep_header, http_status and all that http_access may ask. Others get an error page. Pages of our own are not asked about."),
    rules<&Settings::follow_x_forwarded_for>("follow_x_forwarded_for", "none", "Which proxies in front are believed when X-Forwarded-For names the client before them. Without a line none is."),
    flag<&Settings::acl_uses_indirect_client>("acl_uses_indirect_client", "on", "Rules see the client that follow_x_forwarded_for finds."),
    flag<&Settings::log_uses_indirect_client>("log_uses_indirect_client", "on", "Logs show the client that follow_x_forwarded_for finds."),
    custom("reply_body_max_size", "size-units|none [[!]acl ...]", "none", "The largest body of a reply, by the first line whose ACLs match. One whose length is not told is cut off there.",
           parse_reply_limit, dump_reply_limits, true, WordStyle::rule),
    bytes<&Settings::request_header_max_size, 1024>("request_header_max_size", "64 KB", "The largest head of a request."),
    custom("uri_whitespace", "deny|strip|encode|chop|allow", "deny", "What happens to a request whose URL holds blanks: deny answers 400, as RFC 9112 section 3.2 advises (its parts could be read in two ways; Squid's default is strip), "
           "strip takes them out, encode writes %20 and %09, chop ends the URL at the first. allow is encode: a blank is never sent on as it came.",
           parse_blanks, dump_blanks),
    bytes<&Settings::request_body_max_size, 1024, true>("request_body_max_size", "0 KB", "The largest body of a request; 0 = no limit."),
    bytes<&Settings::client_request_buffer_max_size, 1024>("client_request_buffer_max_size", "512 KB", "How much of a request's body is held in memory while the server takes it slowly; then the client is not read. Larger than request_header_max_size."),
    duration<&Settings::request_timeout>("request_timeout", "5 minutes", "How long a client may take to send the whole head of a request."),
    duration<&Settings::request_start_timeout>("request_start_timeout", "5 minutes", "How long a new connection may wait before its first byte."),
    duration<&Settings::client_idle_pconn_timeout>("client_idle_pconn_timeout persistent_request_timeout", "2 minutes", "How long an idle client connection is kept after a reply."),
    duration<&Settings::write_timeout>("write_timeout", "15 minutes", "A peer of a connection that takes no bytes for this long is given up."),
    duration<&Settings::client_lifetime>("client_lifetime", "1 day", "The longest life of a client connection."),
    flag<&Settings::half_closed_clients>("half_closed_clients", "off", "Go on serving a client that has closed its sending side."),
    flag<&Settings::client_persistent_connections>("client_persistent_connections", "on", "Keep client connections open for further requests."),
    flag<&Settings::persistent_connection_after_error>("persistent_connection_after_error", "on", "Keep a client connection open after an error reply."),
    flag<&Settings::via>("via", "on", "Add a Via field to forwarded requests and replies."),
    choice<&Settings::forwarded_for, kForwardedFor>("forwarded_for", "on|off|transparent|delete|truncate", "on",
           "What happens to X-Forwarded-For: on appends the client's address, off appends unknown, transparent leaves it, delete removes it, truncate replaces it by the client's address."),
    named_rules<&Settings::request_header_access>("request_header_access", "none", "Which fields of a request are forwarded. The names All and Other stand for every field, and every field that has no line and is not well known."),
    named_rules<&Settings::reply_header_access>("reply_header_access", "none", "Which fields of a reply reach the client; names as in request_header_access."),
    replacement<&Settings::request_header_replace>("request_header_replace header_replace", "The value that a field of a request gets in place of one that request_header_access removed."),
    replacement<&Settings::reply_header_replace>("reply_header_replace", "The value that a field of a reply gets in place of one that reply_header_access removed."),
    addition<&Settings::request_header_add>("request_header_add", "A field to add to forwarded requests, where the ACLs match. The value may hold the codes of logformat."),
    addition<&Settings::reply_header_add>("reply_header_add", "A field to add to replies, where the ACLs match. The value may hold the codes of logformat."),
    named_rules<&Settings::http_upgrade_request_protocols>("http_upgrade_request_protocols", "none", "Which protocols a client may switch to with Upgrade, by name, or OTHER for those without a line. Without a line Upgrade is removed."),
    text<&Settings::visible_hostname>("visible_hostname", "name", "none", "The proxy's name in Via and on error pages; by default the machine's."),
    text<&Settings::unique_hostname>("unique_hostname", "name", "none", "The name by which the proxy recognises its own requests, where several share a visible_hostname."),
    words<&Settings::hostname_aliases>("hostname_aliases", "name ...", "none", "Further names of this proxy: a request for one of them at one of its ports is for the proxy itself."),
    text<&Settings::httpd_accel_surrogate_id>("httpd_accel_surrogate_id", "name", "none", "The name of an accelerator towards its origins, in Surrogate-Capability; by default visible_hostname. What Surrogate-Control says (max-age=, no-store; to all, or to ;name) is followed there in the place of Cache-Control, and not passed on."),
    flag<&Settings::http_accel_surrogate_remote>("http_accel_surrogate_remote", "off", "Surrogate-Control's no-store-remote is meant for this accelerator: it stands far from its origins."),
    flag<&Settings::client_db>("client_db", "on", "Count requests and connections by client address: the page client_list and the ACL maxconn."),
    integer<&Settings::client_ip_max_connections, -1>("client_ip_max_connections", "-1", "The most connections that one client address may have open; further ones are closed at once. -1 = no limit."),
    flag<&Settings::global_internal_static>("global_internal_static", "on", "Answer /squid-internal-static/ paths here, whatever host the request names."),
    text<&Settings::cache_mgr>("cache_mgr", "address", "webmaster", "The e-mail address on error pages."),
    flag<&Settings::httpd_suppress_version_string>("httpd_suppress_version_string", "off", "Leave the version out of error pages and fields."),
    statements<&Settings::deny_info>("deny_info", WordStyle::plain, "[NNN:]page|URL|TCP_RESET acl ...", "none", "What a client sees whose request was denied with one of these ACLs as the last one looked at: an error page, a redirect, or a reset."),
    text<&Settings::error_directory>("error_directory", "path", "none", "A directory with error pages of your own."),
    text<&Settings::error_default_language>("error_default_language", "language", "none", "The language of error pages for clients that do not say which they read."),
    text<&Settings::err_page_stylesheet>("err_page_stylesheet", "path", "none", "A style sheet to put into error pages."),
    line<&Settings::err_html_text>("err_html_text", "text", "none", "Text for error pages, as %L in a template."),
    flag<&Settings::email_err_data>("email_err_data", "off", "Put details of the error into the mail link of error pages."),

    restricting("adapted_http_access http_access2", "none", "requests that it denies would be let through.", says_allow_all),
    restricting("proxy_protocol_access", "none", "clients are known by the load balancer's address without it.", says_deny_all),
    restricting("on_unsupported_protocol", "none", "it decides about traffic that is not HTTP on intercepted ports."),
    restricting("ssl_bump", "none", "it decides which TLS connections are looked into or ended.", [](const Statement& s) {
      return !s.words.empty() && (s.words[0].text == "none" || s.words[0].text == "splice" || s.words[0].text == "peek"); }),
    restricting("host_verify_strict", "off", "requests whose Host does not match their address would be let through.", says_off),
    restricting("url_rewrite_program redirect_program", "none", "rewriters like squidGuard block pages.", says_off),
    restricting("adaptation_access", "none", "content filters would be passed by.", [](const Statement& s) {
      return s.words.size() == 3 && s.words[1].text == "deny" && s.words[2].text == "all"; }),
    // adaptation_access is the line that sends anything through a filter.
    accepted("icap_enable", "off", "adaptation_access is what calls content filters, and it is refused."),
    accepted("ecap_enable", "off", "adaptation_access is what calls content filters, and it is refused."),
    accepted("delay_pools", "0", "clients get the bandwidth there is."),
    accepted("delay_class", "none", "clients get the bandwidth there is."),
    accepted("delay_access", "none", "clients get the bandwidth there is."),
    accepted("delay_parameters", "none", "clients get the bandwidth there is."),
    accepted("delay_initial_bucket_level", "50", "clients get the bandwidth there is."),
    accepted("client_delay_pools", "0", "clients get the bandwidth there is."),
    accepted("client_delay_initial_bucket_level", "50", "clients get the bandwidth there is."),
    accepted("client_delay_parameters", "none", "clients get the bandwidth there is."),
    accepted("client_delay_access", "none", "clients get the bandwidth there is."),
    accepted("response_delay_pool", "none", "clients get the bandwidth there is."),
    accepted("response_delay_pool_access", "none", "clients get the bandwidth there is."),
    accepted("delay_pool_uses_indirect_client", "on", "clients get the bandwidth there is."),
    accepted("tproxy_uses_indirect_client", "off", "the proxy always connects from its own address."),
    accepted("client_dst_passthru", "on", "it belongs to intercepted ports."),
    accepted("ftp_port", "none", "FTP clients are not served."),
    accepted("pipeline_prefetch", "0", "requests that a client sends without waiting are answered one after the other."),
    accepted("relaxed_header_parser", "on", "heads are judged strictly, with the harmless liberties of RFC 9112 alone."),
    accepted("force_request_body_continuation", "none", "100 Continue comes from the server."),
    accepted("note", "none", "transactions carry no notes."),
    accepted("eui_lookup", "on", "hardware addresses are not looked up."),
    accepted("clientside_tos", "none", "packets carry no marks."),
    accepted("mark_client_packet clientside_mark", "none", "packets carry no marks."),
    accepted("mark_client_connection", "none", "connections carry no marks."),
    accepted("error_log_languages", "on", "missing languages are not logged."),
    accepted("icon_directory", "none", "there are no icons to serve."),
    accepted("short_icon_urls", "on", "there are no icons to serve."),
    accepted("mime_table", "none", "types come from servers."),
    obsolete("broken_posts", "no server needs an extra line behind a POST body."),
    accepted("sslcrtd_program", "none", "it belongs to ssl_bump."),
    accepted("sslcrtd_children", "32 startup=5 idle=1", "it belongs to ssl_bump."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::client
