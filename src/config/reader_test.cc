#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include <chrono>

#include "config/bind.h"
#include "config/reader.h"

using namespace loligo::config;

namespace {

constexpr Directive kRows[] = {
    row("acl", Status::accepted, "", "none", ""),
    row("plain old_plain", Status::accepted, "", "none", ""),
};
struct Fixture {
  std::vector<Directive> rows{std::begin(kRows), std::end(kRows)};
  MemoryFiles files;
  Problems problems;
  ReadOptions options;
  Fixture() { rows[0].words = WordStyle::acl; options.source = &files; }

  ReadResult read(std::string_view text) {
    problems = {};
    std::vector<RoomTable> tables{{"t", rows, nullptr}};
    DirectiveIndex index(tables);
    options.directives = &index;
    return read_text(text, "t.conf", options, problems);
  }
  std::string names(std::string_view text) {
    std::string out;
    for (auto& s : read(text).statements) out += "[" + s.name + (s.rest.empty() ? "" : " " + s.rest) + "]";
    return out;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(reader, Fixture)

BOOST_AUTO_TEST_CASE(conditionals) {
  const struct { std::string_view text, expected; int errors, warnings; } kTable[] = {
      {"if true\na\nendif\nb\n", "[a][b]", 0, 0},
      {"if false\na\nelse\nb\nendif\n", "[b]", 0, 0},
      {"if true\na\nelse junk\nb\nendif junk\n", "[a]", 0, 0},
      {"if 1 = 1\na\nendif", "[a]", 0, 0},
      {"if 0x10 = 16\na\nendif", "[a]", 0, 0},
      {"if 010=8\na\nendif", "[a]", 0, 0},
      {"if ${process_number} = 0\na\nendif", "[a]", 0, 0},
      {"if 1 = 2\na\nendif", "", 0, 0},
      {"if yes\na\nendif", "", 1, 0},
      {"if\na\nendif", "", 1, 0},
      {"if false\nif nonsense\nendif\nendif", "", 1, 0},
      {"if false\nif true\na\nb\nendif\nendif\nc", "[c]", 0, 1},
      {"if true\nif false\na\nendif\nb\nendif", "[b]", 0, 0},
      {"if true\na\n", "[a]", 1, 0},
      {"endif\na", "[a]", 1, 0},
      {"else\na", "[a]", 1, 0},
      {"if true\nelse\nelse\na\nendif", "[a]", 0, 1},
  };
  for (auto& row : kTable) {
    BOOST_CHECK_EQUAL(names(row.text), row.expected);
    int errors = 0, warnings = 0;
    for (auto& p : problems.list()) (p.severity == Severity::error ? errors : warnings)++;
    BOOST_CHECK_MESSAGE(errors == row.errors && warnings == row.warnings, row.text << "\n" << format_problems(problems));
  }
}

BOOST_AUTO_TEST_CASE(includes) {
  files.files = {{"/c/1.conf", "one\n"}, {"/c/2.conf", "two"}, {"/a b", "blank\n"}, {"/if", "if false\n"}, {"/deep", "include /deep\n"}, {"/squid", "macro\n"}};
  BOOST_CHECK_EQUAL(names("a\ninclude /c/*\nb"), "[a][one][two][b]");
  BOOST_CHECK_EQUAL(names("include /c/2.conf /c/1.conf # c"), "[two][one]");
  BOOST_CHECK_EQUAL(names("include \"/a b\""), "[blank]");
  BOOST_CHECK_EQUAL(names("include /${service_name}"), "[macro]");
  BOOST_CHECK(problems.list().empty());
  BOOST_CHECK_EQUAL(names("if false\ninclude /nowhere\nendif"), "");
  BOOST_CHECK(problems.list().empty());
  BOOST_CHECK_EQUAL(names("include /if\nx\n"), "[x]");  // conditions end with their file
  BOOST_CHECK(problems.has(Severity::error));
  BOOST_CHECK(read("include /nowhere/*\nx").incomplete);
  BOOST_CHECK(problems.has(Severity::missing) && !problems.has(Severity::error));
  names("include /deep");
  BOOST_REQUIRE_EQUAL(problems.list().size(), 1u);
  BOOST_CHECK(problems.has(Severity::error));
  names("include");
  BOOST_CHECK(problems.has(Severity::error));
}

BOOST_AUTO_TEST_CASE(a_bomb_of_includes_ends) {
  files.files["/bomb"] = "include /bomb /bomb /bomb /bomb\n";
  read("include /bomb");
  BOOST_CHECK(problems.has(Severity::error));
  BOOST_CHECK_LT(problems.list().size(), 50'000u);
}

BOOST_AUTO_TEST_CASE(names_aliases_and_places) {
  ReadResult result = read("\n  old_plain x\\\n  y z\nPlain q\n");
  BOOST_REQUIRE_EQUAL(result.statements.size(), 2u);
  const Statement& s = result.statements[0];
  BOOST_CHECK_EQUAL(s.name, "plain");
  BOOST_CHECK_EQUAL(s.place.line, 2);
  BOOST_CHECK_EQUAL(s.place.column, 3);
  BOOST_CHECK_EQUAL(s.words[0].text, "xy");
  BOOST_CHECK_EQUAL(s.at(1).line, 3);
  BOOST_CHECK_EQUAL(s.at(1).column, 5);
  BOOST_CHECK_EQUAL(s.sequence, 0);
  BOOST_CHECK_EQUAL(result.statements[1].name, "Plain");
  BOOST_CHECK_EQUAL(result.statements[1].sequence, 1);
}

BOOST_AUTO_TEST_CASE(quoted_values_can_be_switched) {
  files.files["/list"] = "one item\n";
  ReadResult result = read("acl a src \"/list\"\nconfiguration_includes_quoted_values on\nacl b src \"/list\"\nacl c src parameters(\"/list\")\n"
                           "configuration_includes_quoted_values off\nacl d src \"/list\"\n");
  BOOST_CHECK_EQUAL(result.statements[0].words[2].text, "one item");
  BOOST_CHECK_EQUAL(result.statements[2].words[2].text, "/list");
  BOOST_CHECK_EQUAL(result.statements[3].words[2].text, "one");
  BOOST_CHECK_EQUAL(result.statements[5].words[2].text, "one item");
  BOOST_CHECK(problems.list().empty());
}

BOOST_AUTO_TEST_CASE(commands_only_where_allowed) {
  Problems said;
  BOOST_CHECK(read_file("!echo via off", {}, said).statements.empty());
  BOOST_CHECK(said.has(Severity::error));
  ReadOptions allowed;
  allowed.commands_allowed = true;
  for (auto path : {"!echo via off", "|echo via off"}) {
    Problems none;
    BOOST_CHECK_EQUAL(read_file(path, allowed, none).statements.size(), 1u);
    BOOST_CHECK(none.list().empty());
  }
  Problems failed;
  read_file("!echo via off; exit 3", allowed, failed);
  BOOST_CHECK(failed.has(Severity::error));
  Problems absent;
  read_file("/nowhere/loligo.conf", {}, absent);
  BOOST_CHECK(absent.has(Severity::error));
}

BOOST_AUTO_TEST_CASE(a_long_list_is_read_at_once) {
  std::string list;
  for (int i = 0; i < 100'000; ++i) list += ".site" + std::to_string(i) + ".example.com\n";
  files.files["/list"] = list;
  auto start = std::chrono::steady_clock::now();
  ReadResult result = read("acl x dstdomain \"/list\"");
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  BOOST_CHECK_EQUAL(result.statements[0].words.size(), 100'002u);
  BOOST_CHECK_MESSAGE(took.count() < 1000, "100,000 lines took " << took.count() << " ms");
  BOOST_TEST_MESSAGE("100,000 lines: " << took.count() << " ms");
}

BOOST_AUTO_TEST_CASE(rubbish_is_survived) {
  unsigned seed = 1;
  const std::string_view kPieces[] = {"acl ", "x ", "\"", "'", "\\", "\n", "\r", "${", "}", "if ", "else", "endif", "true", "include ", "#", "(", "parameters(\"", "\")",
                                      "configuration_includes_quoted_values on\n", " url_regex ", "\xff", std::string_view("\0", 1), "\t", "=", "/list"};
  files.files["/list"] = "a\nb # c\n";
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      seed = seed * 1664525u + 1013904223u;
      text += kPieces[(seed >> 16) % std::size(kPieces)];
    }
    read(text);
  }
  BOOST_CHECK(true);
}

BOOST_AUTO_TEST_SUITE_END()
