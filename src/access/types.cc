// The table of ACL types. To add one: a row here, its maker in one of the matchers_*.cc files.
#include "access/closest.h"
#include "access/matchers.h"

namespace loligo::access {

namespace {

constexpr bool kFast = false, kSlow = true;
constexpr Support kDone = Support::implemented, kNotYet = Support::not_implemented, kObsolete = Support::obsolete;

constexpr AclType kTypes[] = {
    {"src", "", kDone, kFast, "", make_src, "client address: addresses, networks, ranges, all, ipv4, ipv6, host names"},
    {"dst", "", kDone, kSlow, "n", make_dst, "addresses of the URL's host; -n: only hosts that are addresses, no lookup"},
    {"localip", "myip", kDone, kFast, "", make_localip, "address that the client connected to"},
    {"localport", "myport", kDone, kFast, "", make_localport, "port that the client connected to"},
    {"myportname", "", kDone, kFast, "", make_myportname, "name= of the listening port"},
    {"dstdomain", "", kDone, kSlow, "n", make_dstdomain, "URL host: name, or .name for it and all below; -n: no reverse lookup of addresses"},
    {"dstdom_regex", "", kDone, kSlow, "in", make_dstdom_regex, "regular expressions on the URL host"},
    {"port", "", kDone, kFast, "", make_port, "port of the URL: n or n-m"},
    {"method", "", kDone, kFast, "", make_method, "request method; naming PURGE turns PURGE on"},
    {"proto", "", kDone, kFast, "", make_proto, "scheme of the URL"},
    {"url_regex", "", kDone, kFast, "i", make_url_regex, "regular expressions on the URL, percent-decoded"},
    {"urlpath_regex", "", kDone, kFast, "i", make_urlpath_regex, "regular expressions on path and query, percent-decoded"},
    {"time", "", kDone, kFast, "", make_time, "local time: days S M T W H F A, D = M to F, and h:mm-h:mm"},
    {"browser", "", kDone, kFast, "i", make_browser, "regular expressions on User-Agent"},
    {"referer_regex", "", kDone, kFast, "i", make_referer_regex, "regular expressions on Referer"},
    {"req_header", "", kDone, kFast, "i", make_req_header, "field name, then regular expressions on the request field"},
    {"rep_header", "", kDone, kFast, "i", make_rep_header, "field name, then regular expressions on the reply field"},
    {"req_mime_type", "", kDone, kFast, "i", make_req_mime_type, "regular expressions on the request's Content-Type"},
    {"rep_mime_type", "", kDone, kFast, "i", make_rep_mime_type, "regular expressions on the reply's Content-Type"},
    {"http_status", "", kDone, kFast, "", make_http_status, "status of the reply: 404, 400-403, 500-"},
    {"maxconn", "", kDone, kFast, "", make_maxconn, "the client has more than this many connections"},
    {"any-of", "", kDone, kFast, "", make_any_of, "one of these ACLs matches"},
    {"all-of", "", kDone, kFast, "", make_all_of, "all ACLs of one line match; lines of one name are alternatives"},
    {"random", "", kDone, kFast, "", make_random, "by chance: 0.3, 1/3, or 3:5 (3 matches to 5 others)"},
    {"peername", "", kDone, kFast, "", make_peername, "name of the cache_peer chosen"},
    {"peername_regex", "", kDone, kFast, "i", make_peername_regex, "regular expressions on that name"},
    {"hier_code", "", kDone, kFast, "", make_hier_code, "how the request was forwarded: DIRECT, PARENT_HIT ..."},
    {"has", "", kDone, kFast, "", make_has, "the transaction has a request or a response"},

    {"proxy_auth", "", kNotYet, kSlow, "i", make_not_implemented, "user names, or REQUIRED"},
    {"proxy_auth_regex", "", kNotYet, kSlow, "i", make_not_implemented, "regular expressions on user names"},
    {"max_user_ip", "", kNotYet, kFast, "s", make_not_implemented, "addresses of one user"},
    {"external", "", kNotYet, kSlow, "", make_not_implemented, "a helper decides"},
    {"ext_user", "", kNotYet, kSlow, "i", make_not_implemented, "user named by a helper"},
    {"ext_user_regex", "", kNotYet, kSlow, "i", make_not_implemented, "regular expressions on the user named by a helper"},
    {"tag", "", kNotYet, kFast, "", make_not_implemented, "tag given by a helper"},
    {"note", "", kNotYet, kFast, "m", make_not_implemented, "annotation of the transaction"},
    {"annotate_transaction", "", kNotYet, kFast, "m", make_not_implemented, "adds an annotation"},
    {"annotate_client", "", kNotYet, kFast, "m", make_not_implemented, "adds an annotation to the connection"},
    {"srcdomain", "", kNotYet, kSlow, "", make_not_implemented, "reverse name of the client"},
    {"srcdom_regex", "", kNotYet, kSlow, "i", make_not_implemented, "regular expressions on the client's reverse name"},
    {"urllogin", "", kNotYet, kFast, "i", make_not_implemented, "regular expressions on the user part of the URL"},
    {"user_cert", "", kNotYet, kFast, "", make_not_implemented, "attribute of the client's certificate"},
    {"ca_cert", "", kNotYet, kFast, "", make_not_implemented, "attribute of its issuer"},
    {"ssl::server_name", "", kNotYet, kFast, "", make_not_implemented, "server name of a tunnel's TLS"},
    {"ssl::server_name_regex", "", kNotYet, kFast, "i", make_not_implemented, "regular expressions on that name"},
    {"ssl_error", "", kNotYet, kFast, "", make_not_implemented, "certificate error of the server"},
    {"server_cert_fingerprint", "", kNotYet, kFast, "", make_not_implemented, "fingerprint of the server's certificate"},
    {"at_step", "", kNotYet, kFast, "", make_not_implemented, "step of TLS interception"},
    {"connections_encrypted", "", kNotYet, kFast, "", make_not_implemented, "all connections of the request use TLS"},
    {"squid_error", "", kNotYet, kFast, "", make_not_implemented, "error page chosen"},
    {"transaction_initiator", "", kNotYet, kFast, "", make_not_implemented, "who began the transaction"},
    {"adaptation_service", "", kNotYet, kFast, "", make_not_implemented, "adaptation service used"},
    {"snmp_community", "", kNotYet, kFast, "", make_not_implemented, "community of an SNMP request"},
    {"arp", "", kNotYet, kFast, "", make_not_implemented, "hardware address of the client"},
    {"eui64", "", kNotYet, kFast, "", make_not_implemented, "EUI-64 of the client"},
    {"client_connection_mark", "clientside_mark", kNotYet, kFast, "", make_not_implemented, "netfilter mark of the connection"},

    {"ident", "", kObsolete, kSlow, "", make_obsolete, "never matches"},
    {"ident_regex", "", kObsolete, kSlow, "i", make_obsolete, "never matches"},
    {"src_as", "", kObsolete, kFast, "", make_obsolete, "never matches"},
    {"dst_as", "", kObsolete, kSlow, "", make_obsolete, "never matches"},
};

constexpr AclType kBroken = {"", "", Support::broken, kFast, "", make_not_implemented, ""};

}  // namespace

const AclType& broken_type() { return kBroken; }

const AclType* find_type(std::string_view name) {
  for (const AclType& type : kTypes)
    if (type.name == name || (!type.aliases.empty() && type.aliases == name)) return &type;
  return nullptr;
}

std::string closest_type(std::string_view name) {
  Closest closest(name);
  for (const AclType& type : kTypes) closest.offer(type.name);
  return closest.result();
}

}  // namespace loligo::access
