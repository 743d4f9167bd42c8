#include "client/error_page.h"

#define BOOST_TEST_DYN_LINK
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <set>

using namespace loligo::client;
namespace fs = std::filesystem;

namespace {

PageConstants constants() {
  PageConstants c;
  c.hostname = "proxy.example";
  c.software = "loligo/0.1.0";
  c.administrator = "webmaster";
  c.stylesheet = "p { color: red }";
  c.contact = "<a href=\"/help\">help</a>";
  return c;
}

std::string fill(std::string_view text, const ErrorFacts& facts, PageConstants c = constants()) {
  return PageTemplate(text).fill(facts, c, "ERR_X");
}

// A directory of files, gone at the end.
struct Directory {
  fs::path path = fs::temp_directory_path() / ("loligo-errors-" + std::to_string(::getpid()));
  Directory() { fs::create_directories(path); }
  ~Directory() { fs::remove_all(path); }
  void write(const std::string& name, std::string_view text) {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

ErrorPages make(ErrorPageSettings settings) {
  std::vector<std::string> problems;
  settings.constants = constants();
  return ErrorPages(settings, problems);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_code_shows_its_fact) {
  ErrorFacts f;
  f.error_number = 111;
  f.method = "GET"; f.url = "http://user:pass@host.example:8080/a?b"; f.scheme = "http"; f.host = "host.example"; f.port = 8080;
  f.path = "/a?b"; f.request_head = "GET / HTTP/1.1\r\nHost: x\r\n"; f.client_address = "192.0.2.1"; f.server_address = "192.0.2.2";
  f.listening_address = "192.0.2.3"; f.listening_port = 3128; f.user = "bob"; f.auth_message = "expired"; f.acl_message = "not today";
  f.dns_message = "no such name"; f.tls_error = "X509_V_ERR"; f.detail = "why"; f.text = "words"; f.rule = "squid.conf:12";
  f.now = 784111777; f.elapsed_ms = 1234;
  const struct { std::string_view code, expected; } kTable[] = {
      {"%a", "bob"}, {"%A", "192.0.2.3"}, {"%b", "3128"}, {"%B", "http://host.example:8080/a?b"}, {"%c", "ERR_X"}, {"%d", "1.234"},
      {"%D", "why"}, {"%e", "111"}, {"%E", "(111) Connection refused"}, {"%f%F%g", "[not available][not available][not available]"},
      {"%h", "proxy.example"}, {"%H", "host.example"}, {"%i", "192.0.2.1"}, {"%I", "192.0.2.2"}, {"%l", "p { color: red }"},
      {"%L", "<a href=\"/help\">help</a>"}, {"%m", "expired"}, {"%M", "GET"}, {"%o", "not today"}, {"%O", "not today"}, {"%p", "8080"},
      {"%P", "http"}, {"%R", "GET / HTTP/1.1\nHost: x\n"}, {"%s", "loligo/0.1.0"}, {"%T", "Sun, 06 Nov 1994 08:49:37 GMT"},
      {"%u", "http://host.example:8080/a?b"}, {"%U", "http://host.example:8080/a?b"}, {"%w", "webmaster"}, {"%W", ""},
      {"%x", "X509_V_ERR"}, {"%z", "no such name"}, {"%Z", "words"}, {"%%", "%"}, {"100%", "100%"}, {"%q%1%", "%q%1%"}, {"% x", "% x"},
      {"%\x01", "%\x01"}, {"@Loligo{rule}", ""},
      {"%S", "\n<hr>\n<div id=\"footer\">\n<p>Sun, 06 Nov 1994 08:49:37 GMT, proxy.example (loligo/0.1.0)</p>\n</div>\n</body></html>\n"},
  };
  for (auto& row : kTable) BOOST_TEST(fill(row.code, f) == row.expected, row.code << " gave " << fill(row.code, f));
  BOOST_TEST(fill("%t", f).find("1994") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_said_in_the_words_templates_compare_with) {
  const struct { std::string_view code, expected; } kTable[] = {
      {"%M", "[unknown method]"}, {"%u", "[no URL]"}, {"%P", "[unknown protocol]"}, {"%H", "[unknown host]"}, {"%E", "[No Error]"},
      {"%x", "[No Error]"}, {"%D", "[No Error Detail]"}, {"%z", "[unknown]"}, {"%p", "[unknown port]"}, {"%e", "0"}, {"%a", "-"}};
  for (auto& row : kTable) BOOST_TEST(fill(row.code, {}) == row.expected, row.code);
}

BOOST_AUTO_TEST_CASE(nothing_from_the_network_leaves_its_place) {
  const std::string attack = "<script>alert(\"1\")</script>'\\`&\x01\x7f\xff\xc0\xaf";
  const std::string escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&#92;&#96;&amp;"
                              "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD";
  ErrorFacts f;
  f.method = f.url = f.scheme = f.host = f.request_head = f.client_address = f.server_address = f.listening_address = f.user =
      f.auth_message = f.acl_message = f.dns_message = f.tls_error = f.detail = f.text = attack;
  for (std::string_view code : {"%a", "%A", "%B", "%D", "%H", "%i", "%I", "%m", "%M", "%o", "%O", "%P", "%R", "%u", "%U", "%x", "%z", "%Z"})
    BOOST_TEST(fill(code, f) == escaped, code << " gave " << fill(code, f));

  // In every built-in page, too, with everything switched on.
  ErrorPageSettings settings;
  settings.constants = constants();
  settings.constants.show_rule = settings.constants.email_data = true;
  std::vector<std::string> problems;
  ErrorPages pages(settings, problems);
  f.rule = attack;
  for (const ErrorRow& row : kErrorRows) {
    std::string body = pages.render(row.id, f, attack).body;
    BOOST_TEST(body.find("<script") == std::string::npos, row.name);
    BOOST_TEST(body.find("alert(\"") == std::string::npos, row.name);
    BOOST_TEST(body.find('\x01') == std::string::npos, row.name);
  }
}

BOOST_AUTO_TEST_CASE(a_link_never_runs_a_script) {
  ErrorFacts f;
  const struct { std::string_view url, expected; } kTable[] = {
      {"javascript:alert(1)", "<a href=\"#\">javascript:alert(1)</a>"},
      {" javascript:alert(1)", "<a href=\"#\">%20javascript:alert(1)</a>"},
      {"data:text/html,x", "<a href=\"#\">data:text/html,x</a>"},
      {"http://a/ b", "<a href=\"http://a/%20b\">http://a/%20b</a>"},
      {"HTTPS://a/", "<a href=\"HTTPS://a/\">HTTPS://a/</a>"},
      {"", "<a href=\"#\">[no URL]</a>"},
      {"/path:x", "<a href=\"/path:x\">/path:x</a>"},
      {"host.example:443", "<a href=\"#\">host.example:443</a>"}};
  for (auto& row : kTable) {
    f.url = row.url;
    BOOST_TEST(fill("<a href=\"%U\">%U</a>", f) == row.expected, fill("<a href=\"%U\">%U</a>", f));
  }
}

BOOST_AUTO_TEST_CASE(a_password_in_the_address_is_not_shown) {
  ErrorFacts f;
  for (std::string_view url : {"http://u:secret@h/p", "ftp://u:se@cret@h/p"}) {
    f.url = url;
    for (std::string_view code : {"%u", "%U", "%B"}) BOOST_TEST(fill(code, f).find("cret") == std::string::npos);
  }
  f.url = "http://h/a@b";
  BOOST_TEST(fill("%U", f) == "http://h/a@b");
}

BOOST_AUTO_TEST_CASE(valid_utf8_stays) {
  std::string out;
  append_escaped(out, "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\xA6\x91");
  BOOST_TEST(out == "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\xA6\x91");
  out.clear();
  append_escaped(out, "\xE2\x82");   // cut off
  BOOST_TEST(out == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(output_is_bounded) {
  ErrorFacts f;
  std::string huge(1'000'000, '<'), many;
  f.request_head = f.url = f.host = huge;
  BOOST_TEST(fill("%H", f).size() == 4 * kMaxValue);
  BOOST_TEST(fill("%R", f).size() == 4 * kMaxDump);
  for (int i = 0; i < 20'000; ++i) many += "%R";
  BOOST_TEST(fill(many, f).size() <= kMaxPage);
}

BOOST_AUTO_TEST_CASE(every_error_has_a_page_of_its_own) {
  ErrorPages pages = make({});
  std::set<std::string> bodies;
  for (const ErrorRow& row : kErrorRows) {
    ErrorFacts f;
    f.url = "http://host.example/x";
    ErrorReply reply = pages.render(row.id, f, "");
    BOOST_TEST(reply.status == row.status);
    BOOST_TEST(reply.status >= 400);
    BOOST_TEST(reply.body.find("<body id=\"" + std::string(row.name) + "\">") != std::string::npos);
    BOOST_TEST(reply.body.find("@Loligo") == std::string::npos);
    BOOST_TEST(bodies.insert(reply.body).second);
    BOOST_TEST((pages.find(row.name) == row.id));
  }
  ErrorFacts f;
  f.error_number = 111;
  f.status = 403;
  ErrorReply reply = pages.render(ErrorId::connect_fail, f, "");
  BOOST_TEST(reply.status == 403);
  BOOST_TEST(reply.field_lines() == "Content-Type: text/html;charset=utf-8\r\nX-Squid-Error: ERR_CONNECT_FAIL 111\r\n"
                                    "Vary: Accept-Language\r\nContent-Language: en\r\n");
}

BOOST_AUTO_TEST_CASE(the_rule_that_denied_shows_only_when_asked_for) {
  ErrorFacts f;
  f.rule = "squid.conf:12";
  ErrorPageSettings settings;
  settings.constants = constants();
  std::vector<std::string> problems;
  BOOST_TEST(ErrorPages(settings, problems).render(ErrorId::access_denied, f, "").body.find("squid.conf") == std::string::npos);
  settings.constants.show_rule = true;
  BOOST_TEST(ErrorPages(settings, problems).render(ErrorId::access_denied, f, "").body.find("<code>squid.conf:12</code>") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(accept_language_in_order_of_weight) {
  const struct { std::string_view field; std::vector<std::string> expected; } kTable[] = {
      {"", {}}, {"de", {"de"}}, {"en;q=0.5, de-CH, fr;q=0.9", {"de-ch", "fr", "en"}}, {"de;q=0", {}}, {"*;q=0.1,it", {"it", "*"}},
      {"de;q=2, fr;q=x, ../../etc;q=1, it;q=0.1234, es;level=1, nl; q=1.000", {"nl"}}, {",,de ,", {"de"}},
      {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, de", {"de"}}};
  for (auto& row : kTable) BOOST_TEST(preferred_languages(row.field) == row.expected, row.field);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "de,";
  BOOST_TEST(preferred_languages(many).size() == 32u);
}

BOOST_AUTO_TEST_CASE(the_language_is_negotiated_page_by_page) {
  Directory files;
  files.write("de/ERR_ACCESS_DENIED", "verboten %U");
  files.write("fr/ERR_ACCESS_DENIED", "interdit");
  files.write("fr/ERR_DNS_FAIL", "nom inconnu");
  fs::create_directory_symlink("de", files.path / "de-at");
  ErrorPageSettings settings;
  settings.installed_directory = files.path;
  settings.error_default_language = "fr";
  ErrorPages pages = make(settings);
  ErrorFacts f;
  f.url = "http://<b>/";
  const struct { ErrorId id; std::string_view field, language, begins; } kTable[] = {
      {ErrorId::access_denied, "de", "de", "verboten http://&lt;b&gt;/"}, {ErrorId::access_denied, "de-AT,en", "de-at", "verboten"},
      {ErrorId::access_denied, "de-CH-1996", "de", "verboten"}, {ErrorId::access_denied, "it", "fr", "interdit"},
      {ErrorId::access_denied, "", "fr", "interdit"}, {ErrorId::access_denied, "en-GB, de;q=0.5", "en", "<!DOCTYPE"},
      {ErrorId::dns_fail, "de", "fr", "nom inconnu"}, {ErrorId::too_big, "de", "en", "<!DOCTYPE"}};
  for (auto& row : kTable) {
    ErrorReply reply = pages.render(row.id, f, row.field);
    BOOST_TEST(reply.language == row.language, row.field);
    BOOST_TEST(reply.body.starts_with(row.begins), row.field);
    BOOST_TEST(reply.negotiated);
  }
}

BOOST_AUTO_TEST_CASE(files_of_error_directory_win_and_own_names_work) {
  Directory files;
  files.write("ERR_ACCESS_DENIED", "ours");
  files.write("ERR_BLOCKED", "blocked by %h");
  files.write("de/ERR_BLOCKED", "gesperrt");
  ErrorPageSettings settings;
  settings.constants = constants();
  settings.error_directory = files.path;
  settings.own_pages = {"ERR_BLOCKED", "ERR_ABSENT", "../../etc/passwd", "ERR_BLOCKED"};
  std::vector<std::string> problems;
  ErrorPages pages(settings, problems);
  ErrorReply reply = pages.render(ErrorId::access_denied, {}, "de");
  BOOST_TEST(reply.body == "ours");
  BOOST_TEST(!reply.negotiated);
  BOOST_TEST(reply.field_lines().find("Language") == std::string::npos);
  ErrorId blocked = pages.find("ERR_BLOCKED");
  reply = pages.render(blocked, {}, "");
  BOOST_TEST(reply.body == "blocked by proxy.example");
  BOOST_TEST(reply.status == 403);
  BOOST_TEST(reply.squid_error == "ERR_BLOCKED 0");
  BOOST_TEST(pages.render(pages.find("ERR_ABSENT"), {}, "").body.find("not allowed") != std::string::npos);
  BOOST_TEST((pages.find("../../etc/passwd") == ErrorId::none));
  BOOST_TEST(problems.size() == 1u);

  settings.error_directory = files.path / "absent";
  settings.err_page_stylesheet = files.path / "absent.css";
  problems.clear();
  ErrorPages without(settings, problems);
  BOOST_TEST(problems.size() == 4u);
  BOOST_TEST(without.render(ErrorId::access_denied, {}, "de").language == "en");
}

BOOST_AUTO_TEST_CASE(deny_info_values) {
  const struct { std::string_view word; DenyInfo::Kind kind; int status; std::string_view value; } kTable[] = {
      {"ERR_BLOCKED", DenyInfo::Kind::page, 0, "ERR_BLOCKED"}, {"404:ERR_BLOCKED", DenyInfo::Kind::page, 404, "ERR_BLOCKED"},
      {"http://h/?u=%u", DenyInfo::Kind::redirect, 0, "http://h/?u=%u"}, {"301:https://%H%R", DenyInfo::Kind::redirect, 301, "https://%H%R"},
      {"TCP_RESET", DenyInfo::Kind::reset, 0, "TCP_RESET"}};
  for (auto& row : kTable) {
    DenyInfo info = parse_deny_info(row.word);
    BOOST_TEST((info.kind == row.kind), row.word);
    BOOST_TEST(info.status == row.status, row.word);
    BOOST_TEST(info.value == row.value, row.word);
  }
  ErrorPages pages = make({});
  ErrorFacts f;
  f.url = "http://h/a b\r\nX: y&<";
  f.host = "h";
  f.path = "/a\r\nSet-Cookie: x";
  BOOST_TEST(pages.location("http://block/?u=%u&m=%M&%%", f, ErrorId::access_denied) ==
             "http://block/?u=http%3A%2F%2Fh%2Fa%2520b%0D%0AX%3A%2520y%26%3C&m=&%");
  BOOST_TEST(pages.location("https://%H%R", f, ErrorId::access_denied) == "https://h/aSet-Cookie:x");
}

BOOST_AUTO_TEST_CASE(mail_data_is_percent_encoded) {
  PageConstants c = constants();
  c.email_data = true;
  ErrorFacts f;
  f.request_head = "GET /\"><script> HTTP/1.1\r\n";
  std::string out = fill("%W", f, c);
  BOOST_TEST(out.starts_with("?subject=CacheErrorInfo%20-%20ERR_X&amp;body=CacheHost%3A%20proxy.example%0D%0A"));
  BOOST_TEST(out.find_first_of("<>\"' \r\n") == std::string::npos);
}

// The translations that are installed: every file is a known page, keeps the codes of the built-in one's frame, and is chosen.
BOOST_AUTO_TEST_CASE(installed_translations) {
  const char* source = std::getenv("srcdir");
  ErrorPageSettings settings;
  settings.installed_directory = std::string(source ? source : ".") + "/etc/errors";
  settings.constants = constants();
  std::vector<std::string> problems;
  ErrorPages pages(settings, problems);
  BOOST_TEST(problems.empty());
  size_t found = 0;
  for (auto& entry : fs::recursive_directory_iterator(settings.installed_directory)) {
    if (!entry.is_regular_file()) continue;
    std::string language = entry.path().parent_path().filename();
    ErrorId id = pages.find(entry.path().filename().string());
    BOOST_REQUIRE((id != ErrorId::none));
    ErrorFacts f;
    f.url = "http://host.example/<x>";
    ErrorReply reply = pages.render(id, f, language + ",en;q=0.5");
    BOOST_TEST(reply.language == language);
    for (std::string_view part : {"<html lang=\"", "http://host.example/&lt;x&gt;", "proxy.example", "webmaster", "#titles {", "</html>"})
      BOOST_TEST(reply.body.find(part) != std::string::npos, entry.path() << " lacks " << part);
    ++found;
  }
  BOOST_TEST(found == 20u);
}
