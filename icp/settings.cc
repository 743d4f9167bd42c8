#include "icp/settings.h"

#include "config/bind.h"
#include "icp/peer_options.h"

namespace loligo::icp {
namespace {

using namespace config;

constexpr Directive kDirectives[] = {
    custom("cache_peer", "host parent|sibling|multicast http-port icp-port [option ...]", "none",
           "Another proxy or, with originserver, an origin to fetch from. Options: default, round-robin, weighted-round-robin, carp, userhash, sourcehash, weight=, "
           "name=, proxy-only, no-query, no-digest, originserver, allow-miss, standby=, connect-timeout=SECONDS, max-conn=, connect-fail-limit=, login=USER:PASSWORD|PASS|PASSTHRU, "
           "forceddomain=, htcp, tls with tls-cert=, tls-key=, tls-cafile=, tls-min-version=, sslflags= and ssldomain=, front-end-https[=auto].",
           parse_cache_peer, dump_cache_peers, true),
    named_rules<&Settings::cache_peer_access>("cache_peer_access", "none", "Which requests a peer is used for, by the peer's name."),
    duration<&Settings::dead_peer_timeout>("dead_peer_timeout", "10 seconds", "How long a peer that failed is left alone before it is tried again."),
    duration<&Settings::peer_connect_timeout>("peer_connect_timeout", "30 seconds", "How long one connection attempt to a peer may take."),

    accepted("neighbor_type_domain", "none", "a peer has the same type for all domains."),
    accepted("icp_port udp_port", "0", "ICP is not spoken yet."),
    accepted("htcp_port", "0", "HTCP is not spoken yet."),
    accepted("icp_access", "none", "there is no ICP service to restrict."),
    accepted("htcp_access", "none", "there is no HTCP service to restrict."),
    accepted("htcp_clr_access", "none", "there is no HTCP service to restrict."),
    accepted("log_icp_queries", "on", "ICP is not spoken yet."),
    accepted("udp_incoming_address", "any_addr", "ICP is not spoken yet."),
    accepted("udp_outgoing_address", "no_addr", "ICP is not spoken yet."),
    accepted("icp_hit_stale", "off", "ICP is not spoken yet."),
    accepted("icp_query_timeout", "0", "ICP is not spoken yet."),
    accepted("maximum_icp_query_timeout", "2000", "ICP is not spoken yet."),
    accepted("minimum_icp_query_timeout", "5", "ICP is not spoken yet."),
    accepted("background_ping_rate", "10 seconds", "ICP is not spoken yet."),
    accepted("mcast_groups", "none", "ICP is not spoken yet."),
    accepted("mcast_icp_query_timeout", "2000", "ICP is not spoken yet."),
    accepted("digest_generation", "on", "no digest of the cache is made yet."),
    accepted("digest_bits_per_entry", "5", "no digest of the cache is made yet."),
    accepted("digest_rebuild_period", "1 hour", "no digest of the cache is made yet."),
    accepted("digest_rewrite_period", "1 hour", "no digest of the cache is made yet."),
    accepted("digest_swapout_chunk_size", "4096 bytes", "no digest of the cache is made yet."),
    accepted("digest_rebuild_chunk_percentage", "10", "no digest of the cache is made yet."),
    accepted("netdb_filename", "none", "distances to servers are not measured."),
    accepted("netdb_low", "900", "distances to servers are not measured."),
    accepted("netdb_high", "1000", "distances to servers are not measured."),
    accepted("netdb_ping_period", "5 minutes", "distances to servers are not measured."),
    accepted("query_icmp", "off", "distances to servers are not measured."),
    accepted("test_reachability", "off", "distances to servers are not measured."),
    accepted("minimum_direct_hops", "4", "distances to servers are not measured."),
    accepted("minimum_direct_rtt", "400", "distances to servers are not measured."),
    accepted("pinger_program", "none", "distances to servers are not measured."),
    accepted("pinger_enable", "on", "distances to servers are not measured."),
    obsolete("cache_peer_domain cache_host_domain", "cache_peer_access took its place."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::icp
