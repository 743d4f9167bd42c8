// One configuration as the client side sees it: settings, compiled rules, texts
// made once. Immutable; each worker has a pointer of its own to it, and what is
// under way keeps the one it began with.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "access/rules.h"
#include "cache/cache.h"
#include "client/error_page.h"
#include "client/found_word.h"
#include "client/header_rules.h"
#include "client/settings.h"
#include "log/access_log.h"
#include "server/upstream.h"

namespace loligo::net { class TlsServerContext; }

namespace loligo::client {

// A listening port with what its connections need.
struct PortContext {
  Port config;
  std::string name;                                  // for myportname
  int receive_buffer = 0;                            // bytes, 0 = the kernel's choice (tcp_recv_bufsize)
  std::shared_ptr<const net::TlsServerContext> tls;  // null = plain
  // "X-Cache: HIT from h\r\nX-Cache-Lookup: HIT from h:3128\r\nVia: 1.1 h (loligo/0.1.0)\r\n" and so on, by outcome.
  // For responses that came as HTTP/1.0 and as HTTP/1.1.
  std::string cache_fields[2][2][kFoundWords];
  const std::string& outcome_fields(bool hit, FoundWord found, bool by_http10 = false) const { return cache_fields[!by_http10][hit][unsigned(found)]; }
};

struct Snapshot {
  Settings settings;
  std::string hostname, unique_name;                 // visible_hostname; what Via carries
  std::string via_value;                             // "hostname (loligo/0.1.0)"
  std::string cache_status = "Cache-Status: loligo"; // "Cache-Status: " and our name, as its members begin
  access::Rules http_access, miss_access, http_reply_access, follow_forwarded;
  struct ReplyLimit { uint64_t bytes; access::Rules condition; };
  std::vector<ReplyLimit> reply_limits;              // reply_body_max_size: the first that matches
  bool judges_replies = false;                       // rules look at replies
  HeaderRules request_headers, reply_headers;
  struct Upgrade { std::string protocol; access::Rules rules; };
  std::vector<Upgrade> upgrades;                     // http_upgrade_request_protocols; "OTHER" last
  std::vector<access::Rules> log_conditions;         // by index of log::Settings::access_logs
  std::shared_ptr<const ErrorPages> error_pages;
  struct DenyRule { DenyInfo info; std::string acl; };
  std::vector<DenyRule> deny_info;
  std::vector<std::shared_ptr<const PortContext>> ports;
  std::shared_ptr<const server::Routing> routing;
  std::shared_ptr<const cache::Policy> policy;
  log::LogPlanPtr log_plan;
  bool check_hostnames = false, allow_underscore = true;   // of the net room's settings
  bool purge_enabled = false;                        // some ACL names the method PURGE
  base::Milliseconds shutdown_lifetime{8'000};
};

// "Cache-Status: " and the name of this cache, as the structured field wants it (RFC 9211 section 2): a token, else a string.
std::string cache_status_prefix(std::string_view name);

// The value of X-Cache and the like when the port is known.
void fill_port_fields(PortContext&, const Snapshot&);

}  // namespace loligo::client
