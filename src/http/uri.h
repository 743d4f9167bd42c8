// Request targets and effective request URIs (RFC 9112 section 3, RFC 3986).
// Views refer into the text given. No DNS, no allocation except canonical().
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loligo::http {

struct Authority {
  std::string_view host;    // without brackets for IPv6 literals; never empty on success
  uint16_t port = 0;        // 0 = none given
  bool ipv6_literal = false;
};

// "host", "host:port", "[v6]", "[v6]:port". No userinfo, no blanks, port 1-65535 (":" alone = none).
// Host characters: reg-name of RFC 3986 plus '_'; percent-encoding refused.
std::optional<Authority> parse_authority(std::string_view);

struct Uri {
  std::string_view scheme;      // as written; compare without case
  std::string_view userinfo;    // without '@'; empty if none
  Authority authority;
  std::string_view path_query;  // from '/' or '?' to the end without fragment; empty if absent
};
// An absolute-form target "scheme://authority/path?query". A fragment is dropped.
std::optional<Uri> parse_absolute(std::string_view);

// "http" -> 80, "https" -> 443, "ftp" -> 21, else 0. Scheme without case.
uint16_t default_port(std::string_view scheme);

// The canonical form that keys the cache and appears in the log: scheme and host in lower case, one trailing dot of the host
// removed, default port dropped, empty path = "/", path and query as received ("?x" alone becomes "/?x"), no fragment, no userinfo.
// `out` is replaced. IPv6 literals are bracketed.
void canonical(std::string_view scheme, std::string_view host, bool ipv6_literal, uint16_t port, std::string_view path_query, std::string& out);

// Resolves a reference (Location, Content-Location) against a canonical base URI; nullopt if malformed.
std::optional<std::string> resolve_reference(std::string_view base, std::string_view reference);
// Scheme, host and port; empty if there are none.
std::string_view origin_of(std::string_view canonical);
// Same scheme, host and port (RFC 9110 4.3.1).
bool same_origin(std::string_view canonical_a, std::string_view canonical_b);

// Percent-decodes; nullopt when a triplet is malformed.
std::optional<std::string> percent_decode(std::string_view);

}  // namespace loligo::http
