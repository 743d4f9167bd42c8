// An IP address with port, as a value. No DNS.
//
// Plain value, any thread, no allocation but in the functions that return a
// string. Parsing is strict: dotted quads without leading zeros or short forms
// (RFC 6943 section 3.1.1), IPv6 as in RFC 4291 section 2.2.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace loligo::net {

class Address {
 public:
  Address() { storage_.any.sa_family = AF_UNSPEC; }
  static Address from(const sockaddr*, socklen_t);
  // "1.2.3.4", "::1", "[::1]"; no names, no port, no zone.
  static std::optional<Address> parse(std::string_view host, uint16_t port = 0);
  static Address any(int family, uint16_t port);
  // 4 bytes for AF_INET, 16 for AF_INET6, in network order (as in A and AAAA records).
  static Address from_bytes(const unsigned char* bytes, int family, uint16_t port = 0);

  int family() const { return storage_.any.sa_family; }
  bool v4() const { return family() == AF_INET; }
  bool v6() const { return family() == AF_INET6; }
  bool valid() const { return v4() || v6(); }
  uint16_t port() const;
  void set_port(uint16_t);
  bool is_any() const;
  bool is_loopback() const;
  bool is_link_local() const;
  // v4-mapped v6 becomes v4, so that rules and logs see one form.
  Address unmapped() const;
  // 16 bytes, IPv4 as ::ffff:a.b.c.d: one key space for prefix trees and tables.
  void mapped_bytes(unsigned char out[16]) const;

  std::string host() const;         // "1.2.3.4" or "::1"
  size_t write_host(char* out) const;  // at most 46 bytes, no NUL; returns the length; "-" when not valid
  std::string bracketed() const;    // "1.2.3.4" or "[::1]"
  std::string text() const;         // "1.2.3.4:80", "[::1]:80"

  const sockaddr* data() const { return &storage_.any; }
  sockaddr* data() { return &storage_.any; }
  socklen_t size() const { return v6() ? sizeof storage_.v6 : sizeof storage_.v4; }

  // Families must agree: compare unmapped() addresses where both forms may meet.
  bool same_host(const Address&) const;
  friend bool operator==(const Address& a, const Address& b) { return a.same_host(b) && a.port() == b.port(); }

 private:
  union { sockaddr any; sockaddr_in v4; sockaddr_in6 v6; } storage_{};
};

}  // namespace loligo::net
