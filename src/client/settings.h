// What squid.conf says to the client side: listening ports, access, limits and
// timeouts of client connections, header rules, error pages.
// Plain data, immutable once loaded; any thread. Times carry their unit in the
// type, sizes are bytes with -1 = unlimited. Field names are the directives' names.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"
#include "http/blanks.h"
#include "net/tls_settings.h"

namespace loligo::client {

// One http_port or https_port line.
struct Port {
  enum class Mode : unsigned char { forward, accel, intercept, tproxy };
  struct Keepalive {
    bool on = false;
    int idle = 0, interval = 0, timeout = 0;  // seconds; 0 = the kernel's own
  };
  config::Place place;
  std::string host;          // empty = any address
  uint16_t port = 0;
  bool tls = false;          // https_port
  Mode mode = Mode::forward;
  std::string name;          // for myportname; empty in the file = "host:port" as typed
  std::string defaultsite;
  bool vhost = true;         // accel: the Host field chooses the site; false with no-vhost
  bool allow_direct = false;
  bool ignore_cc = false;
  bool act_as_origin = false;
  int vport = -1;            // -1 = none, 0 = this port's own number, N = that number
  std::string protocol;      // of the rebuilt URL; empty = http, or https with tls
  Keepalive keepalive;
  bool ipv4_only = false;
  bool ssl_bump = false;
  bool require_proxy_header = false;
  net::TlsSettings tls_settings;
};

struct HeaderReplacement { std::string name, value; };
// request_header_add NAME VALUE [acl ...]: the ACLs are the statement's words from `first_acl` on. `value` may hold %codes.
struct HeaderAddition {
  std::string name, value;
  config::Statement statement;
  size_t first_acl = 2;
};

// reply_body_max_size SIZE [acl ...]: -1 = no limit.
struct ReplyLimit {
  int64_t bytes = -1;
  config::Statement statement;
  size_t first_acl = 1;
};

enum class ForwardedFor : unsigned char { on, off, transparent, remove, truncate };

struct Settings {
  using Statements = std::vector<config::Statement>;
  std::vector<Port> ports;
  Statements http_access, http_reply_access, follow_x_forwarded_for;
  bool acl_uses_indirect_client = true, log_uses_indirect_client = true;
  std::vector<ReplyLimit> reply_body_max_size;

  int64_t request_header_max_size = 65536;
  http::BlanksInTarget uri_whitespace = http::BlanksInTarget::deny;
  int64_t request_body_max_size = -1;
  int64_t client_request_buffer_max_size = 512 * 1024;

  base::Milliseconds request_timeout{300'000}, request_start_timeout{300'000}, client_idle_pconn_timeout{120'000};
  base::Milliseconds write_timeout{900'000}, client_lifetime{86'400'000};
  bool half_closed_clients = false, client_persistent_connections = true, persistent_connection_after_error = true;

  bool via = true;
  ForwardedFor forwarded_for = ForwardedFor::on;
  Statements request_header_access, reply_header_access;              // NAME allow|deny acl ...
  std::vector<HeaderReplacement> request_header_replace, reply_header_replace;
  std::vector<HeaderAddition> request_header_add, reply_header_add;
  Statements http_upgrade_request_protocols;                          // PROTOCOL allow|deny acl ...

  std::string visible_hostname, unique_hostname;                      // empty = the machine's name
  std::vector<std::string> hostname_aliases;
  std::string httpd_accel_surrogate_id;                               // empty = visible_hostname
  bool http_accel_surrogate_remote = false;
  int client_ip_max_connections = -1;                                 // -1 = no limit
  bool client_db = true, global_internal_static = true;

  std::string cache_mgr, error_directory, error_default_language, err_page_stylesheet, err_html_text;
  bool httpd_suppress_version_string = false, email_err_data = false;
  Statements deny_info;                                               // PAGE|URL|TCP_RESET acl ...
};

std::span<const config::Directive> directives();

}  // namespace loligo::client
