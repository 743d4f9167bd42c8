// Vary (RFC 9111 section 4.1): what the selecting fields of a request were, as one normalised string.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/head.h"

namespace loligo::http {

// The lower-case, sorted, duplicate-free names of all Vary lines. nullopt = "*" somewhere (never matches).
std::optional<std::vector<std::string>> vary_names(const Head& response, const char* bytes);
// The request's values of those names, combined over lines with ", ", white space normalised: equal strings = matching requests.
std::string selecting_key(const std::vector<std::string>& names, const Head& request, const char* bytes);

}  // namespace loligo::http
