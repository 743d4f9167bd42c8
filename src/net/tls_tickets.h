// The keys under which an https_port seals its session tickets. They change
// every twelve hours, so that a key that leaks opens no older sessions (RFC 5077
// section 5.5); the one before is still read, as tickets live for an hour.
// Owner: a TlsServerContext; any thread, locked once per handshake.
#pragma once
#include <cstdint>
#include <mutex>

struct evp_cipher_ctx_st;
struct evp_mac_ctx_st;

namespace loligo::net {

struct TicketKey {
  static constexpr int kNameBytes = 16;
  unsigned char name[kNameBytes], cipher[32], mac[32];
};

class TicketKeys {
 public:
  static constexpr int64_t kPeriodSeconds = 12 * 3600;
  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  // `now` in seconds of the steady clock. The key for new tickets; false when there is no randomness to make one.
  bool for_sealing(int64_t now, TicketKey& key);
  enum class Found : unsigned char { no, current, previous };
  Found find(const unsigned char* name, int64_t now, TicketKey& key);
  // OpenSSL's callback. `used_once`: a ticket that was taken is replaced (TLS 1.3, RFC 8446 appendix C.4).
  int on_ticket(unsigned char* name, unsigned char* iv, evp_cipher_ctx_st*, evp_mac_ctx_st*, bool sealing, bool used_once);

 private:
  bool turn(int64_t now);
  std::mutex mutex_;
  TicketKey current_, previous_;
  bool has_current_ = false, has_previous_ = false;
  int64_t since_ = 0;
};

}  // namespace loligo::net
