// What an access rule may ask about a transaction. Every fact is optional; a
// rule that needs a missing one does not match. Views live as long as the check.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "http/head.h"
#include "net/address.h"

namespace loligo::access {

struct Facts {
  net::Address client;                 // src
  net::Address local;                  // localip, localport
  std::string_view port_name;          // myportname
  int client_connections = 0;          // maxconn: open connections of this client address
  base::WallSeconds now = 0;           // time (local time zone)
  // Request
  http::Method method = http::Method::other;
  std::string_view method_text;
  std::string_view scheme;             // "http", "https", "cache_object"; CONNECT: empty
  std::string_view host;               // lower case, no brackets, no trailing dot
  bool host_is_address = false;
  uint16_t port = 0;                   // of the URL
  std::string_view url;                // whole, canonical; CONNECT: "host:port"
  std::string_view path;               // path and query
  const http::Head* request = nullptr;
  const char* request_bytes = nullptr;
  // Reply
  const http::Head* reply = nullptr;
  const char* reply_bytes = nullptr;
  int status = 0;                      // http_status
  std::string_view peer_name;          // peername
  std::string_view hierarchy;          // hier_code: "HIER_DIRECT", with or without "HIER_"
  std::string_view user;
  // Destination addresses, when known (dst). dst_state: what a slow check still needs.
  const net::Address* destinations = nullptr;
  unsigned destination_count = 0;
  bool destinations_known = false;     // true also when the name has none
  // dstdomain with an IP host: the reverse name; "none" or empty when there is none
  std::string_view reverse_name;
  bool reverse_name_known = false;
};

}  // namespace loligo::access
