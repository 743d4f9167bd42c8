#include "mgr/request.h"

#include "base/text.h"

namespace loligo::mgr {
namespace {

constexpr std::string_view kScheme = "cache_object";
constexpr std::string_view kPrefix = "/squid-internal-mgr/";
constexpr std::string_view kInternal = "/squid-internal-";
constexpr size_t kMaxCredentials = 4096;

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// RFC 4648 section 4; padding may be missing, nothing may follow it.
std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  while (text.ends_with('=')) text.remove_suffix(1);
  unsigned bits = 0, held = 0;
  for (char c : text) {
    int value = base64_value(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | unsigned(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += char(bits >> held & 0xff);
  }
  return out;
}

}  // namespace

bool is_for_manager(std::string_view scheme, std::string_view path) {
  return base::iequals(scheme, kScheme) || path.starts_with(kPrefix);
}

bool is_internal(std::string_view path) { return path.starts_with(kInternal); }

Asked read_request(const Request& request) {
  Asked asked;
  bool old_form = base::iequals(request.scheme, kScheme);
  std::string_view path = request.path.substr(0, request.path.find('#'));
  std::string_view name = path.substr(0, path.find('?'));
  if (name.size() < path.size()) asked.query = path.substr(name.size() + 1);
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  else if (name.starts_with('/')) name.remove_prefix(1);
  if (size_t at = name.find('@'); old_form && at != name.npos) {
    asked.password = name.substr(at + 1);
    name = name.substr(0, at);
  }
  asked.action = name.empty() ? (old_form ? "menu" : "index") : name;
  if (auto password = basic_password(request.authorization)) asked.password = std::move(password);
  return asked;
}

std::optional<std::string> basic_password(std::string_view authorization) {
  if (authorization.size() > kMaxCredentials || !base::istarts_with(authorization, "basic ")) return std::nullopt;
  auto credentials = base64_decode(base::trim_ows(authorization.substr(6)));
  if (!credentials) return std::nullopt;
  size_t colon = credentials->find(':');
  if (colon == credentials->npos) return std::nullopt;
  return credentials->substr(colon + 1);
}

bool same_secret(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() != wanted.size();
  for (size_t i = 0; i < given.size(); ++i)
    difference |= unsigned((unsigned char)given[i] ^ (unsigned char)(wanted.empty() ? 0 : wanted[i % wanted.size()]));
  return difference == 0;
}

}  // namespace loligo::mgr
