// What can be said of a configuration only when all of it is known: do the
// access rules compile, and are the certificates it names there?
#include <netdb.h>
#include <unistd.h>

#include <filesystem>

#include "access/rules.h"
#include "settings.h"

namespace loligo {
namespace {

using config::Problems;
using config::Statement;
using Statements = std::vector<Statement>;

// One list of rules and how many words stand before allow or deny.
struct RuleList { const Statements* statements; size_t skip; };
// Statements whose words from `first` on are ACLs.
struct Condition { const Statement* statement; size_t first; };

std::vector<RuleList> rule_lists(const Settings& s) {
  return {{&s.client.http_access, 0}, {&s.client.http_reply_access, 0}, {&s.client.follow_x_forwarded_for, 0}, {&s.client.request_header_access, 1}, {&s.client.reply_header_access, 1},
          {&s.client.http_upgrade_request_protocols, 1}, {&s.server.always_direct, 0}, {&s.server.never_direct, 0},
          {&s.server.miss_access, 0}, {&s.server.server_pconn_for_nonretriable, 0}, {&s.icp.cache_peer_access, 1},
          {&s.cache.cache, 0}, {&s.cache.send_hit, 0}, {&s.cache.store_miss, 0}, {&s.cache.collapsed_forwarding_access, 0}};
}

std::vector<Condition> conditions(const Settings& s) {
  std::vector<Condition> out;
  for (auto* list : {&s.client.request_header_add, &s.client.reply_header_add})
    for (auto& a : *list) out.push_back({&a.statement, a.first_acl});
  for (auto& statement : s.client.deny_info) out.push_back({&statement, 1});
  for (auto& statement : s.server.tcp_outgoing_address) out.push_back({&statement, 1});
  for (auto& limit : s.client.reply_body_max_size) out.push_back({&limit.statement, limit.first_acl});
  for (auto& limit : s.cache.range_offset_limit) out.push_back({&limit.statement, limit.first_acl});
  for (auto& log : s.log.access_logs) out.push_back({&log.statement, log.first_acl});
  return out;
}

// Behind a missing include an unknown ACL is no mistake of this line.
bool knows_all(const Statement& s, size_t first, const access::AclSet& acls, Problems& problems) {
  for (size_t i = first; i < s.words.size(); ++i) {
    std::string_view name = s.words[i].text;
    if (name.starts_with("!")) name.remove_prefix(1);
    if (acls.find(name) != nullptr) continue;
    problems.missing(s.at(i), "there is no ACL \"" + std::string(name) + "\" here; a missing include or list file may define it");
    return false;
  }
  return true;
}

Statements known_only(const Statements& all, size_t first, const access::AclSet& acls, Problems& problems) {
  Statements known;
  for (const Statement& s : all)
    if (knows_all(s, first, acls, problems)) known.push_back(s);
  return known;
}

void check_file(const std::string& path, const config::Place& place, std::string_view what, Problems& problems) {
  if (!path.empty() && ::access(path.c_str(), R_OK) != 0) problems.missing(place, "the " + std::string(what) + " " + path + " cannot be read");
}

void check_tls(const net::TlsSettings& tls, const config::Place& place, Problems& problems) {
  for (auto& c : tls.certificates) {
    check_file(c.cert_file, place, "certificate", problems);
    if (c.key_file != c.cert_file) check_file(c.key_file, place, "key", problems);
  }
  check_file(tls.ca_file, place, "CA file", problems);
  check_file(tls.ca_path, place, "CA directory", problems);
  check_file(tls.crl_file, place, "CRL file", problems);
  check_file(tls.client_ca_file, place, "CA file", problems);
  // tls-dh=CURVE:FILE
  size_t colon = tls.dh_file.find(':');
  check_file(colon == tls.dh_file.npos ? tls.dh_file : tls.dh_file.substr(colon + 1), place, "DH file", problems);
}

// Could the directory be made or written as things stand? What lacks is made at start.
void check_cache_dir(const store::CacheDir& dir, Problems& problems) {
  std::filesystem::path path = dir.path;
  std::error_code error;
  while (path.has_relative_path() && !std::filesystem::exists(path, error)) path = path.parent_path();
  if (!std::filesystem::is_directory(path, error))
    problems.missing(dir.place, "the cache_dir " + dir.path + " cannot be used: " + path.string() + " is no directory");
}

}  // namespace

std::vector<net::Address> resolve_host(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<net::Address> addresses;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (addrinfo* a = found; a != nullptr; a = a->ai_next) addresses.push_back(net::Address::from(a->ai_addr, a->ai_addrlen));
  ::freeaddrinfo(found);
  return addresses;
}

void check_rules(const Settings& s, Problems& problems, access::AclSet::Resolver resolver) {
  access::AclSet acls(std::move(resolver));
  for (const Statement& statement : s.access.acl) acls.add(statement, problems);
  acls.finish(problems);
  for (const RuleList& list : rule_lists(s)) {
    if (!s.incomplete) access::Rules::compile(*list.statements, acls, problems, list.skip);
    else access::Rules::compile(known_only(*list.statements, list.skip + 1, acls, problems), acls, problems, list.skip);
  }
  for (const Condition& c : conditions(s))
    if (!s.incomplete || knows_all(*c.statement, c.first, acls, problems)) access::Rules::compile_conditions(*c.statement, c.first, acls, problems);
}

void check_outside(const Settings& s, Problems& problems) {
  for (const store::CacheDir& dir : s.store.cache_dirs) check_cache_dir(dir, problems);
  if (s.store.memory_cache_mode == store::MemoryCacheMode::disk && s.store.cache_dirs.empty())
    problems.warning(s.store.memory_cache_mode_place, "memory_cache_mode disk keeps nothing in memory without a cache_dir");
  for (auto& port : s.client.ports) check_tls(port.tls_settings, port.place, problems);
  for (auto& peer : s.icp.peers) check_tls(peer.tls_settings, peer.place, problems);
  check_tls(s.server.tls_outgoing_options, s.server.tls_outgoing_place, problems);
}

}  // namespace loligo
