// Field names the proxy knows, as an enum: the parser looks each name up once
// (perfect hash or switch by length) and everything after compares integers.
#pragma once
#include <cstdint>
#include <string_view>

namespace loligo::http {

//  X(enumerator, "Canonical-Name")
#define LOLIGO_FIELDS(X)                                     \
  X(accept, "Accept")                                        \
  X(accept_charset, "Accept-Charset")                        \
  X(accept_encoding, "Accept-Encoding")                      \
  X(accept_language, "Accept-Language")                      \
  X(accept_ranges, "Accept-Ranges")                          \
  X(age, "Age")                                              \
  X(allow, "Allow")                                          \
  X(alt_svc, "Alt-Svc")                                      \
  X(authorization, "Authorization")                          \
  X(authentication_info, "Authentication-Info")              \
  X(cache_control, "Cache-Control")                          \
  X(cache_group_invalidation, "Cache-Group-Invalidation")    \
  X(cache_groups, "Cache-Groups")                            \
  X(cache_status, "Cache-Status")                            \
  X(cdn_cache_control, "CDN-Cache-Control")                  \
  X(cdn_loop, "CDN-Loop")                                    \
  X(connection, "Connection")                                \
  X(content_disposition, "Content-Disposition")              \
  X(content_encoding, "Content-Encoding")                    \
  X(content_language, "Content-Language")                    \
  X(content_length, "Content-Length")                        \
  X(content_location, "Content-Location")                    \
  X(content_range, "Content-Range")                          \
  X(content_type, "Content-Type")                            \
  X(cookie, "Cookie")                                        \
  X(date, "Date")                                            \
  X(etag, "ETag")                                            \
  X(expect, "Expect")                                        \
  X(expires, "Expires")                                      \
  X(forwarded, "Forwarded")                                  \
  X(from, "From")                                            \
  X(front_end_https, "Front-End-Https")                      \
  X(host, "Host")                                            \
  X(http2_settings, "HTTP2-Settings")                        \
  X(if_match, "If-Match")                                    \
  X(if_modified_since, "If-Modified-Since")                  \
  X(if_none_match, "If-None-Match")                          \
  X(if_range, "If-Range")                                    \
  X(if_unmodified_since, "If-Unmodified-Since")              \
  X(keep_alive, "Keep-Alive")                                \
  X(last_modified, "Last-Modified")                          \
  X(link, "Link")                                            \
  X(location, "Location")                                    \
  X(max_forwards, "Max-Forwards")                            \
  X(mime_version, "MIME-Version")                            \
  X(no_vary_search, "No-Vary-Search")                        \
  X(origin, "Origin")                                        \
  X(pragma, "Pragma")                                        \
  X(proxy_authenticate, "Proxy-Authenticate")                \
  X(proxy_authentication_info, "Proxy-Authentication-Info")  \
  X(proxy_authorization, "Proxy-Authorization")              \
  X(proxy_connection, "Proxy-Connection")                    \
  X(range, "Range")                                          \
  X(referer, "Referer")                                      \
  X(retry_after, "Retry-After")                              \
  X(server, "Server")                                        \
  X(set_cookie, "Set-Cookie")                                \
  X(surrogate_capability, "Surrogate-Capability")            \
  X(surrogate_control, "Surrogate-Control")                  \
  X(surrogate_key, "Surrogate-Key")                          \
  X(te, "TE")                                                \
  X(trailer, "Trailer")                                      \
  X(transfer_encoding, "Transfer-Encoding")                  \
  X(upgrade, "Upgrade")                                      \
  X(user_agent, "User-Agent")                                \
  X(vary, "Vary")                                            \
  X(via, "Via")                                              \
  X(warning, "Warning")                                      \
  X(www_authenticate, "WWW-Authenticate")                    \
  X(x_cache, "X-Cache")                                      \
  X(x_cache_lookup, "X-Cache-Lookup")                        \
  X(x_forwarded_for, "X-Forwarded-For")                      \
  X(x_forwarded_proto, "X-Forwarded-Proto")                  \
  X(x_squid_error, "X-Squid-Error")                          \
  X(x_request_uri, "X-Request-URI")

enum class FieldId : uint8_t {
  other,
#define X(id, name) id,
  LOLIGO_FIELDS(X)
#undef X
  count_,
};
static_assert(unsigned(FieldId::count_) <= 128);

FieldId field_id(std::string_view name);       // without case; FieldId::other if unknown
std::string_view field_name(FieldId);          // canonical spelling; empty for other

}  // namespace loligo::http
