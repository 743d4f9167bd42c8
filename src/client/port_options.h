// Reads http_port and https_port lines.
//
//   http_port  [address:]port [option ...]       address = IPv4 | [IPv6] | host name
//   option     = a mode (accel, intercept, tproxy), a word of the table in port_options.cc, or a TLS option
//
// Configuration time, one thread.
#pragma once
#include <string>

#include "client/settings.h"
#include "config/directive.h"

namespace loligo::client {

void parse_http_port(const config::Statement&, void* settings, config::Problems&);
void parse_https_port(const config::Statement&, void* settings, config::Problems&);
void dump_http_ports(const config::Directive& self, const void* settings, std::string& out);
void dump_https_ports(const config::Directive& self, const void* settings, std::string& out);

}  // namespace loligo::client
