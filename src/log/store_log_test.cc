// Store log lines against those that a Squid 5.7 wrote of the same objects.
#include "log/store_log.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "log/access_log.h"
#include "log/test_files.h"

using namespace loligo::log;

BOOST_AUTO_TEST_SUITE(store_log)

namespace {

StoreRecord stored() {
  StoreRecord r;
  r.action = StoreRecord::Action::swapout;
  r.time_us = 1'796'060'064'161'900;
  r.directory = 0;
  r.file = 0;
  r.key_high = 0x7DC8B0D3D9678473;
  r.key_low = 0x310F9566BFFD8F2C;
  r.status = 200;
  r.date = 1796060064;
  r.last_modified = 1793610000;
  r.expires = 1796061064;
  r.content_type = "text/html; charset=utf-8";
  r.expected = r.real = 20000;
  r.url = "http://127.0.0.1:28801/ok/20000/a";
  return r;
}

std::string line(const StoreRecord& r, bool strip = true) {
  Buffer out;
  render(r, strip, out);
  return std::string(out.view());
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_equal_squids) {
  StoreRecord r = stored();
  BOOST_TEST(line(r) == "1796060064.161 SWAPOUT 00 00000000 7DC8B0D3D9678473310F9566BFFD8F2C  200 1796060064 1793610000 1796061064 text/html "
                        "20000/20000 GET http://127.0.0.1:28801/ok/20000/a");
  StoreRecord passed;
  passed.time_us = 1'796'060'064'295'000;
  passed.key_high = 0x0400000000000000;
  passed.key_low = 0x6A68000000000000;
  passed.status = 200;
  passed.date = 1796060064;
  passed.expected = -1;
  passed.real = 1000;
  passed.method = "POST";
  passed.url = "http://127.0.0.1:28801/nostore/1000/b";
  BOOST_TEST(line(passed) == "1796060064.295 RELEASE -1 FFFFFFFF 04000000000000006A68000000000000  200 1796060064        -1        -1 unknown -1/1000 "
                             "POST http://127.0.0.1:28801/nostore/1000/b");
  passed.action = StoreRecord::Action::so_fail;
  BOOST_TEST(line(passed).substr(15, 19) == "SO_FAIL -1 FFFFFFFF");
  r.described = false;
  r.directory = 3;
  r.file = 0x1A;
  BOOST_TEST(line(r) == "1796060064.161 SWAPOUT 03 0000001A 7DC8B0D3D9678473310F9566BFFD8F2C    ?         ?         ?         ? ?/? ?/? ? ?");
}

BOOST_AUTO_TEST_CASE(what_came_from_outside_stays_in_its_column) {
  StoreRecord r = stored();
  r.url = "http://h/a b\n?secret";
  r.content_type = "text/\nplain x; y";
  r.method = "M T";
  std::string text = line(r);
  BOOST_TEST(text.find('\n') == std::string::npos);
  BOOST_TEST(text.find("secret") == std::string::npos);
  BOOST_TEST(std::count(text.begin(), text.end(), ' ') == 13);   // one of them pads the status
  BOOST_TEST(line(r, false).ends_with("?secret"));
  const std::string ends(100'000, '\n');
  r.url = ends;
  BOOST_TEST(line(r).size() > 300'000u);
}

BOOST_AUTO_TEST_CASE(lines_are_written_counted_and_dropped) {
  TemporaryDirectory directory;
  Writer writer({.queue_bytes = 100'000});
  StoreLog log(writer);
  BOOST_TEST(!log.on());
  log.write(stored());
  Settings settings;
  settings.store_log = *parse_target("stdio:" + directory.file("store.log"), *std::make_unique<std::string>());
  std::vector<std::string> failures;
  AccessLog plans(writer);
  LogPlanPtr plan = plans.plan(settings, failures);
  BOOST_TEST(failures.empty());
  log.adopt(plan->store_log, false);
  BOOST_TEST(log.on());
  for (int i = 0; i < 100; ++i) log.write(stored());
  log.flush();
  for (int i = 0; i < 10'000; ++i) log.write(stored());   // nobody writes yet: the queue fills
  writer.start();
  log.flush();
  BOOST_TEST(writer.drain(std::chrono::seconds(10)));
  const LogCounters& n = writer.counters();
  BOOST_TEST(n.store_lines_written == lines_of(directory.file("store.log")).size());
  BOOST_TEST(n.store_lines_written >= 100u);
  BOOST_TEST(n.store_lines_dropped > 0u);
  BOOST_TEST(n.store_lines_written + n.store_lines_dropped == 10'100u);
  BOOST_TEST(n.lines_written + n.lines_dropped == 0u);
  log.lost(5);
  BOOST_TEST(n.store_lines_written + n.store_lines_dropped == 10'105u);
  log.adopt(nullptr, true);
  BOOST_TEST(!log.on());
}

BOOST_AUTO_TEST_SUITE_END()
