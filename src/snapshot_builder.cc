#include "snapshot_builder.h"

#include <unistd.h>

#include "base/event_log.h"
#include "base/text.h"
#include "net/tls.h"

namespace loligo {

namespace {

std::string machine_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || !name[0]) return "localhost";
  return name;
}

void compile_upgrades(client::Snapshot& s, const access::AclSet& acls, config::Problems& problems) {
  std::vector<std::pair<std::string, std::vector<config::Statement>>> grouped;
  for (auto& line : s.settings.http_upgrade_request_protocols) {
    if (line.words.empty()) continue;
    auto it = std::find_if(grouped.begin(), grouped.end(), [&](auto& g) { return base::iequals(g.first, line.words[0].text); });
    if (it == grouped.end()) it = grouped.insert(grouped.end(), {line.words[0].text, {}});
    it->second.push_back(line);
  }
  // A named protocol rules before OTHER.
  std::stable_partition(grouped.begin(), grouped.end(), [](auto& g) { return g.first != "OTHER"; });
  for (auto& [protocol, lines] : grouped) s.upgrades.push_back({protocol, access::Rules::compile(lines, acls, problems, 1)});
}

void compile_error_pages(client::Snapshot& s) {
  client::ErrorPageSettings e;
  e.error_directory = s.settings.error_directory;
  e.installed_directory = PKGDATADIR "/errors";
  e.error_default_language = s.settings.error_default_language;
  e.err_page_stylesheet = s.settings.err_page_stylesheet;
  e.constants.hostname = s.hostname;
  e.constants.software = s.settings.httpd_suppress_version_string ? "loligo" : "loligo/0.1.0";
  e.constants.administrator = s.settings.cache_mgr;
  e.constants.contact = s.settings.err_html_text;
  e.constants.email_data = s.settings.email_err_data;
  for (auto& line : s.settings.deny_info) {
    if (line.words.size() < 2) continue;
    client::DenyInfo info = client::parse_deny_info(line.words[0].text);
    if (info.kind == client::DenyInfo::Kind::page) e.own_pages.push_back(info.value);
    for (size_t i = 1; i < line.words.size(); ++i) s.deny_info.push_back({info, line.words[i].text});
  }
  // What cannot be read is said and done without: the built-in pages always answer. (Not installed yet is no fault.)
  if (::access(e.installed_directory.c_str(), R_OK) != 0) e.installed_directory.clear();
  std::vector<std::string> complaints;
  s.error_pages = std::make_shared<client::ErrorPages>(e, complaints);
  for (auto& line : complaints) base::log_event(base::Section::error_pages, 1, "WARNING: {}", line);
}

int receive_buffer(const Settings& settings) { return int(std::clamp<int64_t>(settings.net.tcp_recv_bufsize, 0, 1 << 30)); }

void compile_ports(client::Snapshot& s, int receive_buffer, config::Problems& problems) {
  for (const client::Port& config : s.settings.ports) {
    auto port = std::make_shared<client::PortContext>();
    port->config = config;
    port->name = config.name;
    port->receive_buffer = receive_buffer;
    if (config.tls) {
      std::string error;
      port->tls = net::TlsServerContext::build(config.tls_settings, error);
      if (!port->tls) problems.error(config.place, "https_port: " + error);
    }
    client::fill_port_fields(*port, s);
    s.ports.push_back(port);
  }
}

}  // namespace

