// The event log: its lines, sections and levels, the copy on standard error.
#define BOOST_TEST_DYN_LINK
#include "log/event_log.h"

#include <boost/test/unit_test.hpp>
#include <regex>
#include <thread>

#include "log/test_files.h"

using namespace loligo;
using namespace loligo::log;
using namespace std::chrono_literals;

namespace {

EventLogSetting setting(const std::string& path, std::string_view options) {
  EventLogSetting s;
  std::vector<std::string> complaints;
  parse_debug_options(options, s, complaints);
  s.path = path;
  return s;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_logs)

BOOST_AUTO_TEST_CASE(lines_sections_and_levels) {
  TemporaryDirectory dir;
  Writer writer;
  writer.start();
  {
    EventLog log(writer);
    std::vector<std::string> failures;
    BOOST_TEST(log.apply(setting(dir.file("cache.log"), "ALL,1 28,3"), -1, failures));
    base::log_event(base::Section::main, 1, "Accepting connections at {}", "127.0.0.1:3128");
    base::log_event(base::Section::main, 2, "not shown");
    base::log_event(base::Section::access, 3, "allow\tat {}\n2026/11/30 10:51:11| forged\x1b[31m", "loligo.conf:12");
    base::log_event(base::Section::access, 4, "not shown");
    BOOST_TEST(writer.drain(5s));
    BOOST_TEST(log.apply(setting(dir.file("cache.log"), "ALL,0"), -1, failures));
    base::log_event(base::Section::main, 1, "not shown");
    base::log_event(base::Section::main, 0, "last");
    BOOST_TEST(writer.drain(5s));
    BOOST_TEST(failures.empty());
  }
  std::vector<std::string> lines = lines_of(dir.file("cache.log"));
  BOOST_REQUIRE(lines.size() == 3u);
  BOOST_TEST(std::regex_match(lines[0], std::regex(R"(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\| Accepting connections at 127\.0\.0\.1:3128)")), lines[0]);
  BOOST_TEST(std::regex_match(lines[1], std::regex(R"(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}\| 28,3\| allow\tat loligo\.conf:12\\x0A2026/11/30 10:51:11\| forged\\x1B\[31m)")), lines[1]);
  BOOST_TEST(lines[2].ends_with("| last"));
  BOOST_TEST((base::event_log_state().sink.load() == nullptr));
  for (auto& level : base::event_log_state().level) level.store(1);
}

BOOST_AUTO_TEST_CASE(copies_to_standard_error) {
  TemporaryDirectory dir;
  int saved = dup(2);
  FILE* capture = fopen(dir.file("stderr").c_str(), "w");
  dup2(fileno(capture), 2);
  {
    Writer writer;
    writer.start();
    EventLog log(writer);
    std::vector<std::string> failures;
    log.apply(setting(dir.file("cache.log"), "ALL,2"), 1, failures);
    base::log_event(base::Section::main, 1, "seen twice");
    base::log_event(base::Section::main, 2, "seen in the file");
    log.apply(setting("/nonexistent/cache.log", "ALL,2"), -1, failures);
    BOOST_TEST(failures.size() == 1u);
    base::log_event(base::Section::main, 1, "seen on standard error");
    writer.drain(200ms);
    writer.stop(0ms);
  }
  dup2(saved, 2);
  ::close(saved);
  fclose(capture);
  std::string file = contents_of(dir.file("cache.log")), error = contents_of(dir.file("stderr"));
  BOOST_TEST(file.find("seen twice") != file.npos);
  BOOST_TEST(file.find("seen in the file") != file.npos);
  BOOST_TEST(error.find("seen twice") != error.npos);
  BOOST_TEST(error.find("seen in the file") == error.npos);
  BOOST_TEST(error.find("seen on standard error") != error.npos);
  for (auto& level : base::event_log_state().level) level.store(1);
}

BOOST_AUTO_TEST_CASE(many_threads_may_speak) {
  TemporaryDirectory dir;
  Writer writer;
  writer.start();
  EventLog log(writer);
  std::vector<std::string> failures;
  log.apply(setting(dir.file("cache.log"), "ALL,1"), -1, failures);
  auto speak = [] {
    for (int i = 0; i < 1000; ++i) base::log_event(base::Section::main, 1, "event {} end", i);
  };
  std::thread a(speak), b(speak);
  a.join();
  b.join();
  BOOST_TEST(writer.drain(5s));
  std::vector<std::string> lines = lines_of(dir.file("cache.log"));
  BOOST_TEST(lines.size() == 2000u);
  for (const std::string& line : lines) BOOST_TEST_REQUIRE((line.ends_with(" end") && line.substr(19, 8) == "| event "));
}

BOOST_AUTO_TEST_SUITE_END()
