#include "helpers/client_request.h"

#include <string_view>

#include "base/text.h"
#include "http/date.h"

namespace loligo::helpers {
namespace {

// "http://user:pass@host:80/x" -> "host:80". Nothing for a path or an authority alone.
std::optional<std::string> host_of(std::string_view url) {
  size_t scheme = url.find("://");
  if (scheme == url.npos) return std::nullopt;
  std::string_view authority = url.substr(scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (size_t at = authority.rfind('@'); at != authority.npos) authority.remove_prefix(at + 1);
  return std::string(authority);
}

std::string basic(const std::string& user, const std::optional<std::string>& password) {
  return "Basic " + base64(user + ":" + password.value_or(""));
}

// "1.1" -> "HTTP/1.1"; anything that is no bare number stands as it is ("FTP/3", to try a server's manners).
std::string version_text(const std::string& version) {
  return !version.empty() && base::is_digit(version[0]) ? "HTTP/" + version : version;
}

}  // namespace

std::string base64(std::string_view in) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < in.size(); i += 3) {
    size_t n = std::min<size_t>(3, in.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? uint8_t(in[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string request_target(const ClientOptions& o) {
  if (!o.url.starts_with("mgr:")) return o.url;
  std::string page = o.url.substr(4);
  // A password in the URL wins over -w.
  if (o.proxy_password && page.find('@') == page.npos) page += "@" + *o.proxy_password;
  bool bare_ipv6 = o.host.find(':') != o.host.npos && o.host[0] != '[';
  return "cache_object://" + (bare_ipv6 ? "[" + o.host + "]" : o.host) + "/" + page;
}

std::string request_head(const ClientOptions& o, std::optional<uint64_t> payload_bytes) {
  std::string target = request_target(o);
  if (o.version == "-") return o.method + " " + target + "\r\n";
  std::string head = o.method + " " + target + " " + version_text(o.version) + "\r\n";
  auto field = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (auto host = o.host_field ? o.host_field : host_of(target)) field("Host", *host);
  if (!o.user_agent.empty()) field("User-Agent", o.user_agent);
  if (o.reload) field("Cache-Control", "no-cache");
  if (payload_bytes) field("Content-length", std::to_string(*payload_bytes));
  if (o.accept) field("Accept", "*/*");
  if (o.modified_since != 0) {
    char date[http::kDateLength];
    http::format_date(o.modified_since, date);
    field("If-Modified-Since", {date, sizeof date});
  }
  if (o.max_forwards) field("Max-Forwards", std::to_string(*o.max_forwards));
  if (o.proxy_user) field("Proxy-Authorization", basic(*o.proxy_user, o.proxy_password));
  if (o.www_user) field("Authorization", basic(*o.www_user, o.www_password));
  // Persistence is the default of 1.1 and the exception of 1.0.
  if (!o.keep_alive) field("Connection", "close");
  else if (o.version == "1.0") field("Connection", "keep-alive");
  return head + o.extra_fields + "\r\n";
}

}  // namespace loligo::helpers
