#include "config/known_directives.h"

#include "config/bind.h"

namespace loligo::config {
namespace {

constexpr std::string_view kNoRewriter = "it belongs to url_rewrite_program.";
constexpr std::string_view kNoFilter = "content filters are not called; adaptation_access is refused.";
constexpr std::string_view kNoFtp = "ftp:// URLs are not served.";
constexpr std::string_view kNoSnmp = "there is no SNMP service.";
constexpr std::string_view kNoWccp = "WCCP is not spoken.";
constexpr std::string_view kNoAnnounce = "there is no registry of caches any more.";
constexpr std::string_view kNoLocation = "Location fields are not rewritten.";
constexpr std::string_view kNoWais = "there is no WAIS any more.";

constexpr Directive kDirectives[] = {
    // The reader itself acts on this one.
    custom("configuration_includes_quoted_values", "on|off", "off", "Whether the lines below it use quoted values in the strict form.",
           [](const Statement& s, void*, Problems& problems) {
             bool on = false;
             read_flag(s, 0, on, problems);
           }),

    accepted("url_rewrite_children redirect_children", "20 startup=0 idle=1 concurrency=0", kNoRewriter),
    accepted("url_rewrite_host_header redirect_rewrites_host_header", "on", kNoRewriter),
    accepted("url_rewrite_access redirector_access", "none", kNoRewriter),
    accepted("url_rewrite_bypass redirector_bypass", "off", kNoRewriter),
    accepted("url_rewrite_extras", "\"%>a/%>A %un %>rm myip=%la myport=%lp\"", kNoRewriter),
    accepted("url_rewrite_timeout", "none", kNoRewriter),

    accepted("icap_service", "none", kNoFilter),
    accepted("adaptation_service_set", "none", kNoFilter),
    accepted("adaptation_service_chain", "none", kNoFilter),
    accepted("adaptation_service_iteration_limit", "16", kNoFilter),
    accepted("adaptation_masterx_shared_names", "none", kNoFilter),
    accepted("adaptation_meta", "none", kNoFilter),
    accepted("adaptation_send_client_ip icap_send_client_ip", "off", kNoFilter),
    accepted("adaptation_send_username icap_send_client_username", "off", kNoFilter),
    accepted("adaptation_uses_indirect_client icap_uses_indirect_client", "on", kNoFilter),
    accepted("icap_connect_timeout", "none", kNoFilter),
    accepted("icap_io_timeout", "none", kNoFilter),
    accepted("icap_service_failure_limit", "10", kNoFilter),
    accepted("icap_service_revival_delay", "180", kNoFilter),
    accepted("icap_preview_enable", "on", kNoFilter),
    accepted("icap_preview_size", "-1", kNoFilter),
    accepted("icap_206_enable", "on", kNoFilter),
    accepted("icap_default_options_ttl", "60", kNoFilter),
    accepted("icap_persistent_connections", "on", kNoFilter),
    accepted("icap_client_username_header", "X-Client-Username", kNoFilter),
    accepted("icap_client_username_encode", "off", kNoFilter),
    accepted("icap_retry", "deny all", kNoFilter),
    accepted("icap_retry_limit", "0", kNoFilter),
    accepted("ecap_service", "none", kNoFilter),
    obsolete("icap_class", "adaptation_service_set took its place."),
    obsolete("icap_access", "adaptation_access took its place."),
    obsolete("log_icap", "icap_log took its place."),

    accepted("ftp_user", "Squid@", kNoFtp),
    accepted("ftp_passive", "on", kNoFtp),
    accepted("ftp_epsv", "none", kNoFtp),
    accepted("ftp_epsv_all", "off", kNoFtp),
    accepted("ftp_eprt", "on", kNoFtp),
    accepted("ftp_sanitycheck", "on", kNoFtp),
    accepted("ftp_telnet_protocol", "on", kNoFtp),
    accepted("ftp_client_idle_timeout", "30 minutes", kNoFtp),
    obsolete("ftp_list_width", kNoFtp),

    accepted("snmp_port", "0", kNoSnmp),
    accepted("snmp_access", "none", kNoSnmp),
    accepted("snmp_incoming_address", "any_addr", kNoSnmp),
    accepted("snmp_outgoing_address", "no_addr", kNoSnmp),

    obsolete("wccp_router", kNoWccp),
    obsolete("wccp_version", kNoWccp),
    obsolete("wccp_address", kNoWccp),
    accepted("wccp2_router", "none", kNoWccp),
    accepted("wccp2_rebuild_wait", "on", kNoWccp),
    accepted("wccp2_forwarding_method", "gre", kNoWccp),
    accepted("wccp2_return_method", "gre", kNoWccp),
    accepted("wccp2_assignment_method", "hash", kNoWccp),
    accepted("wccp2_service", "standard 0", kNoWccp),
    accepted("wccp2_service_info", "none", kNoWccp),
    accepted("wccp2_weight", "10000", kNoWccp),
    accepted("wccp2_address", "0.0.0.0", kNoWccp),

    obsolete("error_map", "error pages come from error_directory."),
    obsolete("location_rewrite_program", kNoLocation),
    obsolete("location_rewrite_access", kNoLocation),
    obsolete("location_rewrite_children", kNoLocation),
    obsolete("location_rewrite_concurrency", kNoLocation),
    obsolete("url_rewrite_concurrency", "an option of url_rewrite_children now."),
    obsolete("esi_parser", "there is no ESI processor."),
    obsolete("announce_file", kNoAnnounce),
    obsolete("announce_host", kNoAnnounce),
    obsolete("announce_period", kNoAnnounce),
    obsolete("announce_port", kNoAnnounce),
    obsolete("request_entities", "a body on any method is forwarded as the RFC says."),
    obsolete("chunked_request_body_max_size", "chunked requests are forwarded chunked."),
    obsolete("ignore_expect_100", "Expect is handled as the RFC says."),
    obsolete("extension_methods", "every method is known."),
    obsolete("upgrade_http0.9", "HTTP/0.9 is not spoken."),
    obsolete("header_access", "request_header_access and reply_header_access took its place."),
    obsolete("log_access", "ACLs of access_log took its place."),
    obsolete("emulate_httpd_log", "access_log with the format common took its place."),
    obsolete("forward_log", "access_log took its place."),
    obsolete("log_fqdn", "the code %>A of logformat took its place."),
    obsolete("log_ip_on_direct", "the codes %<a and %<A of logformat took its place."),
    obsolete("referer_log referrer_log", "access_log with the format referrer took its place."),
    obsolete("useragent_log", "access_log with the format useragent took its place."),
    obsolete("incoming_rate", "the loop polls all sockets alike."),
    obsolete("wais_relay_host", kNoWais),
    obsolete("wais_relay_port", kNoWais),
    // Names that Squid 5 still knew.
    obsolete("ident_lookup_access", "ident is not asked any more."),
    obsolete("ident_timeout", "ident is not asked any more."),
    obsolete("mcast_miss_addr", "misses are not announced."),
    obsolete("mcast_miss_encode_key", "misses are not announced."),
    obsolete("mcast_miss_port", "misses are not announced."),
    obsolete("mcast_miss_ttl", "misses are not announced."),
    obsolete("as_whois_server", "ACLs on autonomous systems are gone."),
    obsolete("loadable_modules", "nothing is loaded at run time."),
    obsolete("windows_ipaddrchangemonitor", "this is no Windows."),
};

}  // namespace

std::span<const Directive> known_directives() { return kDirectives; }

}  // namespace loligo::config
