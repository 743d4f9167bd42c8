// A whole configuration: every room's settings, loaded from squid.conf.
//
// load_settings reads the files, applies defaults, fills the structs and checks
// what concerns several directives; check_rules compiles the access rules to
// report unknown ACLs; check_outside looks for the certificates they name.
// parse_only does all three for `-k parse`.
// Owner: main; immutable once loaded, a reload makes a new one. Loading: one thread.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/rules.h"
#include "access/settings.h"
#include "base/clock.h"
#include "cache/settings.h"
#include "client/settings.h"
#include "config/directive.h"
#include "config/reader.h"
#include "icp/settings.h"
#include "log/settings.h"
#include "mgr/settings.h"
#include "net/address.h"
#include "net/settings.h"
#include "server/settings.h"
#include "store/settings.h"

namespace loligo {

// What concerns the process as a whole.
constexpr int kMostWorkers = 64;

struct ProcessSettings {
  int workers = 1;
  std::string pid_filename;                  // empty = none
  std::string cache_effective_user, cache_effective_group;  // empty = as started / the user's groups
  std::string coredump_dir, chroot;          // empty = none
  base::Milliseconds shutdown_lifetime{8'000};
  int umask = 027;
};

struct Settings {
  client::Settings client;
  server::Settings server;
  icp::Settings icp;
  cache::Settings cache;
  store::Settings store;
  net::Settings net;
  mgr::Settings mgr;
  access::Settings access;
  log::Settings log;
  ProcessSettings process;
  // An include file or list file was missing: names it may have defined are unknown.
  bool incomplete = false;
};

std::span<const config::Directive> process_directives();

// Every room's table bound to its part of `settings`, and the names that no room implements yet.
std::vector<config::RoomTable> room_tables(Settings& settings);

Settings load_settings(const std::string& path, const config::ReadOptions&, config::Problems&);
// The same from memory: tests and fuzzing. `name` stands for the path in messages.
Settings load_settings_text(std::string_view text, const std::string& name, const config::ReadOptions&, config::Problems&);
// Compiles every rule list and forgets the result: unknown ACLs and ACL types are reported. Without a resolver every host
// name in a src, dst or localip ACL counts as one that does not resolve.
void check_rules(const Settings&, config::Problems&, access::AclSet::Resolver = {});
// Asks the system for the addresses of a host name; waits. For start-up and reload alone.
std::vector<net::Address> resolve_host(const std::string& name);
// Certificates and keys: reports those that are not there as `missing`. (Helpers, users, list files: load_settings does.)
void check_outside(const Settings&, config::Problems&);

// `-k parse`: all problems of a file on stderr. 0 when nothing but warnings, missing things and restrictions remain, else 1.
int parse_only(const std::string& path, const config::ReadOptions&);
// May the proxy start with these problems? Errors, restrictions without effect and missing include or list files forbid it.
bool may_start(const config::Problems&);

std::string dump_config(const Settings&);  // mgr:config
std::string manual_page();                 // doc/loligo.conf.5

}  // namespace loligo
