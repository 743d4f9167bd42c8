// access_log, logformat, cache_log and debug_options lines as users write them.
#define BOOST_TEST_DYN_LINK
#include "log/settings.h"

#include <boost/test/unit_test.hpp>

using namespace loligo;
using namespace loligo::log;

namespace {

// One directive after the other, split at blanks: enough for this room.
struct Loaded {
  Settings settings;
  config::Problems problems;
  int line = 0;

  void add(std::string name, std::string rest) {
    config::Statement s;
    s.place = {"test.conf", ++line, 1};
    s.name = name;
    s.rest = rest;
    for (const config::Directive& d : directives()) {
      if (d.name != name) continue;
      size_t at = 0;
      while ((at = rest.find_first_not_of(" \t", at)) != rest.npos) {
        size_t end = d.words == config::WordStyle::line ? rest.size() : std::min(rest.find_first_of(" \t", at), rest.size());
        s.words.push_back({rest.substr(at, end - at), int(name.size() + 2 + at), line});
        at = end;
      }
      if (d.parse) d.parse(s, &settings, problems);
      return;
    }
    BOOST_FAIL("no directive " + name);
  }
  std::string dump() const {
    std::string out;
    for (const config::Directive& d : directives())
      if (d.dump) d.dump(d, &settings, out);
    return out;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(log_settings)

BOOST_AUTO_TEST_CASE(access_log_lines) {
  using Kind = Target::Kind;
  struct Row { const char* rest; Kind kind; const char* place; const char* format; size_t first_acl, words; };
  const Row kRows[] = {
      {"none", Kind::none, "none", "squid", 1, 1},
      {"none localhost", Kind::none, "none", "squid", 1, 2},
      {"/var/log/squid/access.log", Kind::file, "/var/log/squid/access.log", "squid", 1, 1},
      {"/var/log/squid/access.log squid", Kind::file, "/var/log/squid/access.log", "squid", 2, 2},
      {"/var/log/squid/access.log !CONNECT", Kind::file, "/var/log/squid/access.log", "squid", 1, 2},
      {"/var/log/squid/access.log common all !CONNECT", Kind::file, "/var/log/squid/access.log", "common", 2, 4},
      {"stdio:/var/log/a.log mine CONNECT !SSL_ports", Kind::file, "/var/log/a.log", "mine", 2, 4},
      {"daemon:/var/log/a.log logformat=mine buffer-size=128KB on-error=drop rotate=3 all", Kind::file, "/var/log/a.log", "mine", 5, 6},
      {"daemon:/var/log/a.log rotate=3 common", Kind::file, "/var/log/a.log", "squid", 2, 3},
      {"syslog:local4.info combined", Kind::syslog, "syslog:local4.info", "combined", 2, 2},
      {"syslog", Kind::syslog, "syslog", "squid", 1, 1},
      {"udp://127.0.0.1:5140 squid", Kind::udp, "udp://127.0.0.1:5140", "squid", 2, 2},
      {"tcp://[::1]:5140 logformat=useragent", Kind::tcp, "tcp://[::1]:5140", "useragent", 2, 2},
  };
  for (const Row& row : kRows) {
    Loaded l;
    l.add("logformat", "mine %rm");
    l.add("access_log", row.rest);
    BOOST_TEST(l.problems.list().empty(), row.rest);
    BOOST_REQUIRE(l.settings.access_logs.size() == 1);
    const AccessLogSetting& log = l.settings.access_logs[0];
    BOOST_TEST((log.target.kind == row.kind), row.rest);
    BOOST_TEST(log.target.place == row.place);
    BOOST_TEST(log.format_name == row.format);
    BOOST_TEST(log.first_acl == row.first_acl, row.rest);
    BOOST_TEST(log.conditional() == (row.first_acl < row.words), row.rest);
    BOOST_TEST(l.dump().find(std::string("access_log ") + row.rest + "\n") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(options_of_access_log) {
  Loaded l;
  l.add("access_log", "/a buffer-size=128KB rotate=3");
  l.add("access_log", "/b buffer-size=0 on-error=die");
  BOOST_TEST(l.settings.access_logs[0].buffer_bytes == 128u * 1024);
  BOOST_TEST(l.settings.access_logs[0].rotate == 3);
  BOOST_TEST(bool(l.settings.access_logs[0].on_error == AccessLogSetting::OnError::unset));
  BOOST_TEST(bool(l.settings.access_logs[1].on_error == AccessLogSetting::OnError::die));
  BOOST_TEST(l.settings.access_logs[1].buffer_bytes == 0u);
  BOOST_TEST(l.settings.access_logs[1].rotate == -1);
  BOOST_TEST(parse_target("syslog:LOG_LOCAL4|LOG_NOTICE", l.settings.access_logs[0].format_name)->priority == (20 << 3 | 5));
}

BOOST_AUTO_TEST_CASE(wrong_access_log_lines) {
  struct Row { const char* rest; int column; };
  const Row kRows[] = {{"udp://host", 12}, {"syslog:nowhere.info", 12}, {"stdio:", 12}, {"/a logformat=none_such", 15}, {"/a buffer-size=64furlongs", 15},
                       {"/a on-error=panic", 15}, {"/a rotate=x", 15}, {"/a colour=blue", 15}, {"tcp://h:0", 12}, {"udp://h:70000", 12}, {"", 1}};
  for (const Row& row : kRows) {
    Loaded l;
    l.add("access_log", row.rest);
    BOOST_REQUIRE_MESSAGE(l.problems.list().size() == 1, row.rest);
    BOOST_TEST(bool(l.problems.list()[0].severity == config::Severity::error));
    BOOST_TEST(l.problems.list()[0].place.column == row.column, row.rest);
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_looks_like_another_place_is_said_to_be_one) {
  struct Row { const char* rest; bool warned; };
  const Row kRows[] = {{"nowhere:/var/log/x", true}, {"sdtio:/var/log/x", true}, {"/var/log/a:b", false}, {"daemon:/var/log/x", false}, {"udp://127.0.0.1:5140", false}, {"x", false}};
  for (const Row& row : kRows) {
    Loaded l;
    l.add("access_log", row.rest);
    BOOST_REQUIRE_MESSAGE(l.problems.list().size() == size_t(row.warned), row.rest);
    if (row.warned) BOOST_TEST(bool(l.problems.list()[0].severity == config::Severity::warning));
    BOOST_TEST(l.settings.access_logs.size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(logformat_problems_name_line_and_column) {
  struct Row { const char* rest; bool error; int column; };
  const Row kRows[] = {
      {"mine %ts %zz %rm", true, 20},
      {"mine  %ts   a%zz", true, 24},
      {"mine %ts %>eui", false, 20},
      {"mine", true, 1},
      {"mine \"%ts %zz\"", true, 21},
  };
  for (const Row& row : kRows) {
    Loaded l;
    l.add("logformat", row.rest);
    BOOST_REQUIRE_MESSAGE(l.problems.list().size() == 1, row.rest);
    const config::Problem& p = l.problems.list()[0];
    BOOST_TEST((p.severity == config::Severity::error) == row.error);
    BOOST_TEST(p.place.line == 1);
    BOOST_TEST(p.place.column == row.column, row.rest << ": " << p.place.column);
  }
}

BOOST_AUTO_TEST_CASE(users_may_define_builtin_names_again) {
  Loaded l;
  l.add("access_log", "/before squid");
  l.add("logformat", "squid mine %rm");
  l.add("access_log", "/after squid");
  l.add("logformat", "quoted \"%>a \\\"%rm\\\"\"");
  BOOST_TEST(l.problems.list().empty());
  Record r;
  r.method = "GET";
  Buffer out;
  l.settings.access_logs[1].format.render(r, {}, out);
  BOOST_TEST(out.view() == "mine GET");
  BOOST_TEST(l.settings.formats[1].definition == "%>a \"%rm\"");
}

BOOST_AUTO_TEST_CASE(the_other_directives) {
  Loaded l;
  BOOST_TEST(l.settings.strip_query_terms);
  l.add("strip_query_terms", "off");
  l.add("log_mime_hdrs", "on");
  l.add("buffered_logs", "on");
  l.add("logfile_rotate", "0");
  l.add("client_netmask", "255.255.255.0");
  l.add("cache_log", "/var/log/squid/cache.log");
  l.add("debug_options", "ALL,2 28,9 78,0 rotate=5\t# loud");
  BOOST_TEST(l.problems.list().empty());
  BOOST_TEST(!l.settings.render_options().strip_query_terms);
  BOOST_TEST(l.settings.render_options().log_mime_hdrs);
  BOOST_TEST(l.settings.render_options().client_netmask.host() == "255.255.255.0");
  BOOST_TEST(l.settings.buffered_logs);
  BOOST_TEST(l.settings.logfile_rotate == 0);
  BOOST_TEST(l.settings.event_log.path == "/var/log/squid/cache.log");
  BOOST_TEST(int(l.settings.event_log.levels[3]) == 2);
  BOOST_TEST(int(l.settings.event_log.levels[28]) == 9);
  BOOST_TEST(int(l.settings.event_log.levels[78]) == 0);
  BOOST_TEST(l.settings.event_log.rotate == 5);
  l.add("cache_log", "stdio:/proc/self/fd/1 common");
  BOOST_TEST(l.problems.list().size() == 2u);
  BOOST_TEST(l.settings.event_log.path == "/proc/self/fd/1");
  l.add("debug_options", "ALL,1 nonsense");
  l.add("client_netmask", "255.255.255.zero");
  BOOST_TEST(l.problems.list().size() == 4u);
  l.add("cache_log", "none");
  BOOST_TEST(l.settings.event_log.path.empty());
}

BOOST_AUTO_TEST_SUITE_END()
