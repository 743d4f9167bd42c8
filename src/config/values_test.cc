#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "config/reader.h"
#include "config/values.h"

using namespace loligo::config;
using loligo::base::Milliseconds;

namespace {

Statement words_of(std::string_view text) {
  Directive d;
  d.name = "x";
  return make_statement(d, text);
}

// What the one problem was: 'e', 'w', or ' ' for none.
char verdict(const Problems& problems) {
  return problems.has(Severity::error) ? 'e' : problems.list().empty() ? ' ' : 'w';
}

}  // namespace

BOOST_AUTO_TEST_SUITE(values)

BOOST_AUTO_TEST_CASE(durations) {
  const struct { std::string_view text; int64_t ms; char verdict; size_t used; } kTable[] = {
      {"1 second", 1000, ' ', 2},      {"2 seconds", 2000, ' ', 2},     {"3 MINUTES", 180'000, ' ', 2}, {"1 hourly", 3'600'000, ' ', 2},
      {"1.5 minutes", 90'000, ' ', 2}, {"1 day", 86'400'000, ' ', 2},   {"1 week", 604'800'000, ' ', 2}, {"1 fortnight", 1'209'600'000, ' ', 2},
      {"1 month", 2'592'000'000, ' ', 2}, {"1 year", 31'557'790'080, ' ', 2}, {"1 decade", 315'577'900'800, ' ', 2}, {"0", 0, ' ', 1},
      {"0 seconds", 0, ' ', 2},        {"30", 30'000, 'w', 1},          {"5 s", -7, 'e', 0},             {"5 sec", -7, 'e', 0},
      {"5 min", -7, 'e', 0},           {"5 h", -7, 'e', 0},             {"30s", -7, 'e', 0},             {"30seconds", -7, 'e', 0},
      {"-1 second", -7, 'e', 0},       {"x seconds", -7, 'e', 0},       {"", -7, 'e', 0},                {"1 millisecond", -7, 'e', 0},
      {"1e3 seconds", 1'000'000, ' ', 2}, {"99999999 decades", -7, 'e', 0}, {"nan seconds", -7, 'e', 0}, {"inf seconds", -7, 'e', 0},
  };
  for (auto& row : kTable) {
    Problems problems;
    Milliseconds out{-7};
    size_t used = 0;
    bool good = read_duration(words_of(row.text), 0, Milliseconds(1000), out, problems, &used);
    BOOST_CHECK_MESSAGE(out.count() == row.ms && verdict(problems) == row.verdict && used == row.used && good == (row.verdict != 'e'),
                        row.text << " gave " << out.count() << " " << verdict(problems) << " " << used);
  }
  Problems problems;
  Milliseconds out{};
  BOOST_CHECK(read_duration(words_of("250 milliseconds"), 0, Milliseconds(1), out, problems));
  BOOST_CHECK_EQUAL(out.count(), 250);
}

BOOST_AUTO_TEST_CASE(sizes) {
  const struct { std::string_view text; int64_t bytes; char verdict; size_t used; } kTable[] = {
      {"10 MB", 10 << 20, ' ', 2},  {"1 kbytes", 1024, ' ', 2},  {"0.5 GB", 1 << 29, ' ', 2}, {"1e2 bytes", 100, ' ', 2}, {"0", 0, ' ', 1},
      {"0 KB", 0, ' ', 2},          {"none", -1, ' ', 1},        {"-1", -1, ' ', 1},          {"-1 KB", -1, ' ', 2},      {"-1 QB", -1, ' ', 2},
      {"4096", 4096, 'w', 1},       {"10MB", -7, 'e', 0},        {"10 K", -7, 'e', 0},        {"10 M", -7, 'e', 0},       {"10 KiB", -7, 'e', 0},
      {"-5 KB", -7, 'e', 0},        {"lots KB", -7, 'e', 0},     {"", -7, 'e', 0},            {"9e30 GB", -7, 'e', 0},    {"10 acl", -7, 'e', 0},
  };
  for (auto& row : kTable) {
    Problems problems;
    int64_t out = -7;
    size_t used = 0;
    bool good = read_bytes(words_of(row.text), 0, 1, out, problems, &used);
    BOOST_CHECK_MESSAGE(out == row.bytes && verdict(problems) == row.verdict && good == (row.verdict != 'e') && (!good || used == row.used),
                        row.text << " gave " << out << " " << verdict(problems) << " " << used);
  }
  Problems problems;
  int64_t out = 0;
  BOOST_CHECK(read_bytes(words_of("16"), 0, 1024, out, problems));
  BOOST_CHECK_EQUAL(out, 16384);
}

BOOST_AUTO_TEST_CASE(whole_numbers) {
  const struct { std::string_view text; bool good; int64_t value; } kTable[] = {
      {"10", true, 10}, {"0x1f", true, 31}, {"027", true, 23}, {"-1", true, -1}, {"+5", true, 5}, {"0", true, 0},
      {"08", false, 0}, {"1x", false, 0},   {"", false, 0},    {"--1", false, 0}, {"0x", false, 0}, {"99999999999999999999", false, 0}};
  for (auto& row : kTable) {
    int64_t value = 0;
    BOOST_CHECK_EQUAL(parse_integer(row.text, value), row.good);
    BOOST_CHECK_EQUAL(value, row.value);
  }
}

BOOST_AUTO_TEST_CASE(switches_percentages_and_addresses) {
  const struct { std::string_view text; char verdict; bool value; } kFlags[] = {
      {"on", ' ', true}, {"off", ' ', false}, {"enable", 'w', true}, {"disable", 'w', false}, {"yes", 'e', false}, {"ON", 'e', false}, {"", 'e', false}};
  for (auto& row : kFlags) {
    Problems problems;
    bool value = false;
    read_flag(words_of(row.text), 0, value, problems);
    BOOST_CHECK_EQUAL(value, row.value);
    BOOST_CHECK_EQUAL(verdict(problems), row.verdict);
  }
  const struct { std::string_view text; int64_t value; } kPercents[] = {{"20%", 20}, {"95", 95}, {"101", -1}, {"x%", -1}, {"-1", -1}, {"%", -1}};
  for (auto& row : kPercents) {
    Problems problems;
    int64_t value = -1;
    read_percent(words_of(row.text), 0, 100, value, problems);
    BOOST_CHECK_EQUAL(value, row.value);
  }
  const struct { std::string_view text, value; bool good; } kAddresses[] = {
      {"10.0.0.1", "10.0.0.1", true}, {"[::1]", "::1", true},   {"::1", "::1", true},       {"any_addr", "", true},
      {"no_addr", "", true},          {"host.example", "host.example", true}, {"a/b", "?", false}, {"::g", "?", false}};
  for (auto& row : kAddresses) {
    Problems problems;
    std::string value = "?";
    BOOST_CHECK_EQUAL(read_address(words_of(row.text), 0, value, problems), row.good);
    BOOST_CHECK_EQUAL(value, row.value);
  }
}

BOOST_AUTO_TEST_CASE(values_as_typed) {
  BOOST_CHECK_EQUAL(duration_text(Milliseconds(0)), "0 seconds");
  BOOST_CHECK_EQUAL(duration_text(Milliseconds(60'000)), "1 minute");
  BOOST_CHECK_EQUAL(duration_text(Milliseconds(90'000)), "90 seconds");
  BOOST_CHECK_EQUAL(duration_text(Milliseconds(250)), "250 milliseconds");
  BOOST_CHECK_EQUAL(bytes_text(-1), "none");
  BOOST_CHECK_EQUAL(bytes_text(0), "0 bytes");
  BOOST_CHECK_EQUAL(bytes_text(65536), "64 KB");
  BOOST_CHECK_EQUAL(bytes_text(1000), "1000 bytes");
}

BOOST_AUTO_TEST_CASE(raw_text) {
  Statement s;
  s.rest = "Name  a value # not a comment here";
  BOOST_CHECK_EQUAL(rest_from_word(s, 1), "a value # not a comment here");
  BOOST_CHECK_EQUAL(rest_from_word(s, 20), "");
  BOOST_CHECK_EQUAL(rest_without_comment(s), "Name  a value");
}

BOOST_AUTO_TEST_SUITE_END()
