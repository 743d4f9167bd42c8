#include "net/tls_tickets.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <chrono>
#include <cstring>

namespace loligo::net {

TicketKeys::~TicketKeys() {
  OPENSSL_cleanse(&current_, sizeof current_);
  OPENSSL_cleanse(&previous_, sizeof previous_);
}

// Under the lock: makes the keys those of `now`.
bool TicketKeys::turn(int64_t now) {
  if (has_current_ && now - since_ < kPeriodSeconds) return true;
  TicketKey fresh;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&fresh), sizeof fresh) != 1) return false;
  has_previous_ = has_current_ && now - since_ < 2 * kPeriodSeconds;
  if (has_previous_) previous_ = current_;
  else OPENSSL_cleanse(&previous_, sizeof previous_);
  current_ = fresh;
  OPENSSL_cleanse(&fresh, sizeof fresh);
  has_current_ = true;
  since_ = now;
  return true;
}

bool TicketKeys::for_sealing(int64_t now, TicketKey& key) {
  std::lock_guard lock(mutex_);
  if (!turn(now)) return false;
  key = current_;
  return true;
}

TicketKeys::Found TicketKeys::find(const unsigned char* name, int64_t now, TicketKey& key) {
  std::lock_guard lock(mutex_);
  if (!turn(now)) return Found::no;
  const bool current = std::memcmp(name, current_.name, sizeof current_.name) == 0;
  if (!current && (!has_previous_ || std::memcmp(name, previous_.name, sizeof previous_.name) != 0)) return Found::no;
  key = current ? current_ : previous_;
  return current ? Found::current : Found::previous;
}

int TicketKeys::on_ticket(unsigned char* name, unsigned char* iv, evp_cipher_ctx_st* cipher, evp_mac_ctx_st* mac, bool sealing, bool used_once) {
  constexpr int kFailed = -1, kFullHandshake = 0, kUsed = 1, kUsedAndRenew = 2;
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::seconds(1);
  TicketKey key;
  Found found = Found::current;
  if (sealing) {
    if (!for_sealing(now, key) || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return kFailed;
    std::memcpy(name, key.name, sizeof key.name);
  } else if (found = find(name, now, key); found == Found::no) {
    return kFullHandshake;
  }
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof key.mac),
                             OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
  const bool ready = EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher, iv, sealing) == 1 && EVP_MAC_CTX_set_params(mac, parameters) == 1;
  OPENSSL_cleanse(&key, sizeof key);
  if (!ready) return kFailed;
  return !sealing && (used_once || found == Found::previous) ? kUsedAndRenew : kUsed;
}

}  // namespace loligo::net
