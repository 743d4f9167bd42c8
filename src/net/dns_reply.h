// DNS reply packets to addresses and names (RFC 1035 section 4). Pure functions,
// any thread. Every byte of a packet is hostile: lists are bounded, and names
// that could not be host names are dropped, since they end up in logs and rules.
#pragma once
#include <span>

#include "net/dns_answer.h"

namespace loligo::net {

struct AddressReply {
  std::vector<Address> list;
  uint32_t ttl_seconds = 0;    // the least of the records used, aliases included
  unsigned aliases = 0;        // CNAME records on the way
  DnsError error = DnsError::none;
};
struct NamesReply {
  std::vector<std::string> list;
  uint32_t ttl_seconds = 0;
  DnsError error = DnsError::none;
};

using Packet = std::span<const unsigned char>;
AddressReply parse_address_reply(Packet, int family);
NamesReply parse_names_reply(Packet, const Address& asked);
DnsError error_of_ares_status(int status);

// "4.3.2.1.in-addr.arpa", "1.0...ip6.arpa" (RFC 1035 section 3.5, RFC 3596 section 2.5).
std::string reverse_name(const Address&);

// Letters, digits, '-', '_' and '.': what we ask a server for, and accept from one.
bool is_host_name(std::string_view);

}  // namespace loligo::net
