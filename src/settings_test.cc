// Whole configurations: every implemented directive reaches its field, ports and peers, what is refused, what is reported.
#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include <set>

#include "config/directive_index.h"
#include "settings.h"

using namespace loligo;
using config::Severity;

namespace {

struct Loaded {
  config::Problems problems;
  Settings settings;
  explicit Loaded(std::string_view text, bool with_port = true) {
    std::string all = with_port ? "http_port 3128\n" : "";
    all += text;
    settings = load_settings_text(all, "t.conf", {}, problems);
  }
  bool says(std::string_view part) const { return config::format_problems(problems).find(part) != std::string::npos; }
  const client::Port& port() const { return settings.client.ports.at(0); }
};

Loaded port(std::string_view line) { return Loaded(line, false); }

}  // namespace

BOOST_AUTO_TEST_SUITE(settings)

BOOST_AUTO_TEST_CASE(an_empty_file_gives_the_defaults) {
  Loaded l("");
  BOOST_CHECK_MESSAGE(l.problems.list().empty(), config::format_problems(l.problems));
  BOOST_CHECK_EQUAL(l.settings.client.request_header_max_size, 65536);
  BOOST_CHECK_EQUAL(l.settings.client.request_body_max_size, -1);
  BOOST_CHECK_EQUAL(l.settings.client.http_access.size(), 1u);
  BOOST_CHECK_EQUAL(l.settings.server.connect_timeout.count(), 60'000);
  BOOST_CHECK_EQUAL(l.settings.server.tls_outgoing_options.min_version, "1.0");
  BOOST_CHECK_EQUAL(l.settings.store.cache_mem, 256 << 20);
  BOOST_CHECK_EQUAL(l.settings.net.hosts_file, "/etc/hosts");
  BOOST_CHECK_EQUAL(l.settings.process.umask, 027);
  BOOST_CHECK_EQUAL(l.settings.log.access_logs.size(), 1u);
  BOOST_CHECK(may_start(l.problems));
}

// The structs' own initial values are those of the tables, so that a default-made struct in a test means the same.
BOOST_AUTO_TEST_CASE(initial_values_agree_with_the_tables) {
  Settings fresh;
  fresh.client.http_access.clear();
  std::set<std::string> lines;
  std::string from_tables = dump_config(Loaded("", false).settings), from_structs = dump_config(fresh);
  for (auto& room : {"connect_timeout", "read_timeout", "forward_timeout", "request_timeout", "client_lifetime", "write_timeout", "cache_mem", "maximum_object_size",
                     "quick_abort_pct", "read_ahead_gap", "dns_timeout", "positive_dns_ttl", "dead_peer_timeout", "max_stale", "minimum_expiry_time", "umask",
                     "shutdown_lifetime", "forwarded_for", "via", "forward_max_tries", "ipcache_size", "cache_swap_high", "request_body_max_size"}) {
    std::string key = std::string("\n") + room + " ";
    auto line = [&](const std::string& text) {
      std::string all = "\n" + text;
      size_t at = all.find(key);
      return at == all.npos ? std::string("absent") : all.substr(at + 1, all.find('\n', at + 1) - at - 1);
    };
    BOOST_CHECK_EQUAL(line(from_tables), line(from_structs));
  }
}

BOOST_AUTO_TEST_CASE(names_are_unique_and_documented) {
  Settings s;
  std::set<std::string_view> seen;
  size_t names = 0;
  for (auto& table : room_tables(s))
    for (auto& d : table.directives) {
      std::string_view left = d.aliases;
      BOOST_CHECK_MESSAGE(seen.insert(d.name).second, d.name << " stands twice");
      ++names;
      while (!left.empty()) {
        size_t blank = left.find(' ');
        BOOST_CHECK_MESSAGE(seen.insert(left.substr(0, blank)).second, left.substr(0, blank) << " stands twice");
        ++names;
        left.remove_prefix(blank == left.npos ? left.size() : blank + 1);
      }
      BOOST_CHECK_MESSAGE(!d.text.empty(), d.name);
      BOOST_CHECK_MESSAGE((d.status == config::Status::implemented) == (d.parse != nullptr) || d.status == config::Status::obsolete, d.name);
    }
  BOOST_CHECK_GE(names, 420u);
}

// One line for every implemented directive: it must come back from the field it is bound to.
BOOST_AUTO_TEST_CASE(every_directive_reaches_its_field) {
  const struct { std::string_view line, dumped; } kLines[] = {
      {"acl a src 10.0.0.0/8", "acl a src 10.0.0.0/8"}, {"http_access allow all", ""}, {"http_reply_access deny all", ""}, {"miss_access deny all", ""}, {"always_direct allow all", ""},
      {"never_direct allow all", ""}, {"cache deny all", ""}, {"no_cache deny all", "cache deny all"}, {"send_hit deny all", ""}, {"store_miss deny all", ""},
      {"collapsed_forwarding_access allow all", ""}, {"server_pconn_for_nonretriable allow all", ""}, {"cache_peer p parent 80 0", ""},
      {"request_header_access Via deny all", ""}, {"reply_header_access Via deny all", ""}, {"http_upgrade_request_protocols websocket allow all", ""},
      {"request_header_replace User-Agent A b (c; d)", ""}, {"header_replace X y", "request_header_replace X y"}, {"reply_header_replace Server x", ""},
      {"request_header_add X-A \"b c\" all", ""}, {"reply_header_add X-A b", ""}, {"deny_info ERR_X all", ""}, {"tcp_outgoing_address 10.0.0.1 all", ""},
      {"range_offset_limit none all", ""}, {"refresh_pattern -i \\.gif$ 10 20% 30 override-expire", ""}, {"cachemgr_passwd none info", ""},
      {"logformat x %>a", ""}, {"access_log stdio:/x/y squid", ""}, {"tls_outgoing_options min-version=1.2 cafile=/ca", "tls_outgoing_options min-version=1.2 cafile=/ca"},
      {"request_header_max_size 10 KB", ""}, {"reply_header_max_size 10 KB", ""}, {"request_body_max_size 1 MB", ""}, {"client_request_buffer_max_size 100 KB", ""},
      {"client_ip_max_connections 2", ""}, {"follow_x_forwarded_for deny all", ""}, {"acl_uses_indirect_client off", ""}, {"log_uses_indirect_client off", ""}, {"reply_body_max_size 10 KB all", ""}, {"request_timeout 1 second", ""}, {"request_start_timeout 2 seconds", ""}, {"client_idle_pconn_timeout 3 seconds", ""},
      {"persistent_request_timeout 3 seconds", "client_idle_pconn_timeout 3 seconds"}, {"pconn_timeout 4 seconds", "server_idle_pconn_timeout 4 seconds"},
      {"write_timeout 5 seconds", ""}, {"client_lifetime 6 hours", ""}, {"half_closed_clients on", ""}, {"client_persistent_connections off", ""},
      {"persistent_connection_after_error off", ""}, {"server_persistent_connections off", ""}, {"via off", ""}, {"forwarded_for truncate", ""}, {"forwarded_for delete", ""},
      {"forwarded_for transparent", ""}, {"forwarded_for off", ""}, {"visible_hostname a.b", ""}, {"unique_hostname u", ""},
      {"hostname_aliases x y", ""}, {"client_db off", ""}, {"global_internal_static off", ""}, {"cache_mgr me@x", ""}, {"httpd_suppress_version_string on", ""},
      {"error_default_language de", ""}, {"err_page_stylesheet /x.css", ""}, {"err_html_text a b", ""}, {"email_err_data on", ""}, {"error_directory /", ""},
      {"forward_timeout 1 minute", ""}, {"connect_timeout 2 seconds", ""}, {"read_timeout 3 minutes", ""}, {"server_idle_pconn_timeout 4 minutes", ""},
      {"pconn_lifetime 1 hour", ""}, {"forward_max_tries 3", ""}, {"connect_retries 2", ""}, {"retry_on_error on", ""}, {"happy_eyeballs_connect_timeout 100", ""},
      {"happy_eyeballs_connect_gap 5", ""}, {"happy_eyeballs_connect_limit 7", ""}, {"prefer_direct on", ""}, {"nonhierarchical_direct off", ""},
      {"quick_abort_min -1 KB", "quick_abort_min none"}, {"quick_abort_max 0 KB", "quick_abort_max 0 bytes"}, {"quick_abort_pct 50", ""}, {"read_ahead_gap 64 KB", ""},
      {"dead_peer_timeout 20 seconds", ""}, {"peer_connect_timeout 5 seconds", ""}, {"max_stale 1 day", ""}, {"negative_ttl 5 minutes", ""},
      {"minimum_expiry_time 0 seconds", ""}, {"offline_mode on", ""}, {"reload_into_ims on", ""}, {"refresh_all_ims on", ""}, {"collapsed_forwarding on", ""},
      {"stored_set_cookie keep", ""}, {"uri_whitespace chop", ""}, {"httpd_accel_surrogate_id edge", ""}, {"http_accel_surrogate_remote on", ""},
      {"cache_miss_revalidate off", ""}, {"ignore_ims_on_miss on", "cache_miss_revalidate off"}, {"vary_ignore_expire on", ""}, {"cache_mem 8 MB", ""},
      {"maximum_object_size_in_memory 8 KB", ""}, {"memory_replacement_policy heap GDSF", ""}, {"memory_cache_mode network", ""}, {"maximum_object_size 1 GB", ""},
      {"minimum_object_size 1 KB", ""}, {"cache_replacement_policy heap LFUDA", ""}, {"cache_dir aufs /c 100 16 256", ""}, {"cache_swap_low 80", ""}, {"cache_swap_high 99", ""},
      {"store_dir_select_algorithm round-robin", ""}, {"store_sync_interval 2 seconds", ""}, {"dns_nameservers 10.0.0.1 ::1", ""}, {"dns_timeout 3 seconds", ""}, {"dns_retransmit_interval 1 second", ""},
      {"dns_packet_max 4096 bytes", "dns_packet_max 4 KB"}, {"dns_defnames on", ""}, {"hosts_file none", ""}, {"append_domain .x.y", ""},
      {"positive_dns_ttl 1 hour", ""}, {"negative_dns_ttl 5 seconds", ""}, {"ipcache_size 10", ""}, {"fqdncache_size 11", ""}, {"check_hostnames on", ""},
      {"allow_underscore off", ""}, {"max_filedesc 4096", "max_filedescriptors 4096"}, {"tcp_recv_bufsize 64 KB", ""}, {"workers 2", ""}, {"pid_filename none", ""},
      {"coredump_dir /x", ""}, {"chroot /y", ""}, {"shutdown_lifetime 3 seconds", ""}, {"umask 022", "umask 022"}, {"cache_effective_user root", ""},
      {"cache_effective_group root", ""}, {"logfile_rotate 3", ""}, {"strip_query_terms off", ""}, {"log_mime_hdrs on", ""}, {"buffered_logs on", ""},
      {"client_netmask 255.255.255.0", ""}, {"cache_log /x", ""}, {"cache_store_log stdio:/x/s", "cache_store_log /x/s"}, {"debug_options ALL,2", ""}, {"sslproxy_cafile /ca", "tls_outgoing_options min-version=1.0 cafile=/ca"},
      {"sslproxy_flags DONT_VERIFY_PEER", "tls_outgoing_options min-version=1.0 flags=DONT_VERIFY_PEER"},
  };
  std::set<std::string_view> tried = {"http_port", "https_port", "configuration_includes_quoted_values", "cache_peer_access"};  // in cases of their own
  Settings any;
  std::vector<config::RoomTable> tables = room_tables(any);
  config::DirectiveIndex index(tables);
  for (auto& row : kLines) {
    Loaded l(row.line);
    std::string expected = "\n" + std::string(row.dumped.empty() ? row.line : row.dumped) + "\n";
    BOOST_CHECK_MESSAGE(("\n" + dump_config(l.settings)).find(expected) != std::string::npos, row.line << "\n" << config::format_problems(l.problems));
    BOOST_CHECK_MESSAGE(!l.problems.has(Severity::error), config::format_problems(l.problems));
    tried.insert(index.find(row.line.substr(0, row.line.find(' '))).directive->name);
  }
  for (auto& table : tables)
    for (auto& d : table.directives)
      if (d.status == config::Status::implemented) BOOST_CHECK_MESSAGE(tried.contains(d.name), d.name << " has no line in this test");
}

BOOST_AUTO_TEST_CASE(ports) {
  {
    Loaded l = port("http_port 3128");
    BOOST_CHECK(l.port().host.empty() && l.port().port == 3128 && l.port().name == "3128" && !l.port().tls && l.port().mode == client::Port::Mode::forward);
    BOOST_CHECK_EQUAL(l.port().vport, -1);
  }
  BOOST_CHECK_EQUAL(port("http_port [::1]:81").port().host, "::1");
  BOOST_CHECK_EQUAL(port("http_port 127.0.0.1:81 name=x").port().name, "x");
  {
    Loaded l = port("http_port 80 accel defaultsite=a.b no-vhost vport=8080 act-as-origin ignore-cc allow-direct protocol=HTTPS ipv4 tcpkeepalive=60,30,3");
    const client::Port& p = l.port();
    BOOST_CHECK(l.problems.list().empty());
    BOOST_CHECK(p.mode == client::Port::Mode::accel && p.defaultsite == "a.b" && !p.vhost && p.vport == 8080 && p.act_as_origin && p.ignore_cc && p.allow_direct && p.ipv4_only);
    BOOST_CHECK_EQUAL(p.protocol, "https");
    BOOST_CHECK(p.keepalive.on && p.keepalive.idle == 60 && p.keepalive.interval == 30 && p.keepalive.timeout == 3);
  }
  BOOST_CHECK(port("http_port 80 vhost vport").port().mode == client::Port::Mode::accel);
  BOOST_CHECK_EQUAL(port("http_port 80 vhost vport").port().vport, 0);
  {
    Loaded l = port("https_port 443 accel tls-cert=/a tls-key=/b cert=/c tls-min-version=1.2 options=NO_TICKET cipher=HIGH sslflags=NO_SESSION_REUSE");
    const net::TlsSettings& t = l.port().tls_settings;
    BOOST_CHECK(l.port().tls && t.certificates.size() == 2 && t.certificates[0].key_file == "/b" && t.certificates[1].cert_file == "/c");
    BOOST_CHECK(t.min_version == "1.2" && t.options == "NO_TICKET" && t.cipher == "HIGH" && t.flags.size() == 1);
  }
  for (auto line : {"http_port", "http_port x", "http_port 0", "http_port 70000", "http_port ::1:80", "http_port 80 nonsense", "http_port 80 accel intercept",
                    "http_port 80 defaultsite=x", "http_port 80 no-vhost", "https_port 443", "https_port 443 cert=/x require-proxy-header", "http_port 80 accel vport=x",
                    "http_port 80 accel=1", "http_port 80 name=", "http_port 80 ssl", "https_port 443 cert=/a tls-min-version=9"})
    BOOST_CHECK_MESSAGE(port(line).problems.has(Severity::error), line);
  for (auto line : {"http_port 80 intercept", "http_port 80 transparent", "http_port 80 tproxy", "http_port 80 ssl-bump cert=/x", "http_port 80 require-proxy-header"}) {
    Loaded l = port(line);
    BOOST_CHECK_MESSAGE(l.problems.has(Severity::restricts) && !l.problems.has(Severity::error) && !may_start(l.problems), line);
  }
  Loaded twice = port("http_port 80\nhttp_port 80 accel\n");
  BOOST_CHECK(twice.settings.client.ports.size() == 1 && twice.says("t.conf:2:1: warning"));
  BOOST_CHECK(port("via on").says("nothing to listen on"));
}

BOOST_AUTO_TEST_CASE(ports_read_back) {
  Loaded first = port("http_port 127.0.0.1:80 accel no-vhost defaultsite=a vport=81 name=n tcpkeepalive=1,2,3\nhttps_port [::1]:443 accel tls-cert=/a tls-key=/b\n");
  std::string text = dump_config(first.settings);
  Loaded second = port(text);
  BOOST_CHECK_EQUAL(dump_config(second.settings), text);
}

BOOST_AUTO_TEST_CASE(peers) {
  Loaded l("cache_peer a.b parent 3128 0 no-query no-digest originserver name=n weight=3 round-robin login=u:se%20cret connect-timeout=7 max-conn=9 "
           "connect-fail-limit=2 forceddomain=f standby=1 tls tls-cafile=/ca sslflags=DONT_VERIFY_PEER ssldomain=d front-end-https=auto\n"
           "cache_peer c sibling 3128 4827 htcp=no-clr,forward-clr proxy-only\ncache_peer_access n allow all\n");
  const icp::Peer* p = l.settings.icp.find("n");
  BOOST_REQUIRE(p != nullptr);
  BOOST_CHECK(p->host == "a.b" && p->http_port == 3128 && p->icp_port == 0 && p->no_query && p->no_digest && p->originserver && p->weight == 3 && p->round_robin);
  BOOST_CHECK(p->login == "u:se cret" && p->connect_timeout.count() == 7000 && p->max_conn == 9 && p->connect_fail_limit == 2 && p->forceddomain == "f" && p->standby == 1);
  BOOST_CHECK(p->tls && p->tls_settings.ca_file == "/ca" && p->tls_settings.flags.size() == 1 && p->tls_settings.domain == "d");
  BOOST_CHECK(p->front_end_https == icp::Peer::FrontEndHttps::automatic);
  const icp::Peer* q = l.settings.icp.find("c");
  BOOST_REQUIRE(q != nullptr);
  BOOST_CHECK(q->type == icp::Peer::Type::sibling && q->htcp && q->htcp_modes.size() == 2 && q->proxy_only && q->icp_port == 4827);
  BOOST_CHECK_EQUAL(l.settings.icp.cache_peer_access.size(), 1u);
  BOOST_CHECK(dump_config(l.settings).find("cret ") == std::string::npos);
  BOOST_CHECK(Loaded("cache_peer a parent 80 0\ncache_peer a parent 81 0").problems.has(Severity::error));
  BOOST_CHECK(Loaded("cache_peer a cousin 80 0").problems.has(Severity::error));
  BOOST_CHECK(Loaded("cache_peer a parent 80").problems.has(Severity::error));
  BOOST_CHECK(Loaded("cache_peer a parent http 0").settings.icp.find("a") != nullptr);
  Loaded odd("cache_peer a parent 80 0 what=ever # c");
  BOOST_CHECK(!odd.problems.has(Severity::error) && odd.says("'what=ever'"));
  BOOST_CHECK(Loaded("cache_peer_access x allow all").says("is no peer"));
}

BOOST_AUTO_TEST_CASE(refresh_patterns) {
  Loaded l("refresh_pattern -i ^ftp: 1440 20% 10080\nrefresh_pattern . 0 200% 999999 ignore-reload store-stale max-stale=60 ignore-auth other\n");
  auto& list = l.settings.cache.refresh_pattern;
  BOOST_REQUIRE_EQUAL(list.size(), 2u);
  BOOST_CHECK(list[0].ignore_case && list[0].regex == "^ftp:" && list[0].rule.min == 1440 * 60 && list[0].rule.percent == 20 && list[0].rule.max == 10080 * 60);
  BOOST_CHECK(!list[1].ignore_case && list[1].rule.percent == 200 && list[1].rule.max == 525600 * 60 && list[1].rule.max_stale == 60 && list[1].rule.ignore_reload && list[1].rule.store_stale);
  BOOST_CHECK(l.says("'ignore-auth' is obsolete") && l.says("'other' is no option") && !l.problems.has(Severity::error));
  for (auto line : {"refresh_pattern", "refresh_pattern x", "refresh_pattern x 1 2", "refresh_pattern x a 2 3"}) BOOST_CHECK(Loaded(line).problems.has(Severity::error));
}

BOOST_AUTO_TEST_CASE(order_matters_for_cache_dir) {
  Loaded l("maximum_object_size 1 MB\ncache_replacement_policy heap GDSF\ncache_dir ufs /a 10 16 256\nmaximum_object_size 2 MB\ncache_dir rock /b 20 max-size=5 min-size=1\ncache_dir null /tmp\n");
  auto& dirs = l.settings.store.cache_dirs;
  BOOST_REQUIRE_EQUAL(dirs.size(), 2u);
  BOOST_CHECK(dirs[0].size == 10 << 20 && dirs[0].max_size == 1 << 20 && dirs[0].policy == store::Replacement::heap_gdsf);
  BOOST_CHECK(dirs[1].max_size == 5 && dirs[1].min_size == 1);
}

BOOST_AUTO_TEST_CASE(what_would_be_more_open_refuses_to_start) {
  for (auto line : {"adapted_http_access deny all", "url_rewrite_program /bin/true",
                    "ssl_bump terminate all", "ssl_bump bump all", "adaptation_access s allow all", "host_verify_strict on"}) {
    Loaded l(line);
    BOOST_CHECK_MESSAGE(l.problems.has(Severity::restricts) && !may_start(l.problems) && !l.problems.has(Severity::error), line);
    BOOST_CHECK(l.says("t.conf:2:1: restricts: "));
  }
  for (auto line : {"http_reply_access deny all", "reply_body_max_size none", "reply_body_max_size 0", "follow_x_forwarded_for deny all", "client_ip_max_connections -1",
                    "ssl_bump splice all", "ssl_bump none", "adaptation_access s deny all", "host_verify_strict off", "url_rewrite_program none", "icp_access deny all", "snmp_port 0"})
    BOOST_CHECK_MESSAGE(may_start(Loaded(line).problems), line);
}

BOOST_AUTO_TEST_CASE(old_files_start) {
  for (auto line : {"hierarchy_stoplist cgi-bin ?", "broken_vary_encoding allow all", "upgrade_http0.9 deny x", "dns_v4_first on", "ident_lookup_access deny all", "log_fqdn off"}) {
    Loaded l(line);
    BOOST_CHECK_MESSAGE(may_start(l.problems) && l.says("obsolete"), line);
  }
}

BOOST_AUTO_TEST_CASE(checks_across_directives) {
  BOOST_CHECK(Loaded("append_domain x.y").problems.has(Severity::error));
  BOOST_CHECK(Loaded("client_request_buffer_max_size 10 KB").problems.has(Severity::error));
  BOOST_CHECK(Loaded("cache_effective_user nosuchuserhere").problems.has(Severity::missing));
  BOOST_CHECK(Loaded("auth_param basic program /nowhere/helper").problems.has(Severity::missing));
  Loaded tls("https_port 443 tls-cert=/nowhere.pem");
  check_outside(tls.settings, tls.problems);
  BOOST_CHECK(tls.problems.has(Severity::missing) && !tls.problems.has(Severity::error));
}

BOOST_AUTO_TEST_CASE(unknown_acls) {
  Loaded unknown("http_access allow nobody");
  check_rules(unknown.settings, unknown.problems);
  BOOST_CHECK(unknown.problems.has(Severity::error));
  Loaded redefined("acl all src all");
  check_rules(redefined.settings, redefined.problems);
  BOOST_CHECK_MESSAGE(!redefined.problems.has(Severity::error), config::format_problems(redefined.problems));
  Loaded behind("include /nowhere/acls.conf\nhttp_access allow nobody");
  check_rules(behind.settings, behind.problems);
  BOOST_CHECK(!behind.problems.has(Severity::error) && behind.problems.has(Severity::missing) && !may_start(behind.problems));
}

BOOST_AUTO_TEST_CASE(manager_passwords) {
  Loaded l("cachemgr_passwd secret config shutdown\ncachemgr_passwd disable offline_toggle\ncachemgr_passwd none all\n");
  const mgr::Settings& m = l.settings.mgr;
  BOOST_CHECK(m.find("config")->kind == mgr::Password::Kind::password && m.find("config")->password == "secret");
  BOOST_CHECK(m.find("offline_toggle")->kind == mgr::Password::Kind::disable);
  BOOST_CHECK(m.find("info")->kind == mgr::Password::Kind::none);
  BOOST_CHECK(dump_config(l.settings).find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(all_problems_come_in_one_pass) {
  Loaded l("via maybe\nconnect_timeout 30s\nnonsense\ncache_mem 10MB\n");
  BOOST_CHECK_EQUAL(l.problems.list().size(), 4u);
  for (int i = 0; i < 4; ++i) BOOST_CHECK_EQUAL(l.problems.list()[size_t(i)].place.line, i + 2);
  BOOST_CHECK(l.says("t.conf:3:17: error: '30s': number and unit must be two words"));
}

BOOST_AUTO_TEST_SUITE_END()
