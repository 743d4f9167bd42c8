#include "mgr/explain_query.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/uri.h"
#include "net/address.h"

namespace loligo::mgr {

namespace {

std::string take(std::string_view name, std::string value, client::ExplainQuestion& q) {
  if (name == "url") {
    if (!q.url.empty()) return "url= stands there twice";
    q.url = std::move(value);
  } else if (name == "method") {
    q.method = std::move(value);
  } else if (name == "header") {
    if (q.headers.size() >= kMaxExplainHeaders) return fmt::format("more than {} header=", kMaxExplainHeaders);
    q.headers.push_back(std::move(value));
  } else if (name == "client") {
    if (!net::Address::parse(value)) return "client= is no address";
    q.client = std::move(value);
  } else if (name == "port") {
    auto port = base::parse_decimal<uint16_t>(value);
    if (!port || *port == 0) return "port= is no number of a port";
    q.port = *port;
  } else {
    return "the names are url, method, header, client and port";
  }
  return {};
}

}  // namespace

std::string read_explain_query(std::string_view query, client::ExplainQuestion& q) {
  if (query.size() > kMaxExplainQuery) return fmt::format("the query is longer than {} bytes", kMaxExplainQuery);
  while (!query.empty()) {
    std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    if (equals == pair.npos) return "name=value is wanted, joined by &";
    auto value = http::percent_decode(pair.substr(equals + 1));
    if (!value) return "a % without two hexadecimal digits";
    for (char c : *value)
      if ((unsigned char)c < 0x20 || c == 0x7f) return "control characters have no place in a request";
    if (std::string error = take(pair.substr(0, equals), std::move(*value), q); !error.empty()) return error;
  }
  return q.url.empty() ? "url= is missing" : "";
}

}  // namespace loligo::mgr