std::shared_ptr<const client::Snapshot> build_snapshot(const Settings& settings, icp::PeerRegistry& peers, log::AccessLog& access_log,
                                                       config::Problems& problems, std::vector<std::string>& log_failures) {
  access::AclSet acls(resolve_host);   // asked once, here; never while serving
  for (auto& statement : settings.access.acl) acls.add(statement, problems);
  acls.finish(problems);

  auto s = std::make_shared<client::Snapshot>();
  s->settings = settings.client;
  s->hostname = settings.client.visible_hostname.empty() ? machine_name() : settings.client.visible_hostname;
  s->unique_name = settings.client.unique_hostname.empty() ? s->hostname : settings.client.unique_hostname;
  s->cache_status = client::cache_status_prefix(s->unique_name);
  s->via_value = s->unique_name + (settings.client.httpd_suppress_version_string ? " (loligo)" : " (loligo/0.1.0)");
  s->http_access = access::Rules::compile(settings.client.http_access, acls, problems);
  s->miss_access = access::Rules::compile(settings.server.miss_access, acls, problems);
  s->request_headers = client::HeaderRules::compile(settings.client.request_header_access, settings.client.request_header_replace,
                                                    settings.client.request_header_add, acls, problems);
  s->reply_headers = client::HeaderRules::compile(settings.client.reply_header_access, settings.client.reply_header_replace,
                                                  settings.client.reply_header_add, acls, problems);
  s->http_reply_access = access::Rules::compile(settings.client.http_reply_access, acls, problems);
  s->follow_forwarded = access::Rules::compile(settings.client.follow_x_forwarded_for, acls, problems);
  for (auto& limit : settings.client.reply_body_max_size)
    s->reply_limits.push_back({limit.bytes < 0 ? store::kUnknownLength : uint64_t(limit.bytes),
                               access::Rules::compile_conditions(limit.statement, limit.first_acl, acls, problems)});
  s->judges_replies = !s->http_reply_access.empty() || !s->reply_limits.empty() || !s->reply_headers.empty();
  compile_upgrades(*s, acls, problems);
  compile_error_pages(*s);
  for (auto& line : settings.log.access_logs)
    s->log_conditions.push_back(access::Rules::compile_conditions(line.statement, line.first_acl, acls, problems));
  compile_ports(*s, receive_buffer(settings), problems);
  auto routing = std::make_shared<server::Routing>(server::Routing::compile(settings.server, settings.icp, acls, peers, problems));
  routing->write_timeout = settings.client.write_timeout;
  routing->receive_buffer = receive_buffer(settings);
  s->routing = routing;
  auto policy = std::make_shared<cache::Policy>(cache::Policy::compile(settings.cache, acls, problems));
  policy->read_ahead_gap = settings.server.read_ahead_gap < 0 ? 1 << 20 : uint64_t(settings.server.read_ahead_gap);
  policy->min_object = uint64_t(std::max<int64_t>(settings.store.minimum_object_size, 0));
  // It bounds what both keep; but a cache_dir line that allows more, above or by max-size=, gets more.
  if (settings.store.maximum_object_size_given && settings.store.maximum_object_size >= 0) {
    policy->max_object = uint64_t(settings.store.maximum_object_size);
    for (const store::CacheDir& dir : settings.store.cache_dirs)
      policy->max_object = std::max(policy->max_object, dir.max_size < 0 ? store::kUnknownLength : uint64_t(dir.max_size));
  }
  policy->surrogate = {settings.client.httpd_accel_surrogate_id.empty() ? s->hostname : settings.client.httpd_accel_surrogate_id,
                       settings.client.http_accel_surrogate_remote};
  policy->memory_enabled = settings.store.cache_mem > 0 && settings.store.maximum_object_size_in_memory != 0;
  policy->keep_network = settings.store.memory_cache_mode != store::MemoryCacheMode::disk;
  policy->keep_disk = settings.store.memory_cache_mode != store::MemoryCacheMode::network;
  s->policy = policy;
  s->check_hostnames = settings.net.check_hostnames;
  s->allow_underscore = settings.net.allow_underscore;
  s->purge_enabled = acls.has_purge_method();
  s->shutdown_lifetime = settings.process.shutdown_lifetime;
  if (problems.has(config::Severity::error) || problems.has(config::Severity::restricts)) return nullptr;
  s->log_plan = access_log.plan(settings.log, log_failures);
  return s;
}

}  // namespace loligo
