// A set of IP networks in every spelling of squid.conf:
//
//   value   = "all" | "ipv4" | "ipv6" | address [ "-" address ] [ "/" mask ] | host-name [ "/" mask ]
//   mask    = prefix length | dotted netmask | IPv6 netmask
//
// Two sorted interval lists, IPv4 and IPv6; v4-mapped IPv6 addresses are IPv4.
// Owner: the ACL. Built at start-up by one thread, then immutable, any thread.
#pragma once
#include <cstdint>
#include <string_view>

#include "access/interval_set.h"
#include "access/rules.h"
#include "config/problem.h"
#include "net/address.h"

namespace loligo::access {

class NetworkSet {
 public:
  // Adds one value; what is wrong with it goes to `problems`. `quiet`: no remarks about old spellings of "all".
  void add(std::string_view value, const config::Place&, const AclSet::Resolver&, config::Problems&, bool quiet = false);
  void finish() { v4_.finish(), v6_.finish(); }
  bool contains(const net::Address&) const;
  bool empty() const { return v4_.empty() && v6_.empty(); }
  bool everything() const { return v4_.everything() && v6_.everything(); }

 private:
  __extension__ typedef unsigned __int128 Wide;
  struct Reading;  // one value while it is read
  void add_range(const net::Address& low, const net::Address& high, Reading&);
  bool read_range(std::string_view text, Reading&);
  void read_name(std::string_view name, const AclSet::Resolver&, Reading&);
  static Wide wide(const net::Address&);

  IntervalSet<uint32_t> v4_;
  IntervalSet<Wide> v6_;
};

}  // namespace loligo::access
