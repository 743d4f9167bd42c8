#include "main_options.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

using namespace loligo;

namespace {
MainOptionsResult parse(std::vector<const char*> words) { return parse_main_options(words); }
}  // namespace

BOOST_AUTO_TEST_CASE(letters_combine_and_values_attach) {
  auto r = parse({"-NYCd1", "-f", "/etc/squid/squid.conf", "-a3128", "-a", "8080", "-u0", "-n", "two", "-lLOCAL4", "--foreground"});
  BOOST_TEST(r.error == "");
  BOOST_TEST(r.options.no_daemon);
  BOOST_TEST(r.options.miss_nofetch);
  BOOST_TEST(r.options.no_fatal_handlers);
  BOOST_TEST(r.options.foreground);
  BOOST_TEST(r.options.debug_level == 1);
  BOOST_TEST(r.options.config_file == "/etc/squid/squid.conf");
  BOOST_TEST(r.options.http_ports == (std::vector<uint16_t>{3128, 8080}));
  BOOST_TEST(r.options.icp_port == 0);
  BOOST_TEST(r.options.service_name == "two");
  BOOST_TEST(r.options.syslog_facility == "LOCAL4");
}

BOOST_AUTO_TEST_CASE(what_packaged_units_use) {
  BOOST_TEST(parse({"--foreground", "-sYC"}).options.syslog_facility == "daemon");
  BOOST_TEST(parse({"-z", "--foreground"}).options.create_directories);
  BOOST_TEST((parse({"-k", "parse"}).options.control == ControlAction::parse));
  BOOST_TEST(parse({"-D", "-F", "-R", "-S", "-X"}).error == "");
  BOOST_TEST(parse({"--version"}).options.version);
  BOOST_TEST(parse({"-v"}).options.version);
  BOOST_TEST(parse({"-h"}).options.help);
  BOOST_TEST(parse({"--print-manual"}).options.print_manual);
  BOOST_TEST(parse({}).error == "");
}

BOOST_AUTO_TEST_CASE(actions_of_k) {
  const struct { const char* word; ControlAction action; } kTable[] = {
      {"reconfigure", ControlAction::reconfigure}, {"rotate", ControlAction::rotate}, {"shutdown", ControlAction::shutdown},
      {"restart", ControlAction::restart}, {"interrupt", ControlAction::interrupt}, {"kill", ControlAction::kill},
      {"debug", ControlAction::debug}, {"check", ControlAction::check}, {"parse", ControlAction::parse},
      {"reconf", ControlAction::reconfigure}, {"shut", ControlAction::shutdown}, {"k", ControlAction::kill}};
  for (auto& row : kTable) {
    auto r = parse({"-k", row.word});
    BOOST_TEST(r.error == "", row.word);
    BOOST_TEST((r.options.control == row.action), row.word);
  }
}

BOOST_AUTO_TEST_CASE(errors_are_one_line) {
  for (std::vector<const char*> words : std::vector<std::vector<const char*>>{
           {"-k"}, {"-k", ""}, {"-k", "re"}, {"-k", "stop"}, {"-a", "0"}, {"-a", "65536"}, {"-a", "x"}, {"-u", "-1"}, {"-d", "10"},
           {"-d", ""}, {"-f"}, {"-f", ""}, {"-n", "a/b"}, {"-n", ""}, {"-q"}, {"-NQ"}, {"--nosuch"}, {"--"}, {"--kid"}, {"-"}, {"file"}, {""}}) {
    auto r = parse(words);
    BOOST_TEST(r.error != "");
    BOOST_TEST(r.error.find('\n') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(texts) {
  BOOST_TEST(usage_line().starts_with("Usage: loligo [-hsvz"));
  BOOST_TEST(help_text().find("--foreground") != std::string::npos);
  BOOST_TEST(version_text("two").starts_with("Loligo: Version 0.1.0\nService Name: two\n"));
}
