#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "config/conditionals.h"
#include "config/lines.h"
#include "config/macros.h"

using namespace loligo::config;

namespace {

std::vector<std::string> lines_of(std::string_view bytes, Problems& problems) {
  std::string file = "t.conf";
  LineReader reader(bytes, file, problems);
  LogicalLine line;
  std::vector<std::string> out;
  while (reader.next(line)) out.push_back(line.text);
  return out;
}

std::string joined(std::string_view bytes) {
  Problems problems;
  std::string out;
  for (auto& line : lines_of(bytes, problems)) out += "[" + line + "]";
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lines)

BOOST_AUTO_TEST_CASE(logical_lines) {
  const struct { std::string_view bytes, expected; } kTable[] = {
      {"a b\nc\n", "[a b][c]"},
      {"a b\r\nc\r\n", "[a b][c]"},
      {"no newline", "[no newline]"},
      {"\n\n  \t\n", ""},
      {"\xef\xbb\xbf" "acl x", "[acl x]"},
      {"  \t a \t \n", "[a]"},
      {"# comment\na\n   # indented\n", "[a]"},
      {"#line 7 \"x\"\na\n", "[a]"},
      {"a \\\n   b\n", "[a b]"},
      {"a\\\n   b\n", "[ab]"},
      {"a \\\n# comment\n\n  b\n", "[a b]"},
      {"a \\\n# comment \\\nb\nc\n", "[a b][c]"},
      {"# comment \\\na\n", "[a]"},
      {"a \\\r\n b\r\n", "[a b]"},
      {"a \\ \nb\n", "[a \\][b]"},
      {"a \\\n\\\nb\n", "[a b]"},
  };
  for (auto& row : kTable) BOOST_CHECK_EQUAL(joined(row.bytes), row.expected);
}

BOOST_AUTO_TEST_CASE(long_lines_stay_whole) {
  std::string text = "acl x src";
  for (int i = 0; i < 20'000; ++i) text += " 10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256);
  BOOST_CHECK_EQUAL(joined(text + "\nnext"), "[" + text + "][next]");
}

BOOST_AUTO_TEST_CASE(what_is_said_about_lines) {
  const struct { std::string_view bytes; Severity severity; int line, column; } kTable[] = {
      {"a \\ \nb\n", Severity::warning, 1, 3},
      {"a\nb \\\n", Severity::error, 2, 3},
      {"a\nb \\\n# c\n", Severity::error, 2, 3},
      {"a\rb\n", Severity::warning, 1, 2},
  };
  for (auto& row : kTable) {
    Problems problems;
    lines_of(row.bytes, problems);
    BOOST_REQUIRE_EQUAL(problems.list().size(), 1u);
    BOOST_CHECK(problems.list()[0].severity == row.severity);
    BOOST_CHECK_EQUAL(problems.list()[0].place.line, row.line);
    BOOST_CHECK_EQUAL(problems.list()[0].place.column, row.column);
  }
}

BOOST_AUTO_TEST_CASE(places_in_continued_lines) {
  std::string file = "t.conf";
  Problems problems;
  LineReader reader("\n  acl x \\\n\tsrc 1.2.3.4\n", file, problems);
  LogicalLine line;
  BOOST_REQUIRE(reader.next(line));
  BOOST_CHECK_EQUAL(line.text, "acl x src 1.2.3.4");
  BOOST_CHECK_EQUAL(line.at(4).line, 2);
  BOOST_CHECK_EQUAL(line.at(4).column, 7);
  BOOST_CHECK_EQUAL(line.at(10).line, 3);
  BOOST_CHECK_EQUAL(line.at(10).column, 6);
}

BOOST_AUTO_TEST_CASE(macros) {
  Macros macros;
  macros.environment = [](const char* name) -> const char* { return std::string_view(name) == "DIR" ? "/var/x" : nullptr; };
  const struct { std::string_view in, out; int warnings; } kTable[] = {
      {"a ${service_name}-${process_number} b", "a squid-0 b", 0},
      {"${DIR}/a ${DIR}/b", "/var/x/a /var/x/b", 0},
      {"${process_name}", "squid", 0},
      {"${Service_name}", "${Service_name}", 1},
      {"x ${NOTHING} y", "x ${NOTHING} y", 1},
      {"x$y ${ a} ${} ${open", "x$y ${ a} ${} ${open", 0},
      {"${a${DIR}", "${a/var/x", 0},
  };
  for (auto& row : kTable) {
    Problems problems;
    LogicalLine line{std::string(row.in), {{0, {1, 1}, false}}};
    replace_macros(line, macros, "t.conf", problems);
    BOOST_CHECK_EQUAL(line.text, row.out);
    BOOST_CHECK_EQUAL(int(problems.list().size()), row.warnings);
  }
}

BOOST_AUTO_TEST_CASE(columns_behind_a_macro) {
  Macros macros;
  Problems problems;
  LogicalLine line{"a ${service_name} b", {{0, {4, 10}, false}}};
  replace_macros(line, macros, "t.conf", problems);
  BOOST_CHECK_EQUAL(line.text, "a squid b");
  BOOST_CHECK_EQUAL(line.at(2).column, 12);
  BOOST_CHECK_EQUAL(line.at(5).column, 12);
  BOOST_CHECK_EQUAL(line.at(8).column, 28);  // the b
}

BOOST_AUTO_TEST_SUITE_END()
