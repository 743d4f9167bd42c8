// URIs as HTTP/1 carries them (RFC 3986 section 3, RFC 9112 section 3.2):
//
//   absolute  = scheme "://" [ userinfo "@" ] host [ ":" port ] [ path ] [ "?" query ] [ "#" fragment ]
//   host      = "[" IPv6address "]" / 1*( unreserved / sub-delims )
//
// Stricter than RFC 3986: no percent-encoding, no empty label ("a..b", ".a", ".") and no IPvFuture in hosts. Two programs that
// read such a host differently would disagree on whom an access rule is about.
#include "http/uri.h"

#include <arpa/inet.h>

#include <cstring>

#include "base/text.h"
#include "http/scan.h"

namespace loligo::http {
namespace {

constexpr size_t kMaxHost = 255;  // RFC 1035 2.3.4

bool is_target(std::string_view text) { return skip_target(text.data(), text.data() + text.size()) == text.data() + text.size(); }

void append_lower(std::string& out, std::string_view text) {
  size_t at = out.size();
  out.append(text);
  for (; at < out.size(); ++at) out[at] = base::ascii_lower(out[at]);
}

bool is_ipv6(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN];
  unsigned char address[16];
  if (text.size() >= sizeof terminated || text.find('\0') != text.npos) return false;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = 0;
  return inet_pton(AF_INET6, terminated, address) == 1;
}

bool is_registered_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxHost) return false;
  char previous = '.';  // so that a leading dot counts as an empty label
  for (char c : text) {
    if (!is_class(c, kRegName) || (c == '.' && previous == '.')) return false;
    previous = c;
  }
  return true;
}

bool is_scheme(std::string_view text) {
  if (text.empty()) return false;
  char first = base::ascii_lower(text.front());
  if (first < 'a' || first > 'z') return false;
  for (char c : text) {
    char lower = base::ascii_lower(c);
    if (!(lower >= 'a' && lower <= 'z') && !base::is_digit(c) && c != '+' && c != '-' && c != '.') return false;
  }
  return true;
}

bool is_userinfo(std::string_view text) {
  for (char c : text)
    if (!is_class(c, kRegName) && c != ':' && c != '%') return false;
  return true;
}

// The end of the authority: the first '/', '?' or '#'.
size_t authority_end(std::string_view text) {
  size_t end = 0;  // find_first_of calls memchr for every character
  while (end < text.size() && text[end] != '/' && text[end] != '?' && text[end] != '#') ++end;
  return end;
}

std::string_view without_fragment(std::string_view text) { return text.substr(0, text.find('#')); }

// "[userinfo@]host[:port]path?query#fragment", what follows "//".
bool parse_hierarchy(std::string_view text, Uri& uri) {
  size_t end = authority_end(text);
  std::string_view authority = text.substr(0, end);
  if (size_t at = authority.find('@'); at != authority.npos) {
    uri.userinfo = authority.substr(0, at);
    if (!is_userinfo(uri.userinfo)) return false;
    authority.remove_prefix(at + 1);  // a second '@' is no host character
  }
  std::optional<Authority> parsed = parse_authority(authority);
  if (!parsed) return false;
  uri.authority = *parsed;
  uri.path_query = without_fragment(text.substr(end));
  return is_target(text.substr(end));
}

// RFC 3986 5.2.4 on an absolute path: "/a/./b/../c" -> "/a/c".
std::string remove_dot_segments(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  size_t at = 0;
  while (at < path.size()) {  // at stands on a '/'
    size_t next = path.find('/', at + 1);
    bool last = next == path.npos;
    if (last) next = path.size();
    std::string_view segment = path.substr(at + 1, next - at - 1);
    if (segment == "..") {
      size_t parent = out.rfind('/');
      out.resize(parent == out.npos ? 0 : parent);
    }
    if (segment == "." || segment == "..") {
      if (last) out += '/';
    } else {
      out.append(path.substr(at, next - at));
    }
    at = next;
  }
  return out.empty() ? "/" : out;
}

std::string normal_path_query(std::string_view path_query) {
  size_t query = path_query.find('?');
  std::string out = remove_dot_segments(path_query.substr(0, query));
  if (query != path_query.npos) out.append(path_query.substr(query));
  return out;
}

std::string canonical_of(const Uri& uri) {
  std::string path(uri.path_query);
  if (path.empty() || path.front() != '/') path.insert(0, 1, '/');
  std::string out;
  canonical(uri.scheme, uri.authority.host, uri.authority.ipv6_literal, uri.authority.port, normal_path_query(path), out);
  return out;
}

