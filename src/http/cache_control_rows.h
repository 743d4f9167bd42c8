// The directives of a response that are a number of seconds or a flag, for the readers of Cache-Control (RFC 9111
// section 5.2.2) and of the targeted fields (RFC 9213). Private to src/http.
#pragma once
#include <string_view>

#include "http/cache_control.h"

namespace loligo::http {

struct ResponseSeconds { std::string_view name; int64_t ResponseCacheControl::*member; };
inline constexpr ResponseSeconds kResponseSeconds[] = {
    {"max-age", &ResponseCacheControl::max_age},
    {"s-maxage", &ResponseCacheControl::s_maxage},
    {"stale-while-revalidate", &ResponseCacheControl::stale_while_revalidate},
    {"stale-if-error", &ResponseCacheControl::stale_if_error},
};
struct ResponseFlag { std::string_view name; bool ResponseCacheControl::*member; };
inline constexpr ResponseFlag kResponseFlags[] = {
    {"no-store", &ResponseCacheControl::no_store},
    {"public", &ResponseCacheControl::public_},
    {"must-revalidate", &ResponseCacheControl::must_revalidate},
    {"proxy-revalidate", &ResponseCacheControl::proxy_revalidate},
    {"must-understand", &ResponseCacheControl::must_understand},
    {"no-transform", &ResponseCacheControl::no_transform},
    {"immutable", &ResponseCacheControl::immutable},
};

}  // namespace loligo::http
