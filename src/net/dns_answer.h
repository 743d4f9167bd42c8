// What a name lookup found out: immutable values, shared by a cache and all who asked.
//
// Times are milliseconds of the steady clock that the caller's loop keeps
// (Loop::now_ms()). Any thread may read an answer; nobody changes one.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace loligo::net {

enum class DnsError : unsigned char {
  none, no_data, not_found, bad_name, bad_reply, server_failure, timeout, overload,
};

struct DnsErrorRow {
  DnsError error;
  bool about_the_name;     // the name itself was judged: kept for negative_dns_ttl. Else our luck: kept briefly.
  std::string_view text;   // for error pages and logs
};
// In the order of the enumerators; of two failed questions the later row is reported.
inline constexpr DnsErrorRow kDnsErrors[] = {
    {DnsError::none, true, "No error"},
    {DnsError::no_data, true, "The name exists, but has no address"},
    {DnsError::not_found, true, "The name does not exist"},
    {DnsError::bad_name, true, "This cannot be a host name"},
    {DnsError::bad_reply, false, "A name server sent a malformed reply"},
    {DnsError::server_failure, false, "No name server could answer"},
    {DnsError::timeout, false, "The name servers did not answer in time"},
    {DnsError::overload, false, "Too many name lookups are under way"},
};
constexpr const DnsErrorRow& row_of(DnsError error) { return kDnsErrors[unsigned(error)]; }
constexpr std::string_view text_of(DnsError error) { return row_of(error).text; }

inline constexpr int64_t kNeverExpires = std::numeric_limits<int64_t>::max();

struct Addresses {
  // In the order to try, ports 0: good ones first, families alternating with IPv6 first (RFC 8305 section 4).
  std::vector<Address> list;
  size_t good = 0;            // list[good..] were marked bad: tried last
  int64_t expires_ms = 0;
  DnsError error = DnsError::none;   // none exactly when list is not empty
};
using Answer = std::shared_ptr<const Addresses>;

struct Names {
  std::vector<std::string> list;     // lower case, without the final dot
  int64_t expires_ms = 0;
  DnsError error = DnsError::none;
};
using NamesAnswer = std::shared_ptr<const Names>;

}  // namespace loligo::net
