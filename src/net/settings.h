// What squid.conf says to the network layer: name resolution, descriptors, sockets.
// Plain data, immutable once loaded; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"

namespace loligo::net {

struct Settings {
  std::vector<std::string> dns_nameservers;  // empty = those of resolv.conf
  base::Milliseconds dns_timeout{30'000}, dns_retransmit_interval{5'000};
  int64_t dns_packet_max = 0;                // EDNS buffer in bytes; 0 = no EDNS
  bool dns_defnames = false;
  std::string hosts_file;                    // empty = none
  std::string append_domain;                 // with its leading dot; empty = none
  base::Milliseconds positive_dns_ttl{21'600'000}, negative_dns_ttl{60'000};
  int ipcache_size = 1024, fqdncache_size = 1024;
  bool check_hostnames = false, allow_underscore = true;
  int max_filedescriptors = 0;               // 0 = what the system allows
  int64_t tcp_recv_bufsize = 0;              // 0 = the kernel's choice
};

std::span<const config::Directive> directives();

}  // namespace loligo::net