// A relative reference's path and query against the base's (RFC 3986 5.2.2, 5.2.3).
std::string merged_path(std::string_view base_path_query, std::string_view reference) {
  std::string_view base_path = base_path_query.substr(0, base_path_query.find('?'));
  if (reference.empty()) return std::string(base_path_query);
  if (reference.front() == '/') return std::string(reference);
  std::string out(reference.front() == '?' ? base_path : base_path.substr(0, base_path.rfind('/') + 1));
  return out.append(reference);
}

int hex_value(char c) {
  if (!is_class(c, kHexDigit)) return -1;
  return base::is_digit(c) ? c - '0' : base::ascii_lower(c) - 'a' + 10;
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  Authority out;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    size_t close = text.find(']');
    if (close == text.npos) return std::nullopt;
    out.host = text.substr(1, close - 1);
    out.ipv6_literal = true;
    if (!is_ipv6(out.host)) return std::nullopt;
    rest = text.substr(close + 1);
  } else {
    size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    if (!is_registered_name(out.host)) return std::nullopt;
    if (colon != text.npos) rest = text.substr(colon);
  }
  if (rest.empty()) return out;
  if (rest.front() != ':') return std::nullopt;
  rest.remove_prefix(1);
  if (rest.empty()) return out;
  std::optional<uint16_t> port = base::parse_decimal<uint16_t>(rest);
  if (!port || *port == 0 || rest.size() > 5) return std::nullopt;
  out.port = *port;
  return out;
}

std::optional<Uri> parse_absolute(std::string_view text) {
  Uri uri;
  size_t colon = text.find(':');
  if (colon == text.npos || text.substr(colon, 3) != "://") return std::nullopt;
  uri.scheme = text.substr(0, colon);
  if (!is_scheme(uri.scheme) || !parse_hierarchy(text.substr(colon + 3), uri)) return std::nullopt;
  return uri;
}

uint16_t default_port(std::string_view scheme) {
  struct Row { std::string_view scheme; uint16_t port; };
  static constexpr Row kPorts[] = {{"http", 80}, {"https", 443}, {"ftp", 21}};
  for (const Row& row : kPorts)
    if (base::iequals(row.scheme, scheme)) return row.port;
  return 0;
}

void canonical(std::string_view scheme, std::string_view host, bool ipv6_literal, uint16_t port, std::string_view path_query,
               std::string& out) {
  out.clear();
  out.reserve(scheme.size() + host.size() + path_query.size() + 16);
  append_lower(out, scheme);
  out += "://";
  if (!ipv6_literal && host.size() > 1 && host.back() == '.') host.remove_suffix(1);
  if (ipv6_literal) out += '[';
  append_lower(out, host);
  if (ipv6_literal) out += ']';
  if (port && port != default_port(scheme)) {
    char digits[5];
    char* end = std::to_chars(digits, digits + sizeof digits, port).ptr;
    out += ':';
    out.append(digits, end);
  }
  path_query = without_fragment(path_query);
  if (path_query.empty() || path_query.front() != '/') out += '/';
  out.append(path_query);
}

std::optional<std::string> resolve_reference(std::string_view base, std::string_view reference) {
  std::optional<Uri> from = parse_absolute(base);
  if (!from || !is_target(reference)) return std::nullopt;
  Uri to;
  size_t colon = reference.find(':');
  if (colon != reference.npos && is_scheme(reference.substr(0, colon))) {  // the first segment of a relative path has no colon
    std::optional<Uri> absolute = parse_absolute(reference);
    if (!absolute) return std::nullopt;
    return canonical_of(*absolute);
  }
  if (reference.substr(0, 2) == "//") {
    to.scheme = from->scheme;
    if (!parse_hierarchy(reference.substr(2), to)) return std::nullopt;
    return canonical_of(to);
  }
  to = *from;
  std::string path = merged_path(from->path_query, without_fragment(reference));
  to.path_query = path;
  return canonical_of(to);
}

std::string_view origin_of(std::string_view uri) {
  size_t host = uri.find("://");
  if (host == uri.npos) return {};
  return uri.substr(0, host + 3 + authority_end(uri.substr(host + 3)));
}

bool same_origin(std::string_view a, std::string_view b) { return !origin_of(a).empty() && origin_of(a) == origin_of(b); }

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += char(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace loligo::http
