#include "net/dns_reply.h"

#include <ares.h>
#include <ares_nameser.h>
#include <netdb.h>

#include <algorithm>

#include "base/text.h"

namespace loligo::net {

namespace {

constexpr int kMaxAddresses = 64;
constexpr size_t kMaxNames = 16;
constexpr size_t kHeaderBytes = 12, kRecordFixedBytes = 10;

unsigned read16(const unsigned char* p) { return unsigned(p[0]) << 8 | p[1]; }
uint32_t read32(const unsigned char* p) { return uint32_t(read16(p)) << 16 | read16(p + 2); }

// Walks the answer section for what c-ares does not report. False when the packet is malformed.
template <class Visit>
bool each_answer(Packet packet, Visit visit) {
  if (packet.size() < kHeaderBytes) return false;
  const unsigned questions = read16(&packet[4]), answers = read16(&packet[6]);
  size_t at = kHeaderBytes;
  auto skip_name = [&] {
    char* name = nullptr;
    long length = 0;
    if (at >= packet.size() || ares_expand_name(&packet[at], packet.data(), int(packet.size()), &name, &length) != ARES_SUCCESS)
      return false;
    ares_free_string(name);
    at += size_t(length);
    return true;
  };
  for (unsigned i = 0; i < questions; ++i) {
    if (!skip_name() || packet.size() - at < 4) return false;
    at += 4;
  }
  for (unsigned i = 0; i < answers; ++i) {
    if (!skip_name() || packet.size() - at < kRecordFixedBytes) return false;
    const unsigned char* fixed = &packet[at];
    const size_t data_bytes = read16(fixed + 8);
    at += kRecordFixedBytes;
    if (packet.size() - at < data_bytes) return false;
    // A TTL with the top bit set counts as zero (RFC 2181 section 8).
    uint32_t ttl = read32(fixed + 4);
    visit(read16(fixed), ttl > 0x7fffffff ? 0 : ttl);
    at += data_bytes;
  }
  return true;
}

template <class Record>
void take(AddressReply& reply, const Record* records, int count, int family) {
  for (int i = 0; i < count; ++i) {
    const void* bytes;
    if constexpr (requires { records->ipaddr; }) bytes = &records[i].ipaddr;
    else bytes = &records[i].ip6addr;
    Address address = Address::from_bytes(static_cast<const unsigned char*>(bytes), family);
    bool known = std::any_of(reply.list.begin(), reply.list.end(), [&](const Address& a) { return a.same_host(address); });
    if (!known) reply.list.push_back(address);
  }
}

}  // namespace

AddressReply parse_address_reply(Packet packet, int family) {
  AddressReply reply;
  int count = kMaxAddresses, status;
  if (family == AF_INET) {
    ares_addrttl records[kMaxAddresses];
    status = ares_parse_a_reply(packet.data(), int(packet.size()), nullptr, records, &count);
    if (status == ARES_SUCCESS) take(reply, records, count, family);
  } else {
    ares_addr6ttl records[kMaxAddresses];
    status = ares_parse_aaaa_reply(packet.data(), int(packet.size()), nullptr, records, &count);
    if (status == ARES_SUCCESS) take(reply, records, count, family);
  }
  reply.ttl_seconds = UINT32_MAX;
  const unsigned wanted = family == AF_INET ? unsigned(ns_t_a) : unsigned(ns_t_aaaa);
  bool whole = each_answer(packet, [&](unsigned type, uint32_t ttl) {
    if (type == ns_t_cname) ++reply.aliases;
    if (type == wanted || type == ns_t_cname) reply.ttl_seconds = std::min(reply.ttl_seconds, ttl);
  });
  if (!whole) {
    reply.list.clear();
    reply.error = DnsError::bad_reply;
  } else if (reply.list.empty()) {
    reply.error = status == ARES_SUCCESS ? DnsError::no_data : error_of_ares_status(status);
  }
  return reply;
}

NamesReply parse_names_reply(Packet packet, const Address& asked) {
  NamesReply reply;
  hostent* host = nullptr;
  unsigned char bytes[16];
  asked.mapped_bytes(bytes);
  const int skipped = asked.v4() ? 12 : 0;
  int status = ares_parse_ptr_reply(packet.data(), int(packet.size()), bytes + skipped, 16 - skipped, asked.family(), &host);
  if (status != ARES_SUCCESS) {
    reply.error = error_of_ares_status(status);
    return reply;
  }
  auto add = [&](const char* name) {
    std::string text = base::to_lower(name);
    if (!text.empty() && text.back() == '.') text.pop_back();
    if (is_host_name(text) && reply.list.size() < kMaxNames &&
        std::find(reply.list.begin(), reply.list.end(), text) == reply.list.end())
      reply.list.push_back(std::move(text));
  };
  // c-ares lists all PTR records as aliases, in their order, and the last again as h_name.
  for (char** alias = host->h_aliases; alias && *alias; ++alias) add(*alias);
  if (host->h_name) add(host->h_name);
  ares_free_hostent(host);

  reply.ttl_seconds = UINT32_MAX;
  bool whole = each_answer(packet, [&](unsigned, uint32_t ttl) { reply.ttl_seconds = std::min(reply.ttl_seconds, ttl); });
  if (!whole) reply.list.clear();
  if (reply.list.empty()) reply.error = DnsError::bad_reply;
  return reply;
}

DnsError error_of_ares_status(int status) {
  struct Row { int status; DnsError error; };
  static constexpr Row kRows[] = {
      {ARES_SUCCESS, DnsError::none},         {ARES_ENODATA, DnsError::no_data},     {ARES_ENOTFOUND, DnsError::not_found},
      {ARES_EBADNAME, DnsError::bad_name},    {ARES_EBADRESP, DnsError::bad_reply},  {ARES_EFORMERR, DnsError::bad_reply},
      {ARES_ETIMEOUT, DnsError::timeout},
  };
  for (const Row& row : kRows)
    if (row.status == status) return row.error;
  return DnsError::server_failure;   // c-ares says "connection refused" when all servers failed or refused
}

std::string reverse_name(const Address& asked) {
  const Address address = asked.unmapped();
  unsigned char bytes[16];
  address.mapped_bytes(bytes);
  std::string name;
  if (address.v4()) {
    for (int i = 15; i >= 12; --i) name += std::to_string(bytes[i]) + '.';
    return name + "in-addr.arpa";
  }
  static constexpr char kHex[] = "0123456789abcdef";
  for (int i = 15; i >= 0; --i) {
    const char nibbles[4] = {kHex[bytes[i] & 15], '.', kHex[bytes[i] >> 4], '.'};
    name.append(nibbles, 4);
  }
  return name + "ip6.arpa";
}

bool is_host_name(std::string_view name) {
  constexpr size_t kMaxName = 253, kMaxLabel = 63;   // RFC 1035 section 2.3.4, as text without the final dot
  if (name.empty() || name.size() > kMaxName) return false;
  size_t label = 0;
  for (char c : name) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    char lower = base::ascii_lower(c);
    bool allowed = (lower >= 'a' && lower <= 'z') || base::is_digit(c) || c == '-' || c == '_';
    if (!allowed || ++label > kMaxLabel) return false;
  }
  return label > 0;
}

}  // namespace loligo::net
