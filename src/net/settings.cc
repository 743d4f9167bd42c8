#include "net/settings.h"

#include "config/bind.h"

namespace loligo::net {
namespace {

using namespace config;
using config::text;

// Several offices list the same resolver file instead of addresses; it says nothing that is not read anyway.
void parse_nameservers(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 0, "at least one address", problems)) return;
  for (size_t i = 0; i < s.words.size(); ++i) {
    const std::string& word = s.words[i].text;
    std::string_view host = word;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (plausible_host(host) && host.find_first_not_of("0123456789.") == host.npos) static_cast<Settings*>(settings)->dns_nameservers.push_back(word);
    else if (plausible_host(host) && host.find(':') != host.npos) static_cast<Settings*>(settings)->dns_nameservers.push_back(std::string(host));
    else problems.warning(s.at(i), "'" + word + "' is no address of a name server and is ignored", "write an IP address");
  }
}
void dump_nameservers(const Directive& self, const void* settings, std::string& out) {
  auto& list = static_cast<const Settings*>(settings)->dns_nameservers;
  if (list.empty()) return;
  std::string value;
  for (auto& address : list) value.append(value.empty() ? "" : " ").append(address);
  dump_line(self, value, out);
}

void parse_append_domain(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 0, "a domain", problems)) return;
  if (s.words[0].text[0] != '.') return problems.error(s.at(0), "append_domain must begin with a dot", "write ." + s.words[0].text);
  static_cast<Settings*>(settings)->append_domain = s.words[0].text;
}
void dump_append_domain(const Directive& self, const void* settings, std::string& out) {
  auto& domain = static_cast<const Settings*>(settings)->append_domain;
  if (!domain.empty()) dump_line(self, domain, out);
}

// `off` is what asks for something.
constexpr Directive strict_name_servers(Directive d) {
  d.harmless = [](const Statement& s) { return !says_off(s); };
  return d;
}

constexpr Directive kDirectives[] = {
    custom("dns_nameservers", "address ...", "none", "Name servers to ask instead of those in /etc/resolv.conf.", parse_nameservers, dump_nameservers, true, WordStyle::quoted),
    duration<&Settings::dns_timeout, 1>("dns_timeout", "30 seconds", "After this long without an answer from any name server a name counts as unknown."),
    duration<&Settings::dns_retransmit_interval, 1>("dns_retransmit_interval", "5 seconds", "How long to wait before a query is repeated; it doubles after every round over the name servers."),
    bytes<&Settings::dns_packet_max>("dns_packet_max", "none", "The size of UDP answers that name servers are told to send (EDNS)."),
    flag<&Settings::dns_defnames>("dns_defnames", "off", "Complete names without a dot with the search list of /etc/resolv.conf."),
    text<&Settings::hosts_file>("hosts_file", "path|none", "/etc/hosts", "Names in this file are answered from it, without asking a name server."),
    custom("append_domain", ".domain", "none", "Appended to host names without a dot. Begins with a dot.", parse_append_domain, dump_append_domain),
    strict_name_servers(accepted("ignore_unknown_nameservers", "on", "answers from an address that was not asked are always dropped.")),
    duration<&Settings::positive_dns_ttl>("positive_dns_ttl", "6 hours", "The longest time for which addresses of a name are kept, whatever its own TTL says."),
    duration<&Settings::negative_dns_ttl>("negative_dns_ttl", "1 minute", "How long a failed lookup is remembered. Also the least time for which addresses are kept."),
    integer<&Settings::ipcache_size>("ipcache_size", "1024", "How many names keep their addresses in memory."),
    accepted("ipcache_low", "90", "the name cache drops its oldest entries one by one."),
    accepted("ipcache_high", "95", "the name cache drops its oldest entries one by one."),
    integer<&Settings::fqdncache_size>("fqdncache_size", "1024", "How many addresses keep their names in memory."),
    flag<&Settings::check_hostnames>("check_hostnames", "off", "Refuse URLs whose host holds characters that no host name has."),
    flag<&Settings::allow_underscore>("allow_underscore", "on", "With check_hostnames, an underscore is allowed in a host name."),
    accepted("dns_multicast_local", "off", "names under .local are asked like any other."),
    integer<&Settings::max_filedescriptors>("max_filedescriptors max_filedesc", "0", "The most descriptors to open at a time; 0 = what the system allows the process. Nothing is sized by this number."),
    bytes<&Settings::tcp_recv_bufsize>("tcp_recv_bufsize", "0 bytes", "Receive buffer of TCP connections to clients and servers; 0 = the kernel's own choice. The kernel cuts it to net.core.rmem_max."),
    accepted("accept_filter", "none", "connections are accepted at once."),
    obsolete("incoming_udp_average incoming_icp_average", "the loop polls all sockets alike."),
    obsolete("incoming_tcp_average incoming_http_average", "the loop polls all sockets alike."),
    obsolete("incoming_dns_average", "the loop polls all sockets alike."),
    obsolete("min_udp_poll_cnt min_icp_poll_cnt", "the loop polls all sockets alike."),
    obsolete("min_dns_poll_cnt", "the loop polls all sockets alike."),
    obsolete("min_tcp_poll_cnt min_http_poll_cnt", "the loop polls all sockets alike."),
    obsolete("dns_v4_first", "addresses of both families are tried side by side."),
    obsolete("dns_v4_fallback", "addresses of both families are tried side by side."),
    obsolete("dns_testnames", "there are no start-up tests of the name servers."),
    obsolete("balance_on_multiple_ip", "all addresses of a name are tried."),
    obsolete("maximum_single_addr_tries", "connect_retries took its place."),
    accepted("tls_key_log", "none", "TLS keys are never written to a file."),
    accepted("sslpassword_program", "none", "keys with a passphrase cannot be read yet."),
    obsolete("ssl_engine", "OpenSSL 3 has no engines."),
    obsolete("ssl_unclean_shutdown", "TLS connections are always closed in the clean way."),
};

}  // namespace

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::net
