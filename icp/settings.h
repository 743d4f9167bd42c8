// What squid.conf says about peers: cache_peer lines, who may use them, and when one counts as dead.
// Plain data, immutable once loaded; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"
#include "net/tls_settings.h"

namespace loligo::icp {

// One cache_peer line.
struct Peer {
  enum class Type : unsigned char { parent, sibling, multicast };
  enum class FrontEndHttps : unsigned char { off, on, automatic };
  config::Place place;
  std::string host;
  Type type = Type::parent;
  uint16_t http_port = 0, icp_port = 0;  // icp_port is the HTCP port where `htcp` is set; 0 = never queried
  std::string name;                      // name=, else the host
  bool default_ = false, round_robin = false, weighted_round_robin = false, carp = false, userhash = false, sourcehash = false;
  int weight = 1, basetime = 0;
  bool proxy_only = false, no_query = false, no_digest = false, no_netdb_exchange = false, no_delay = false;
  bool originserver = false, allow_miss = false, closest_only = false, background_ping = false;
  int standby = 0, max_conn = 0;         // 0 = no limit, none kept ready
  base::Milliseconds connect_timeout{0}; // 0 = peer_connect_timeout
  int connect_fail_limit = 10;
  std::string login;                     // "user:pass", "PASS", "PASSTHRU", "*:pass" as typed
  std::string forceddomain, digest_url, carp_key;
  bool htcp = false;
  std::vector<std::string> htcp_modes;   // oldsquid, no-clr, only-clr, no-purge-clr, forward-clr
  bool tls = false;
  FrontEndHttps front_end_https = FrontEndHttps::off;
  net::TlsSettings tls_settings;
  std::string original;                  // the words as typed, for mgr:config
};

std::string shown_words(const Peer&);    // `original` with the password of login= hidden

struct Settings {
  using Statements = std::vector<config::Statement>;
  std::vector<Peer> peers;
  Statements cache_peer_access;          // NAME allow|deny acl ...
  base::Milliseconds dead_peer_timeout{10'000}, peer_connect_timeout{30'000};
  const Peer* find(std::string_view name) const {
    for (const Peer& p : peers) if (p.name == name) return &p;
    return nullptr;
  }
};

std::span<const config::Directive> directives();

}  // namespace loligo::icp
