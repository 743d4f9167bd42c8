// The access log as the client side uses it: conditions, several lines, a
// reconfigure under way, and what an old log analyser makes of the result.
#define BOOST_TEST_DYN_LINK
#include "log/access_log.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <thread>

#include "log/test_files.h"

using namespace loligo;
using namespace loligo::log;
using namespace std::chrono_literals;

namespace {

AccessLogSetting to(const std::string& place, std::string_view definition, bool conditional = false) {
  AccessLogSetting setting;
  std::string why;
  std::vector<FormatNote> notes;
  setting.target = *parse_target(place, why);
  setting.format = *Format::compile(definition, notes);
  setting.statement.words.push_back({place, 1, 1});
  if (conditional) setting.statement.words.push_back({"acl", 1, 1});
  setting.first_acl = 1;
  return setting;
}

Record request(std::string_view method, std::string_view url) {
  Record r;
  r.end_us = 1796031441'671'000;
  r.elapsed_us = 9000;
  r.client = *net::Address::parse("192.0.2.17", 40001);
  r.method = method;
  r.url = url;
  r.status = 200;
  r.reply_total_size = 540;
  r.content_type = "text/html";
  return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_logs)

BOOST_AUTO_TEST_CASE(all_lines_that_apply_write_until_none) {
  TemporaryDirectory dir;
  Settings settings;
  settings.access_logs = {to(dir.file("all"), "all %rm"), to(dir.file("gets"), "gets %rm", true), to("none", "", true), to(dir.file("rest"), "rest %rm"),
                          to(dir.file("all"), "second %rm")};
  Writer writer;
  writer.start();
  AccessLog log(writer);
  std::vector<std::string> failures;
  WorkerLog worker(writer, log.plan(settings, failures));
  BOOST_TEST(failures.empty());
  std::vector<size_t> asked;
  for (std::string_view method : {"GET", "POST", "HEAD"})
    worker.log(request(method, "http://a/"), [&](size_t i) {
      asked.push_back(i);
      return i == 1 ? method == "GET" : method == "HEAD";
    });
  worker.flush();
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(contents_of(dir.file("all")) == "all GET\nsecond GET\nall POST\nsecond POST\nall HEAD\n");
  BOOST_TEST(contents_of(dir.file("gets")) == "gets GET\n");
  BOOST_TEST(contents_of(dir.file("rest")) == "rest GET\nrest POST\n");
  BOOST_TEST(asked == (std::vector<size_t>{1, 2, 1, 2, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(writer.counters().lines_written.load() == 8u);
}

BOOST_AUTO_TEST_CASE(blocks_are_handed_over_when_full) {
  TemporaryDirectory dir;
  Settings settings;
  settings.access_logs = {to(dir.file("log"), "%rm %ru"), to(dir.file("now"), "%rm")};
  settings.access_logs[1].buffer_bytes = 0;
  Writer writer;
  writer.start();
  AccessLog log(writer);
  std::vector<std::string> failures;
  WorkerLog worker(writer, log.plan(settings, failures));
  std::string url = "http://a/" + std::string(990, 'x');
  for (int i = 0; i < 60; ++i) worker.log(request("GET", url), [](size_t) { return true; });
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(contents_of(dir.file("log")) == "");
  BOOST_TEST(lines_of(dir.file("now")).size() == 60u);
  for (int i = 0; i < 10; ++i) worker.log(request("GET", url), [](size_t) { return true; });
  BOOST_TEST(writer.drain(5s));
  BOOST_TEST(lines_of(dir.file("log")).size() == 66u);
}

// Two workers log without pause while the configuration changes twice: no line is lost, none is cut, the file stays open.
BOOST_AUTO_TEST_CASE(a_reconfigure_loses_no_line) {
  TemporaryDirectory dir;
  Settings before, after;
  before.access_logs = {to(dir.file("log"), "old %ru end")};
  after.access_logs = {to("stdio:" + dir.file("log"), "new %ru end"), to(dir.file("more"), "%ru")};
  Writer writer;
  writer.start();
  AccessLog log(writer);
  std::vector<std::string> failures;
  LogPlanPtr first = log.plan(before, failures), second = log.plan(after, failures);
  BOOST_TEST((first->outlets[0].destination == second->outlets[0].destination));
  constexpr int kLines = 3000;
  auto work = [&](const char* name) {
    WorkerLog worker(writer, first);
    for (int i = 0; i < kLines; ++i) {
      worker.log(request("GET", std::string(name) + std::to_string(i)), [](size_t) { return true; });
      if (i == kLines / 3) worker.adopt(second);
      if (i == 2 * kLines / 3) worker.adopt(first);
    }
  };
  std::thread a(work, "http://a/"), b(work, "http://b/");
  a.join();
  b.join();
  writer.stop();
  std::vector<std::string> lines = lines_of(dir.file("log"));
  BOOST_TEST(lines.size() == 2u * kLines);
  for (const std::string& line : lines) BOOST_TEST_REQUIRE((line.ends_with(" end") && (line.starts_with("old ") || line.starts_with("new "))));
  BOOST_TEST(lines_of(dir.file("more")).size() == 2u * kLines / 3);
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_opened_is_told) {
  Settings settings;
  settings.access_logs = {to("/nonexistent/dir/log", "%rm")};
  Writer writer;
  AccessLog log(writer);
  std::vector<std::string> failures;
  BOOST_TEST(log.plan(settings, failures)->lines.size() == 1u);
  BOOST_REQUIRE(failures.size() == 1u);
  BOOST_TEST(failures[0] == "cannot open access log /nonexistent/dir/log: No such file or directory");
}

// calamaris, a log analyser of Squid's time, finds no invalid line whatever the tags, methods and bytes.
BOOST_AUTO_TEST_CASE(calamaris_reads_every_line) {
  if (std::system("command -v calamaris >/dev/null 2>&1") != 0) {
    BOOST_TEST_MESSAGE("skipped: calamaris is not installed");
    return;
  }
  TemporaryDirectory dir;
  Settings settings;
  settings.access_logs = {to(dir.file("log"), Format::builtin_definition("squid"))};
  size_t lines = 0;
  {
    Writer writer;
    writer.start();
    AccessLog log(writer);
    std::vector<std::string> failures;
    WorkerLog worker(writer, log.plan(settings, failures));
    constexpr std::string_view kUrls[] = {"http://www.example.com/", "http://[2001:db8::1]:8080/p?q=1", "http://h/caf\xc3\xa9 \"<>|\\^`\n\r\x01", "ftp://h/f"};
    for (unsigned tag = 1; tag <= unsigned(ResultTag::tunnel); ++tag)
      for (std::string_view url : kUrls)
        for (std::string_view method : {"GET", "POST"}) {
          Record r = request(method, url);
          r.end_us += int64_t(lines) * 10'000;
          r.tag = ResultTag(tag);
          r.aborted = lines % 7 == 3;
          r.collapsed = lines % 5 == 3 && r.tag == ResultTag::miss;
          r.user = lines % 3 ? "" : "ann o'neil\t[x]";
          r.hierarchy = HierarchyCode(lines % 18);
          if (r.hierarchy != HierarchyCode::none) r.server = *net::Address::parse(lines % 2 ? "198.51.100.9" : "2001:db8::2", 80);
          if (lines % 4 == 1) r.content_type = {};
          worker.log(r, [](size_t) { return true; });
          ++lines;
        }
  }
  BOOST_TEST(lines > 75u);
  FILE* report = popen(("calamaris -a < " + dir.file("log") + " 2>/dev/null").c_str(), "r");
  BOOST_REQUIRE(report);
  std::string text;
  char bytes[4096];
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, report)) > 0;) text.append(bytes, n);
  pclose(report);
  auto number_after = [&](std::string_view label) {
    size_t at = text.find(label);
    return at == text.npos ? -1L : std::strtol(text.c_str() + text.find_first_of("0123456789", at + label.size()), nullptr, 10);
  };
  BOOST_TEST(number_after("lines parsed:") == long(lines), text.substr(0, 1000));
  BOOST_TEST(number_after("invalid lines:") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
