#define BOOST_TEST_DYN_LINK
#include "http/cache_groups.h"

#include <boost/test/unit_test.hpp>

#include "http/test_head.h"

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(cache_groups_suite)

// The names, with "|" between; "-" = none.
std::string read(std::string_view fields) {
  TestHead r = response_with(fields);
  std::string out;
  for (const std::string& name : cache_groups(r.head, r.bytes(), FieldId::cache_groups)) out += (out.empty() ? "" : "|") + name;
  return out.empty() ? "-" : out;
}

BOOST_AUTO_TEST_CASE(lists_of_strings) {
  struct Row { const char* fields; const char* names; const char* section; };
  const Row kRows[] = {
      {"Cache-Groups: \"scripts\"\r\n", "scripts", "9875 2"},
      {"Cache-Groups: \"a\", \"b\"\r\n", "a|b", "9651 3.1"},
      {"Cache-Groups: \"a\" ,\t\"b\"\r\n", "a|b", "9651 4.2.1: blanks around commas"},
      {"Cache-Groups: \"a\"\r\nCache-Groups: \"b\"\r\n", "a|b", "9651 4.2: lines are joined"},
      {"Cache-Groups: \"a\";x=1;y, \"b\";z=\"q\"\r\n", "a|b", "9875 2: parameters say nothing"},
      {"Cache-Groups: \"a b, c\"\r\n", "a b, c", "9651 3.3.3"},
      {"Cache-Groups: \"a\\\"b\\\\c\"\r\n", "a\"b\\c", "9651 3.3.3: escapes"},
      {"Cache-Groups: \"A\", \"a\"\r\n", "A|a", "9875 2.1: case counts"},
      {"Cache-Groups: \"\"\r\n", "-", "an empty name, as no name"},
      {"Cache-Groups:\r\n", "-", "9651 3.1: an empty list"},
      {"Cache-Groups: scripts\r\n", "-", "a token is no string"},
      {"Cache-Groups: \"a\", scripts\r\n", "-", "9651 4.2: all or nothing"},
      {"Cache-Groups: \"a\", 1\r\n", "-", "a number"},
      {"Cache-Groups: (\"a\" \"b\")\r\n", "-", "an inner list"},
      {"Cache-Groups: \"a\",\r\n", "-", "9651 4.2.1: a comma at the end"},
      {"Cache-Groups: \"a\r\n", "-", "no quote at the end"},
      {"Cache-Groups: \"a\" \"b\"\r\n", "-", "no comma"},
      {"Cache-Groups: \"\xc3\xa4\"\r\n", "-", "9651 3.3.3: not ASCII"},
      {"Cache-Groups: \"a\\n\"\r\n", "-", "9651 3.3.3: no such escape"},
      {"Cache-Group-Invalidation: \"a\"\r\n", "-", "another field"},
  };
  for (const Row& row : kRows) BOOST_TEST(read(row.fields) == row.names, row.fields << " (" << row.section << "): " << read(row.fields));
}

BOOST_AUTO_TEST_CASE(as_many_as_the_standard_asks_for_and_no_flood) {
  std::string many = "Cache-Groups: ", long_name = "Cache-Groups: \"" + std::string(kLongestGroup + 1, 'x') + "\"\r\n";
  for (int i = 0; i < 128; ++i) many += "\"group-" + std::to_string(i) + "\"" + (i < 127 ? ", " : "");
  TestHead r = response_with(many + "\r\n");
  BOOST_TEST(cache_groups(r.head, r.bytes(), FieldId::cache_groups).size() == 128u);
  BOOST_TEST(read(many + ", \"one more\"\r\n") == "-");
  BOOST_TEST(read(long_name) == "-");
}

BOOST_AUTO_TEST_SUITE_END()
