#define BOOST_TEST_DYN_LINK
#include "http/vary.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "http/test_head.h"

using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(vary)

BOOST_AUTO_TEST_CASE(names) {  // RFC 9111 4.1, RFC 9110 12.5.5
  struct Row { std::string_view fields, wanted; };
  const Row rows[] = {
      {"", ""},
      {"Vary:\r\n", ""},
      {"Vary: Accept-Encoding\r\n", "accept-encoding "},
      {"Vary: B, a\r\n", "a b "},
      {"Vary: b\r\nVary: a,B\r\n", "a b "},
      {"Vary: ,a,,\r\n", "a "},
      {"Vary: *\r\n", "never"},
      {"Vary: a, *\r\n", "never"},
      {"Vary: a\r\nVary: *\r\n", "never"},
      {"Vary: a b\r\n", "never"},
      {"Vary: \"a\"\r\n", "never"},
  };
  for (const Row& row : rows) {
    TestHead r = response_with(row.fields);
    std::optional<std::vector<std::string>> found = vary_names(r.head, r.bytes());
    std::string text;
    if (found)
      for (const std::string& name : *found) text += name + " ";
    else text = "never";
    BOOST_TEST(text == row.wanted, row.fields);
  }
}

BOOST_AUTO_TEST_CASE(many_names) {
  std::string same = "Vary: ", different = "Vary: ";
  for (int i = 0; i < 2000; ++i) same += "other,", different += "n" + std::to_string(i) + ",";
  TestHead a = response_with(same + "x\r\n"), b = response_with(different + "\r\n");
  BOOST_TEST(vary_names(a.head, a.bytes())->size() == 2u);
  BOOST_TEST(!vary_names(b.head, b.bytes()).has_value());
}

// Do two requests select the same variant?
struct Pair { std::string_view a, b; bool same, second_name; };
const Pair kPairs[] = {
    {"X-A: 1\r\n", "X-A: 1\r\n", true, false},
    {"X-A: 1\r\n", "x-a:   1  \r\n", true, false},
    {"X-A: 1\r\n", "X-A: 2\r\n", false, false},
    {"X-A: a\r\n", "X-A: A\r\n", false, false},
    {"X-A: 1\r\n", "", false, false},
    {"X-A:\r\n", "", false, false},
    {"", "", true, false},
    {"", "X-B: 1\r\n", true, false},
    {"X-A: 1, 2\r\n", "X-A: 1\r\nX-A: 2\r\n", true, false},
    {"X-A: 1,2\r\n", "X-A: 1 ,  2\r\n", true, false},
    {"X-A: 1\r\nX-A: 2\r\n", "X-A: 2\r\nX-A: 1\r\n", false, false},
    {"X-A: 1  2\r\n", "X-A: 1\t2\r\n", true, false},
    {"X-A: 1 2\r\n", "X-A: 12\r\n", false, false},
    {"X-A: \"1, 2\"\r\n", "X-A: \"1,2\"\r\n", false, false},
    {"X-A: \"1  2\"\r\n", "X-A: \"1 2\"\r\n", false, false},
    {"X-A: a; b\r\n", "X-A: a;b\r\n", false, false},
    // another name's value cannot pass for this one's
    {"X-A: 1\r\nX-B: 2\r\n", "X-A: 1\r\n", false, true},
    {"X-A: x-b: 2\r\n", "X-A:\r\nX-B: 2\r\n", false, true},
    // sets
    {"Accept-Encoding: gzip, br\r\n", "Accept-Encoding: br,GZIP\r\n", true, false},
    {"Accept-Encoding: gzip;q=0.5, br\r\n", "Accept-Encoding: br, gzip ; q=0.5\r\n", true, false},
    {"Accept-Encoding: gzip, gzip\r\n", "Accept-Encoding: gzip\r\n", true, false},
    {"Accept-Encoding: gzip\r\n", "Accept-Encoding: br\r\n", false, false},
    {"Accept-Encoding: gzip\r\n", "Accept-Encoding: gzip;q=0\r\n", false, false},
    {"Accept-Encoding: gzip;q=1.0, br;q=0.50\r\n", "Accept-Encoding: br;q=0.5, gzip\r\n", true, false},
    {"Accept-Encoding: gzip;q=1., br\r\n", "Accept-Encoding: br;q=1.000, x-gzip;Q=1\r\n", true, false},
    {"Accept-Encoding: gzip;q=0.000\r\n", "Accept-Encoding: gzip;q=0\r\n", true, false},
    {"Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: gzip\r\n", false, false},
    {"Accept-Encoding: gzip;q=0.1\r\n", "Accept-Encoding: gzip;q=0.01\r\n", false, false},
    {"Accept-Encoding: gzip;q=10\r\n", "Accept-Encoding: gzip;q=1\r\n", false, false},
    {"Accept-Encoding: gzip;q=x\r\n", "Accept-Encoding: gzip\r\n", false, false},
    {"Accept-Encoding: gzip;q=\r\n", "Accept-Encoding: gzip\r\n", false, false},
    {"Accept-Language: de;q=1, en;q=0.8\r\n", "Accept-Language: EN;q=0.80,de\r\n", true, false},
    {"X-A: a;q=1.0\r\n", "X-A: a\r\n", false, false},
    {"Accept-Encoding:\r\n", "", false, false},
    {"Accept-Language: en, de\r\n", "Accept-Language: de\r\nAccept-Language: EN\r\n", true, false},
    {"Accept-Language: en\r\n", "Accept-Language: en-gb\r\n", false, false},
};

BOOST_AUTO_TEST_CASE(selection) {
  for (const Pair& row : kPairs) {
    std::vector<std::string> names{"accept-encoding", "accept-language", "x-a"};
    if (row.second_name) names.push_back("x-b");
    TestHead a = request_with(row.a), b = request_with(row.b);
    bool same = selecting_key(names, a.head, a.bytes()) == selecting_key(names, b.head, b.bytes());
    BOOST_TEST(same == row.same, "[" << row.a << "] [" << row.b << "]");
  }
}

BOOST_AUTO_TEST_SUITE_END()
