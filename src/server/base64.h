// Base64 (RFC 4648) for credentials, through OpenSSL.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace loligo::server {

std::string base64(std::string_view);
std::optional<std::string> base64_decode(std::string_view);

}  // namespace loligo::server
