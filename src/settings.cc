#include "settings.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "config/apply.h"
#include "config/known_directives.h"
#include "config/manual.h"

namespace loligo {
namespace {

using config::Problems;
using config::ReadOptions;
using config::Statement;
using Statements = std::vector<Statement>;

// Directives whose value is the command line of a helper; where its program stands.
constexpr std::pair<std::string_view, std::string_view> kHelpers[] = {
    {"url_rewrite_program", ""}, {"store_id_program", ""}, {"auth_param", "program"}, {"sslcrtd_program", ""}, {"sslcrtvalidator_program", ""}};

void check_helper(const Statement& s, Problems& problems) {
  for (auto& [name, keyword] : kHelpers) {
    if (name != s.name) continue;
    size_t word = 0;
    if (!keyword.empty()) {
      if (s.words.size() < 3 || s.words[1].text != keyword) return;
      word = 2;
    }
    if (word < s.words.size() && s.words[word].text[0] == '/' && ::access(s.words[word].text.c_str(), X_OK) != 0)
      problems.missing(s.at(word), "the helper " + s.words[word].text + " cannot be run", "install it");
  }
}

// Users and directories, at the line that names them.
void check_names(const Statement& s, Problems& problems) {
  if (s.words.empty() || s.words[0].text == "none") return;
  const std::string& word = s.words[0].text;
  if (s.name == "cache_effective_user" && ::getpwnam(word.c_str()) == nullptr) problems.missing(s.at(0), "there is no user " + word, "create it");
  if (s.name == "cache_effective_group" && ::getgrnam(word.c_str()) == nullptr) problems.missing(s.at(0), "there is no group " + word, "create it");
  if (s.name == "error_directory" && ::access(word.c_str(), R_OK) != 0)
    problems.warning(s.at(0), "the directory " + word + " cannot be read: the error pages built in are used");
}

// A second listener on one address would share its connections by chance; the first line keeps it.
void check_ports(client::Settings& client, Problems& problems) {
  std::set<std::string> seen;
  std::erase_if(client.ports, [&](const client::Port& p) {
    bool taken = !seen.insert(p.host + "|" + std::to_string(p.port)).second;
    if (taken) problems.warning(p.place, "port " + std::to_string(p.port) + " is already taken by a line above; this line is ignored", "remove one of them");
    return taken;
  });
  if (client.ports.empty()) problems.warning({}, "no http_port and no https_port: nothing to listen on", "add: http_port 3128");
}

void check_peer_rules(const icp::Settings& icp, Problems& problems) {
  for (const Statement& s : icp.cache_peer_access) {
    const icp::Peer* peer = s.words.empty() ? nullptr : icp.find(s.words[0].text);
    if (peer == nullptr) problems.warning(s.at(0), "cache_peer_access for '" + (s.words.empty() ? "" : s.words[0].text) + "', which is no peer", "the name is that of cache_peer's name=");
  }
}

// The last line of that name; no place when there is none.
config::Place place_of(const Statements& statements, std::string_view name) {
  for (auto s = statements.rbegin(); s != statements.rend(); ++s)
    if (s->name == name) return s->place;
  return {};
}

void cross_check(Settings& s, const Statements& statements, Problems& problems) {
  check_ports(s.client, problems);
  check_peer_rules(s.icp, problems);
  if (s.client.client_request_buffer_max_size >= 0 && s.client.client_request_buffer_max_size <= s.client.request_header_max_size)
    problems.error(place_of(statements, "client_request_buffer_max_size"), "client_request_buffer_max_size must be larger than request_header_max_size");
  if (s.store.cache_swap_low > s.store.cache_swap_high) problems.warning(place_of(statements, "cache_swap_low"), "cache_swap_low is above cache_swap_high");
}

template <class Read>
Settings load(const ReadOptions& options, Problems& problems, Read read) {
  Settings settings;
  std::vector<config::RoomTable> tables = room_tables(settings);
  config::DirectiveIndex index(tables);
  ReadOptions with_index = options;
  with_index.directives = &index;
  config::ReadResult result = read(with_index);
  settings.incomplete = result.incomplete;
  config::apply_defaults(tables, problems);
  config::apply(result.statements, index, problems);
  config::apply_missing(result.statements, tables, problems);
  for (const Statement& s : result.statements) {
    check_helper(s, problems);
    check_names(s, problems);
  }
  cross_check(settings, result.statements, problems);
  return settings;
}

}  // namespace

std::vector<config::RoomTable> room_tables(Settings& s) {
  return {{"process", process_directives(), &s.process},
          {"client", client::directives(), &s.client},
          {"access", access::directives(), &s.access},
          {"server", server::directives(), &s.server},
          {"icp", icp::directives(), &s.icp},
          {"cache", cache::directives(), &s.cache},
          {"store", store::directives(), &s.store},
          {"net", net::directives(), &s.net},
          {"log", log::directives(), &s.log},
          {"mgr", mgr::directives(), &s.mgr},
          {"config", config::known_directives(), nullptr}};
}

Settings load_settings(const std::string& path, const ReadOptions& options, Problems& problems) {
  return load(options, problems, [&](const ReadOptions& o) { return config::read_file(path, o, problems); });
}

Settings load_settings_text(std::string_view text, const std::string& name, const ReadOptions& options, Problems& problems) {
  return load(options, problems, [&](const ReadOptions& o) { return config::read_text(text, name, o, problems); });
}

int parse_only(const std::string& path, const ReadOptions& options) {
  Problems problems;
  Settings settings = load_settings(path, options, problems);
  check_rules(settings, problems, resolve_host);
  check_outside(settings, problems);
  std::fputs(config::format_problems(problems).c_str(), stderr);
  return problems.has(config::Severity::error) ? 1 : 0;
}

bool may_start(const Problems& problems) {
  return !problems.has(config::Severity::error) && !problems.has(config::Severity::restricts) && !problems.has(config::Severity::missing);
}

std::string dump_config(const Settings& settings) {
  // The tables take a mutable pointer because the same rows parse; dump functions read through const.
  return config::dump(room_tables(const_cast<Settings&>(settings)));
}

std::string manual_page() {
  Settings settings;
  return config::manual(room_tables(settings));
}

}  // namespace loligo
