// The bytes that loligoclient sends: squidclient's requests, field for field in
// its order, so that whatever recognises one recognises the other.
// Pure functions; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "helpers/client_options.h"

namespace loligo::helpers {

// What stands in the request line: the URL as given, or for "mgr:PAGE[@PASSWORD]" the manager's cache_object URL.
std::string request_target(const ClientOptions&);

// Request line and fields with the blank line; `payload_bytes` where a body follows.
std::string request_head(const ClientOptions&, std::optional<uint64_t> payload_bytes);

std::string base64(std::string_view);

}  // namespace loligo::helpers
