// Reads cache_peer lines.
//
//   cache_peer host parent|sibling|multicast http-port icp-port [option ...]
//
// Ports may be service names. Options stand in the table of peer_options.cc;
// TLS options carry tls- or ssl in front. An unknown one is ignored with a warning.
// Configuration time, one thread.
#pragma once
#include <string>

#include "config/directive.h"
#include "icp/settings.h"

namespace loligo::icp {

void parse_cache_peer(const config::Statement&, void* settings, config::Problems&);
void dump_cache_peers(const config::Directive& self, const void* settings, std::string& out);

}  // namespace loligo::icp
