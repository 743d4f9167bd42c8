#include "access/network_set.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <string>

#include "base/text.h"

namespace loligo::access {

using net::Address;

// One value while it is read: where to complain, and its mask.
struct NetworkSet::Reading {
  std::string_view value;
  const config::Place& place;
  config::Problems& problems;
  std::string_view mask;  // after the slash; null data() when there is none

  std::string quoted() const { return "\"" + std::string(value) + "\""; }
  void error(std::string message, std::string fix = {}) { problems.error(place, std::move(message), std::move(fix)); }
};

namespace {

// Spellings that old files use for "everything", IPv6 included since the proxies that wrote them knew no other.
constexpr std::string_view kOldAll[] = {"0/0", "0.0.0.0/0", "0.0.0.0/0.0.0.0", "0.0.0.0-255.255.255.255", "0.0.0.0-0.0.0.0/0"};

bool is_old_all(std::string_view value) {
  for (std::string_view old : kOldAll)
    if (value == old) return true;
  return false;
}

bool only(std::string_view text, std::string_view allowed) { return !text.empty() && text.find_first_not_of(allowed) == text.npos; }

// "10.1" and "192.168" as inet_aton(3) reads them; nullopt for anything that is not such a short form.
std::optional<Address> short_v4(std::string_view text) {
  in_addr parsed;
  if (!only(text, "0123456789.") || !inet_aton(std::string(text).c_str(), &parsed)) return std::nullopt;
  char full[INET_ADDRSTRLEN];
  return Address::parse(inet_ntop(AF_INET, &parsed, full, sizeof full));
}

// Letters, digits, hyphens, dots and underscores, and not all numbers at the end: then it is a (mistyped) address.
bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > 255) return false;
  for (char c : text)
    if (!base::is_digit(c) && !(base::ascii_lower(c) >= 'a' && base::ascii_lower(c) <= 'z') && c != '-' && c != '.' && c != '_') return false;
  if (text.back() == '.') text.remove_suffix(1);
  std::string_view last = text.substr(text.rfind('.') + 1);
  return !last.empty() && !only(last, "0123456789");
}

// Bits set from the left, or nullopt when the mask has holes.
std::optional<int> prefix_of_mask(const unsigned char* bytes, size_t count) {
  size_t bits = 0;
  while (bits < count * 8 && (bytes[bits / 8] >> (7 - bits % 8)) & 1) ++bits;
  for (size_t i = bits; i < count * 8; ++i)
    if ((bytes[i / 8] >> (7 - i % 8)) & 1) return std::nullopt;
  return int(bits);
}

// The prefix length that `mask` means for addresses of `width` bits; nullopt if it means none.
std::optional<int> read_mask(std::string_view mask, int width) {
  if (auto length = base::parse_decimal<int>(mask)) return *length <= width ? length : std::nullopt;
  auto address = Address::parse(mask);
  if (!address || address->v4() != (width == 32)) return std::nullopt;
  unsigned char bytes[16];
  address->mapped_bytes(bytes);
  return width == 32 ? prefix_of_mask(bytes + 12, 4) : prefix_of_mask(bytes, 16);
}

}  // namespace

NetworkSet::Wide NetworkSet::wide(const Address& address) {
  unsigned char bytes[16];
  address.mapped_bytes(bytes);
  Wide value = 0;
  for (unsigned char byte : bytes) value = value << 8 | byte;
  return value;
}

