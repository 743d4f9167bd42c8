#include "net/address.h"

#include <arpa/inet.h>

#include <cstring>

namespace loligo::net {

namespace {

// 10.9.8.7 without printf: addresses are written once per log line.
char* write_octet(char* out, unsigned value) {
  if (value >= 100) *out++ = char('0' + value / 100);
  if (value >= 10) *out++ = char('0' + value / 10 % 10);
  *out++ = char('0' + value % 10);
  return out;
}

size_t write_v4(char* out, const in_addr& address) {
  unsigned char bytes[4];
  std::memcpy(bytes, &address, sizeof bytes);
  char* end = out;
  for (int i = 0; i < 4; ++i) {
    if (i > 0) *end++ = '.';
    end = write_octet(end, bytes[i]);
  }
  return size_t(end - out);
}

}  // namespace

Address Address::from(const sockaddr* source, socklen_t length) {
  Address result;
  if (source == nullptr || length < socklen_t(sizeof source->sa_family)) return result;
  sa_family_t family;
  std::memcpy(&family, source, sizeof family);  // the caller's bytes may be unaligned
  if (family == AF_INET && length >= sizeof(sockaddr_in))
    std::memcpy(&result.storage_.v4, source, sizeof(sockaddr_in));
  else if (family == AF_INET6 && length >= sizeof(sockaddr_in6))
    std::memcpy(&result.storage_.v6, source, sizeof(sockaddr_in6));
  return result;
}

// inet_pton's strictness is wanted: "127.1", "0x7f.0.0.1" and "010.0.0.1" mean different hosts to different programs,
// and what an access rule judged must be what is connected to.
std::optional<Address> Address::parse(std::string_view host, uint16_t port) {
  bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  char text[INET6_ADDRSTRLEN];
  if (host.empty() || host.size() >= sizeof text || host.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(text, host.data(), host.size());
  text[host.size()] = '\0';

  Address result;
  if (host.find(':') != std::string_view::npos) {
    if (inet_pton(AF_INET6, text, &result.storage_.v6.sin6_addr) != 1) return std::nullopt;
    result.storage_.v6.sin6_family = AF_INET6;
  } else {
    if (brackets || inet_pton(AF_INET, text, &result.storage_.v4.sin_addr) != 1) return std::nullopt;
    result.storage_.v4.sin_family = AF_INET;
  }
  result.set_port(port);
  return result;
}

Address Address::any(int family, uint16_t port) {
  Address result;
  if (family != AF_INET && family != AF_INET6) return result;
  result.storage_.any.sa_family = sa_family_t(family);  // all other bytes are zero: the unspecified address
  result.set_port(port);
  return result;
}

Address Address::from_bytes(const unsigned char* bytes, int family, uint16_t port) {
  Address result = any(family, port);
  if (result.v4()) std::memcpy(&result.storage_.v4.sin_addr, bytes, 4);
  if (result.v6()) std::memcpy(&result.storage_.v6.sin6_addr, bytes, 16);
  return result;
}

uint16_t Address::port() const {
  if (v4()) return ntohs(storage_.v4.sin_port);
  return v6() ? ntohs(storage_.v6.sin6_port) : 0;
}

void Address::set_port(uint16_t port) {
  if (v4()) storage_.v4.sin_port = htons(port);
  if (v6()) storage_.v6.sin6_port = htons(port);
}

bool Address::is_any() const {
  if (v4()) return storage_.v4.sin_addr.s_addr == INADDR_ANY;
  if (!v6()) return false;
  return IN6_IS_ADDR_UNSPECIFIED(&storage_.v6.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&storage_.v6.sin6_addr) && unmapped().is_any());
}

bool Address::is_loopback() const {
  if (v4()) return ntohl(storage_.v4.sin_addr.s_addr) >> 24 == 127;
  if (!v6()) return false;
  return IN6_IS_ADDR_LOOPBACK(&storage_.v6.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&storage_.v6.sin6_addr) && unmapped().is_loopback());
}

bool Address::is_link_local() const {
  if (v4()) return ntohl(storage_.v4.sin_addr.s_addr) >> 16 == 0xa9fe;  // 169.254/16
  if (!v6()) return false;
  return IN6_IS_ADDR_LINKLOCAL(&storage_.v6.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&storage_.v6.sin6_addr) && unmapped().is_link_local());
}

Address Address::unmapped() const {
  if (!v6() || !IN6_IS_ADDR_V4MAPPED(&storage_.v6.sin6_addr)) return *this;
  return from_bytes(storage_.v6.sin6_addr.s6_addr + 12, AF_INET, port());
}

void Address::mapped_bytes(unsigned char out[16]) const {
  std::memset(out, 0, 16);
  if (v6()) std::memcpy(out, &storage_.v6.sin6_addr, 16);
  if (!v4()) return;
  out[10] = out[11] = 0xff;
  std::memcpy(out + 12, &storage_.v4.sin_addr, 4);
}

size_t Address::write_host(char* out) const {
  if (v4()) return write_v4(out, storage_.v4.sin_addr);
  char text[INET6_ADDRSTRLEN];
  if (!v6() || inet_ntop(AF_INET6, &storage_.v6.sin6_addr, text, sizeof text) == nullptr) {
    *out = '-';
    return 1;
  }
  size_t length = std::strlen(text);
  std::memcpy(out, text, length);
  return length;
}

std::string Address::host() const {
  char text[INET6_ADDRSTRLEN];
  return std::string(text, write_host(text));
}

std::string Address::bracketed() const { return v6() ? '[' + host() + ']' : host(); }

std::string Address::text() const { return bracketed() + ':' + std::to_string(port()); }

bool Address::same_host(const Address& other) const {
  if (family() != other.family()) return false;
  if (v4()) return storage_.v4.sin_addr.s_addr == other.storage_.v4.sin_addr.s_addr;
  return !v6() || IN6_ARE_ADDR_EQUAL(&storage_.v6.sin6_addr, &other.storage_.v6.sin6_addr);
}

}  // namespace loligo::net
