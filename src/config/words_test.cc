#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>

#include "config/words.h"

using namespace loligo::config;

namespace {

struct Split {
  Statement statement;
  Problems problems;
  MemoryFiles files;
  bool list_missing = false;

  explicit Split(std::string_view text, WordStyle style, bool quoted_values = false) {
    files.files["/list"] = "\xef\xbb\xbf" "one\r\n  two words # comment\n# no\n\n a#b\nlast";
    files.files["/deep"] = "x parameters(\"/list2\") y # no\nz";
    files.files["/list2"] = "p q\n";
    statement.place.file = "t.conf";
    LogicalLine line{std::string(text), {{0, {1, 1}, false}}};
    SplitContext context{files, problems, quoted_values, &list_missing};
    split_words(line, 0, style, context, statement);
  }
  std::string words() const {
    std::string out;
    for (auto& w : statement.words) out += "[" + w.text + "]";
    return out;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(words)

BOOST_AUTO_TEST_CASE(splitting) {
  const struct { WordStyle style; std::string_view text, expected; } kTable[] = {
      {WordStyle::plain, "a  b\tc", "[a][b][c]"},
      {WordStyle::plain, "a # b", "[a]"},
      {WordStyle::plain, "a foo#bar", "[a][foo#bar]"},
      {WordStyle::plain, "\"a b\"", "[\"a][b\"]"},
      {WordStyle::plain, "", ""},
      {WordStyle::quoted, "\"a b\" 'c d' e", "[a b][c d][e]"},
      {WordStyle::quoted, "\"a\\\"b\\n\\\\\"", "[a\"b\n\\]"},
      {WordStyle::quoted, "key=\"a b\" c", "[key=a b][c]"},
      {WordStyle::quoted, "it's plain", "[it's][plain]"},
      {WordStyle::rule, "allow \"/list\" !x", "[allow][one][two words][a#b][last][!x]"},
      {WordStyle::rule, "allow '/list'", "[allow][one][two words][a#b][last]"},
      {WordStyle::acl, "n src \"/list\" 10.0.0.1", "[n][src][one][two words][a#b][last][10.0.0.1]"},
      {WordStyle::acl, "n url_regex -i foo\\ bar a#b", "[n][url_regex][-i][foo\\ bar][a#b]"},
      {WordStyle::acl, "n src a\\ b", "[n][src][a\\][b]"},
      {WordStyle::acl, "n browser ^Moz", "[n][browser][^Moz]"},
      {WordStyle::acl, "n dstdomain parameters(\"/list\")", "[n][dstdomain][parameters(\"/list\")]"},
      {WordStyle::regex, "-i \\.(a|b)$ 1 2% 3", "[-i][\\.(a|b)$][1][2%][3]"},
      {WordStyle::regex, "a\\ b\\# c", "[a\\ b\\#][c]"},
      {WordStyle::line, "a b # c", "[a b # c]"},
      {WordStyle::line, "# c", ""},
      {WordStyle::line, "\"a b\"", "[a b]"},
  };
  for (auto& row : kTable) {
    Split split(row.text, row.style);
    BOOST_CHECK_EQUAL(split.words(), row.expected);
    BOOST_CHECK(split.problems.list().empty());
  }
}

BOOST_AUTO_TEST_CASE(strict_quoted_values) {
  const struct { WordStyle style; std::string_view text, expected; int errors; } kTable[] = {
      {WordStyle::acl, "n src 10.0.0.0/8 \"a b\"", "[n][src][10.0.0.0/8][a b]", 0},
      {WordStyle::acl, "n dstdomain parameters(\"/list\")", "[n][dstdomain][one][two][words][a#b][last]", 0},
      {WordStyle::acl, "n dstdomain parameters(\"/deep\") e", "[n][dstdomain][x][p][q][y][z][e]", 0},
      {WordStyle::acl, "n url_regex ^a", "[n][url_regex][^a]", 2},
      {WordStyle::acl, "n url_regex \"a\"", "[n][url_regex][a]", 1},
      {WordStyle::regex, "\\.gif 1 2 3", "[\\.gif]", 2},
      {WordStyle::plain, "80%", "[80%]", 0},
      {WordStyle::plain, "a%b", "[a%b]", 1},
      {WordStyle::plain, "a*b", "[a*b]", 1},
      {WordStyle::plain, "other(\"/list\")", "", 1},
      {WordStyle::rule, "allow !x", "[allow][!x]", 0},
  };
  for (auto& row : kTable) {
    Split split(row.text, row.style, true);
    BOOST_CHECK_EQUAL(split.words(), row.expected);
    BOOST_CHECK_MESSAGE(int(split.problems.list().size()) == row.errors, row.text << "\n" << format_problems(split.problems));
  }
}

BOOST_AUTO_TEST_CASE(what_is_said_about_words) {
  const struct { WordStyle style; std::string_view text; Severity severity; int column; } kTable[] = {
      {WordStyle::quoted, "a \"open", Severity::error, 3},
      {WordStyle::quoted, "\"a\"b", Severity::error, 4},
      {WordStyle::quoted, "\"a\\qb\"", Severity::error, 3},
      {WordStyle::regex, "abc\\", Severity::error, 4},
      {WordStyle::rule, "deny \"/nowhere\"", Severity::missing, 6},
      {WordStyle::rule, "deny \"\"", Severity::missing, 6},
  };
  for (auto& row : kTable) {
    Split split(row.text, row.style);
    BOOST_REQUIRE_EQUAL(split.problems.list().size(), 1u);
    BOOST_CHECK(split.problems.list()[0].severity == row.severity);
    BOOST_CHECK_EQUAL(split.problems.list()[0].place.column, row.column);
  }
}

BOOST_AUTO_TEST_CASE(words_of_a_list_know_their_file) {
  Split split("n src \"/list\" x", WordStyle::acl);
  Place place = split.statement.at(3);
  BOOST_CHECK_EQUAL(place.file, "/list");
  BOOST_CHECK_EQUAL(place.line, 2);
  BOOST_CHECK_EQUAL(place.column, 3);
  BOOST_CHECK_EQUAL(split.statement.at(6).file, "t.conf");
  BOOST_CHECK_EQUAL(split.statement.at(6).column, 15);
  BOOST_CHECK(Split("deny \"/nowhere\"", WordStyle::rule).list_missing);
}

BOOST_AUTO_TEST_CASE(a_parameter_file_that_names_itself_ends) {
  Split split("x", WordStyle::plain);
  split.files.files["/loop"] = "parameters(\"/loop\")";
  LogicalLine line{"parameters(\"/loop\")", {{0, {1, 1}, false}}};
  SplitContext context{split.files, split.problems, true, nullptr};
  Statement statement;
  split_words(line, 0, WordStyle::plain, context, statement);
  BOOST_CHECK_EQUAL(split.problems.list().size(), 1u);
}

BOOST_AUTO_TEST_SUITE_END()