void NetworkSet::add(std::string_view value, const config::Place& place, const AclSet::Resolver& resolver,
                     config::Problems& problems, bool quiet) {
  Reading reading{value, place, problems, {}};
  bool old_all = is_old_all(value);
  if (old_all && !quiet) problems.warning(place, reading.quoted() + " is taken as \"all\", which includes IPv6", "write all, or ipv4 for IPv4 alone");
  bool all = old_all || base::iequals(value, "all");
  if (all || base::iequals(value, "ipv4")) v4_.add(0, uint32_t(-1));
  if (all || base::iequals(value, "ipv6") || value == "::/0") v6_.add(0, Wide(-1));
  if (all || base::iequals(value, "ipv4") || base::iequals(value, "ipv6") || value == "::/0") return;

  std::string_view body = value;
  if (size_t slash = value.find('/'); slash != value.npos) body = value.substr(0, slash), reading.mask = value.substr(slash + 1);
  if (read_range(body, reading)) return;
  if (is_host_name(body)) return read_name(body, resolver, reading);
  reading.error(reading.quoted() + " is not an address, network, range or host name", "write it like 192.0.2.0/24, 192.0.2.1-192.0.2.9 or 2001:db8::/32");
}

// address or address-address; false when it is neither. (Host names may hold a hyphen, so both sides must be addresses.)
bool NetworkSet::read_range(std::string_view text, Reading& reading) {
  auto read = [](std::string_view one) {
    auto address = Address::parse(one);
    return address ? address : short_v4(one);
  };
  size_t dash = text.find('-');
  auto low = read(text.substr(0, dash));
  auto high = dash == text.npos ? low : read(text.substr(dash + 1));
  if (!low || !high) return false;
  if (!Address::parse(text.substr(0, dash)))
    reading.problems.warning(reading.place, reading.quoted() + " is a short form, read as " + low->host(), "write all four numbers");
  add_range(*low, *high, reading);
  return true;
}

void NetworkSet::add_range(const Address& low, const Address& high, Reading& reading) {
  if (low.v4() != high.v4()) return reading.error(reading.quoted() + " mixes IPv4 and IPv6");
  Wide from = wide(low), to = wide(high);
  if (reading.mask.data()) {
    auto prefix = read_mask(reading.mask, low.v4() ? 32 : 128);
    if (!prefix) return reading.error("the mask of " + reading.quoted() + " is not a prefix length or a contiguous netmask", low.v4() ? "write /0 to /32" : "write /0 to /128");
    int host_bits = (low.v4() ? 32 : 128) - *prefix;
    Wide hosts = host_bits == 128 ? Wide(-1) : (Wide(1) << host_bits) - 1;
    if (from & hosts)
      reading.problems.warning(reading.place, "the mask of " + reading.quoted() + " cuts off a part of the address");
    from &= ~hosts;
    to |= hosts;
  }
  if (from > to) return reading.error("the range " + reading.quoted() + " runs backwards");
  // A v4-mapped block is the IPv4 network it stands for, as its addresses are.
  constexpr Wide kMapped = Wide(0xffff) << 32;
  if (from >= kMapped && to <= (kMapped | 0xffffffff)) v4_.add(uint32_t(from), uint32_t(to));
  else v6_.add(from, to);
}

void NetworkSet::read_name(std::string_view name, const AclSet::Resolver& resolver, Reading& reading) {
  auto addresses = resolver ? resolver(std::string(name)) : std::vector<Address>{};
  if (addresses.empty())
    return reading.problems.missing(reading.place, "the name \"" + std::string(name) + "\" does not resolve, so it matches nothing");
  for (const Address& address : addresses) {
    // A mask beside a name suits one family only; the other family keeps its single addresses.
    Reading one{reading.value, reading.place, reading.problems, reading.mask};
    if (one.mask.data() && !read_mask(one.mask, address.unmapped().v4() ? 32 : 128)) one.mask = {};
    add_range(address.unmapped(), address.unmapped(), one);
  }
}

bool NetworkSet::contains(const Address& address) const {
  if (address.v4()) return v4_.contains(ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr));
  if (!address.v6()) return false;
  Wide value = wide(address);
  constexpr Wide kMapped = Wide(0xffff);
  return value >> 32 == kMapped ? v4_.contains(uint32_t(value)) : v6_.contains(value);
}

}  // namespace loligo::access
