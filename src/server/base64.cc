#include "server/base64.h"

#include <openssl/evp.h>

namespace loligo::server {

std::string base64(std::string_view in) {
  std::string out(4 * ((in.size() + 2) / 3) + 1, '\0');
  int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(in.data()), int(in.size()));
  out.resize(size_t(n));
  return out;
}

std::optional<std::string> base64_decode(std::string_view in) {
  if (in.empty() || in.size() % 4 != 0 || in.size() > 1 << 16) return std::nullopt;
  std::string out(3 * in.size() / 4, '\0');
  int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(in.data()), int(in.size()));
  if (n < 0) return std::nullopt;
  size_t padding = in.ends_with("==") ? 2 : in.ends_with("=") ? 1 : 0;
  out.resize(size_t(n) - padding);
  return out;
}

}  // namespace loligo::server
