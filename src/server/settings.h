// What squid.conf says to the server side: connecting to origins and peers,
// timeouts, retries, when to go direct, how far to read ahead.
// Plain data, immutable once loaded; any thread. Sizes are bytes, -1 = unlimited.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"
#include "net/tls_settings.h"

namespace loligo::server {

struct Settings {
  using Statements = std::vector<config::Statement>;
  base::Milliseconds forward_timeout{240'000}, connect_timeout{60'000}, read_timeout{900'000};
  base::Milliseconds server_idle_pconn_timeout{60'000}, pconn_lifetime{0};
  int forward_max_tries = 25, connect_retries = 0;
  bool retry_on_error = false, server_persistent_connections = true;
  Statements server_pconn_for_nonretriable;
  base::Milliseconds happy_eyeballs_connect_timeout{250}, happy_eyeballs_connect_gap{-1};
  int happy_eyeballs_connect_limit = -1;

  Statements always_direct, never_direct, miss_access;
  bool prefer_direct = false, nonhierarchical_direct = true;

  int64_t reply_header_max_size = 65536;
  int64_t quick_abort_min = 16384, quick_abort_max = 16384;  // quick_abort_min -1 = always finish
  int quick_abort_pct = 95;
  int64_t read_ahead_gap = 16384;

  bool tls_outgoing = true;         // false after "tls_outgoing_options disable": no https:// origins
  net::TlsSettings tls_outgoing_options;
  config::Place tls_outgoing_place;  // of the last tls_outgoing_options line
  Statements tcp_outgoing_address;  // ADDRESS [!]acl ...: conditions from word 1 on
};

std::span<const config::Directive> directives();

}  // namespace loligo::server
