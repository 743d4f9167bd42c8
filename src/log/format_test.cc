// Formats: every code, encodings, widths, errors with their place; the native
// line against lines of a real Squid's access.log and against the definition
// that describes it.
#define BOOST_TEST_DYN_LINK
#include "log/format.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "log/format_codes.h"

using namespace loligo;
using namespace loligo::log;

namespace {

struct Sample {
  const char* request_bytes =
      "GET http://www.example.com:8080/a/b?q=1 HTTP/1.1\r\nHost: www.example.com:8080\r\nUser-Agent: Agent/1.0 \"x\" (y)\r\n"
      "Cookie: a=1; session=42; b=2\r\nAccept: text/html\r\nAccept: text/plain\r\n\r\n";
  http::Head head;
  std::pair<std::string_view, std::string_view> notes[2] = {{"tag", "one"}, {"other", "two"}};
  Record record;
  Sample() {
    BOOST_REQUIRE(head.parse_request(request_bytes, strlen(request_bytes), {}) == http::ParseState::complete);
    Record& r = record;
    r.start_us = 1796031441'671'000 - 9'500;
    r.end_us = 1796031441'671'234;
    r.elapsed_us = 9'500;
    r.dns_us = 1'200, r.peer_us = 7'300, r.total_server_us = 8'400;
    r.client = *net::Address::parse("192.0.2.17", 40001);
    r.local = *net::Address::parse("192.0.2.1", 3128);
    r.user = "ann";
    r.method = "GET";
    r.url = "http://www.example.com:8080/a/b?q=1";
    r.client_url = "http://WWW.example.com:8080/a/b?q=1";
    r.scheme = "http", r.host = "www.example.com", r.path = "/a/b?q=1";
    r.url_port = 8080;
    r.request = &head, r.request_bytes = request_bytes;
    r.request_head_size = 200, r.request_total_size = 210;
    r.status = 200;
    r.reply_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A: 1\r\nx-a: 2\r\nCache-Control: public, max-age=60\r\n\r\n";
    r.content_type = "text/html; charset=utf-8";
    r.reply_head_size = 100, r.reply_total_size = 540;
    r.object_size = 440, r.high_offset = 441;
    r.tag = ResultTag::miss;
    r.hierarchy = HierarchyCode::direct;
    r.peer_host = "origin.example.com";
    r.server = *net::Address::parse("198.51.100.9", 80);
    r.server_local = *net::Address::parse("192.0.2.1", 50001);
    r.server_status = 203, r.server_body_size = 439, r.attempts = 2;
    r.err_code = "ERR_X", r.err_detail = "DETAIL";
    r.sequence = 77, r.transaction = 78;
    r.ext_tag = "et", r.ext_log = "ea", r.credentials = "cr";
    r.notes = notes;
    r.access_rule = "loligo.conf:12", r.reasons[0] = "miss.absent", r.reasons[2] = "not-stored.no-store";
    r.sni = "sni.example.com", r.tls_version = "TLSv1.3", r.tls_cipher = "AES";
    r.server_tls_version = "TLSv1.2", r.server_tls_cipher = "CHACHA";
    r.bump_mode = "none";
  }
};

std::string render(std::string_view definition, const Record& record, const RenderOptions& options = {}) {
  std::vector<FormatNote> notes;
  auto format = Format::compile(definition, notes);
  if (!format) return "error: " + notes.back().message;
  Buffer out;
  format->render(record, options, out);
  return std::string(out.view());
}

std::string native(const Record& record, const RenderOptions& options = {}) {
  Buffer out;
  Format::builtin("squid")->render(record, options, out);
  return std::string(out.view());
}

struct UtcZone {
  UtcZone() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(UtcZone);
BOOST_AUTO_TEST_SUITE(formats)

BOOST_AUTO_TEST_CASE(every_code) {
  struct Row { const char *definition, *expected; };
  const Row kRows[] = {
      {"%%", "%"}, {"100%% %rm", "100% GET"},
      {"%>a", "192.0.2.17"}, {"%>A", "192.0.2.17"}, {"%>p", "40001"}, {"%>la", "192.0.2.1"}, {"%>lp", "3128"}, {"%la:%lp", "192.0.2.1:3128"},
      {"%<a", "198.51.100.9"}, {"%<A", "origin.example.com"}, {"%<p", "80"}, {"%<la", "192.0.2.1"}, {"%<lp", "50001"}, {"%oa", "192.0.2.1"},
      {"%ts", "1796031441"}, {"%tu", "671"}, {"%03tu", "671"}, {"%.6tu", "671234"}, {"%.1tu", "6"},
      {"%tl", "30/Nov/2026:09:37:21 +0000"}, {"%{%Y-%m-%d}tl", "2026-11-30"}, {"%tl{%H:%M}", "09:37"}, {"%{%Y-%m-%d %H:%M:%S}tg.%03tu", "2026-11-30 09:37:21.671"},
      {"%{%nx}tg", "%0Ax"}, {"%tg", "30/Nov/2026:09:37:21 +0000"},
      {"%tr", "9"}, {"%6tr", "     9"}, {"%.3tr", "9.500"}, {"%dt", "1"}, {"%tS", "1796031441.661"}, {"%.6tS", "1796031441.661500"}, {"%<pt", "7"}, {"%<tt", "8"},
      {"%un", "ann"}, {"%[un", "ann"}, {"%ul", "-"}, {"%ue", "-"}, {"%us", "-"}, {"%ui", "-"}, {"%et", "et"}, {"%ea", "ea"}, {"%credentials", "cr"},
      {"%rm %>rm %<rm", "GET GET GET"}, {"%ru", "http://www.example.com:8080/a/b?"}, {"%>ru", "http://WWW.example.com:8080/a/b?"}, {"%<ru", "http://www.example.com:8080/a/b?"},
      {"%rp %>rp %<rp", "/a/b? /a/b? /a/b?"}, {"%rv %>rv %<rv %>v", "1.1 1.1 1.1 1.1"}, {"%rG", "-"},
      {"%rs %>rs %<rs", "http http http"}, {"%rd %>rd %<rd", "www.example.com www.example.com www.example.com"}, {"%rP %>rP %<rP", "8080 8080 8080"},
      {"%{Host}>h", "www.example.com:8080"}, {"%>h{HOST}", "www.example.com:8080"}, {"%http::>h{Host}", "www.example.com:8080"},
      {"%{Cookie:;session}>h", "42"}, {"%{Cookie:;none}>h", "-"}, {"%{Accept}>h", "text/html,%20text/plain"}, {"%{Accept:,text/plain}>h", "text/plain"},
      {"%>Hs", "200"}, {"%Hs", "200"}, {"%03Hs", "200"}, {"%<Hs", "203"}, {"%{X-A}<h", "1,%202"}, {"%{Cache-Control:max-age}<h", "60"}, {"%mt", "text/html"},
      {"%st %>st %<st %>sh %<sh", "750 210 540 200 100"}, {"%<bs %<sH %<sS", "439 441 440"},
      {"%Ss", "TCP_MISS"}, {"%Sh", "HIER_DIRECT"}, {"%Ss:%Sh", "TCP_MISS:HIER_DIRECT"}, {"%sn", "77"}, {"%err_code/%err_detail", "ERR_X/DETAIL"},
      {"%request_attempts", "2"}, {"%master_xaction", "78"}, {"%note{tag}", "one"}, {"%{other}note", "two"}, {"%'note", "tag: one,other: two"},
      {"%ssl::bump_mode %ssl::>sni %tls::>sni", "none sni.example.com sni.example.com"},
      {"%ssl::>negotiated_version %ssl::<negotiated_version", "TLSv1.3 TLSv1.2"}, {"%ssl::>negotiated_cipher %ssl::<negotiated_cipher", "AES CHACHA"},
      {"%loligo::access_rule %loligo::reason", "loligo.conf:12 miss.absent,not-stored.no-store"},
      {"%>eui %busy_time %icap::tr %6icap::tr|", "- - -      -|"},
      {"%snow", "77ow"}, {"%trx", "9x"},  // the longest name, then text
  };
  Sample sample;
  for (const Row& row : kRows) BOOST_TEST(render(row.definition, sample.record) == row.expected, row.definition << " gave " << render(row.definition, sample.record));
}

BOOST_AUTO_TEST_CASE(every_code_stands_in_an_empty_record) {
  Record empty;
  for (const Code& code : codes()) {
    std::string text = render("%" + std::string(code.name), empty);
    bool counts = code.kind != Kind::text;
    BOOST_TEST((text == "-" || counts || text == "NONE_NONE" || text == "HIER_NONE" || text == "1.1"), code.name << " gave " << text);
    BOOST_TEST(text.find("error") == text.npos, code.name << " gave " << text);
  }
}

BOOST_AUTO_TEST_CASE(every_support_grade_is_told) {
  for (const Code& code : codes()) {
    std::vector<FormatNote> notes;
    BOOST_TEST(Format::compile("%" + std::string(code.name), notes).has_value());
    BOOST_TEST(notes.size() == (code.support == Support::full ? 0u : 1u), code.name);
    if (!notes.empty()) BOOST_TEST(!notes[0].error);
  }
}

BOOST_AUTO_TEST_CASE(encodings) {
  struct Row { const char *definition, *expected; };
  const Row kRows[] = {
      {"%{User-Agent}>h", "Agent/1.0%20%22x%22%20(y)"},
      {"\"%{User-Agent}>h\"", "\"Agent/1.0 \\\"x\\\" (y)\""},
      {"%\"{User-Agent}>h", "Agent/1.0 \\\"x\\\" (y)"},
      {"[%{User-Agent}>h]", "[Agent/1.0 \"x\" (y)]"},
      {"%[{User-Agent}>h", "Agent/1.0 \"x\" (y)"},
      {"%#{User-Agent}>h", "Agent/1.0%20%22x%22%20(y)"},
      {"%/{User-Agent}>h", "\"Agent/1.0 \\\"x\\\" (y)\""},
      {"%'{User-Agent}>h", "Agent/1.0 \"x\" (y)"},
      {"%{Host}/%/rm", "error: unknown log format code '%/'"},
      {"%/rm", "GET"},
      {"[%>h]", "[Host: www.example.com:8080\\r\\nUser-Agent: Agent/1.0 \"x\" (y)\\r\\nCookie: a=1; session=42; b=2\\r\\nAccept: text/html\\r\\nAccept: text/plain\\r\\n]"},
      {"[%<h]", "[Content-Type: text/html\\r\\nX-A: 1\\r\\nx-a: 2\\r\\nCache-Control: public, max-age=60\\r\\n]"},
  };
  Sample sample;
  for (const Row& row : kRows) BOOST_TEST(render(row.definition, sample.record) == row.expected, row.definition << " gave " << render(row.definition, sample.record));
}

BOOST_AUTO_TEST_CASE(no_encoding_lets_a_line_be_broken) {
  std::string hostile;
  for (int c = 0; c < 256; ++c) hostile += char(c);
  Sample sample;
  Record& r = sample.record;
  r.url = r.client_url = r.method = r.user = r.host = r.path = r.content_type = r.err_detail = r.sni = r.peer_host = hostile;
  r.server = {};
  std::pair<std::string_view, std::string_view> notes[] = {{"n", hostile}};
  r.notes = notes;
  for (std::string encoding : {"", "\"", "[", "#", "/", "'"})
    for (const Code& code : codes()) {
      std::string text = render("%" + encoding + std::string(code.name), r, {.strip_query_terms = false});
      for (unsigned char c : text) BOOST_TEST_REQUIRE((c >= 0x20 && c != 0x7f), encoding << code.name << " lets " << int(c) << " through");
      if (encoding.empty() && code.kind == Kind::text) BOOST_TEST(text.find(' ') == text.npos, code.name);
    }
  r.client_url = {};
  std::string line = native(r, {.strip_query_terms = false});
  BOOST_TEST(std::count(line.begin(), line.end(), ' ') == 9 + 5);  // nine between columns, five of the elapsed time's padding
  for (unsigned char c : line) BOOST_TEST_REQUIRE((c >= 0x20 && c != 0x7f));
}

BOOST_AUTO_TEST_CASE(widths_and_precision) {
  struct Row { const char *definition, *expected; };
  const Row kRows[] = {
      {"%8rm|", "     GET|"}, {"%-8rm|", "GET     |"}, {"%08rm|", "     GET|"}, {"%.2rm|", "GE|"}, {"%-4.2rm|", "GE  |"}, {"%2rm|", "GET|"},
      {"%08sn|", "00000077|"}, {"%-8sn|", "77      |"}, {"%1sn", "77"}, {"%8ul|", "       -|"}, {"%08ul|", "       -|"},
  };
  Sample sample;
  for (const Row& row : kRows) BOOST_TEST(render(row.definition, sample.record) == row.expected);
  Record nothing;
  BOOST_TEST(render("%03>Hs %03tu", nothing) == "000 000");
}

BOOST_AUTO_TEST_CASE(errors_have_a_place) {
  struct Row { const char* definition; size_t offset; };
  const Row kRows[] = {{"%rm %zz", 4}, {"%", 0}, {"%rm %", 4}, {"%{Host>h", 1}, {"abc %99999rm", 5}, {"%.rm", 2}, {"%{x}", 0}, {"%-\"rm", 0}, {"a\nb", 1}};
  for (const Row& row : kRows) {
    std::vector<FormatNote> notes;
    BOOST_TEST(!Format::compile(row.definition, notes).has_value(), row.definition);
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST(notes[0].error);
    BOOST_TEST(notes[0].offset == row.offset, row.definition << ": " << notes[0].message << " at " << notes[0].offset);
  }
  std::string many;
  for (int i = 0; i < 300; ++i) many += "%rm ";
  std::vector<FormatNote> notes;
  BOOST_TEST(!Format::compile(many, notes).has_value());
}

BOOST_AUTO_TEST_CASE(options_of_rendering) {
  Sample sample;
  Record& r = sample.record;
  BOOST_TEST(render("%ru", r, {.strip_query_terms = false}) == "http://www.example.com:8080/a/b?q=1");
  r.tag = ResultTag::udp_hit;
  BOOST_TEST(render("%ru", r) == "http://www.example.com:8080/a/b?q=1");
  BOOST_TEST(render("%>a", r, {.client_netmask = *net::Address::parse("255.255.255.0")}) == "192.0.2.0");
  r.client = *net::Address::parse("2001:db8::17");
  BOOST_TEST(render("%>a", r, {.client_netmask = *net::Address::parse("255.255.255.0")}) == "2001:db8::17");
  BOOST_TEST(render("%>a", r, {.client_netmask = *net::Address::parse("ffff:ffff::")}) == "2001:db8::");
  std::string line = native(r, {.log_mime_hdrs = true});
  BOOST_TEST(line.ends_with("Cache-Control: public, max-age=60\\r\\n]"));
  BOOST_TEST(line.find("text/html [Host: www.example.com:8080\\r\\nUser-Agent:") != line.npos);
  BOOST_TEST(line.find("] [HTTP/1.1 200 OK\\r\\nContent-Type") != line.npos);
  Record nothing;
  BOOST_TEST(native(nothing, {.log_mime_hdrs = true}).ends_with("- [-] [-]"));
}

BOOST_AUTO_TEST_CASE(marks_on_result_tags) {
  Record r;
  r.tag = ResultTag::miss;
  r.collapsed = true;
  BOOST_TEST(render("%Ss", r) == "TCP_CF_MISS");
  r.aborted = r.timed_out = r.ignored = true;
  BOOST_TEST(render("%Ss", r) == "TCP_CF_MISS_IGNORED_TIMEDOUT_ABORTED");
  r.hierarchy = HierarchyCode::firstup_parent;
  r.hierarchy_timeout = true;
  BOOST_TEST(render("%Sh", r) == "TIMEOUT_FIRSTUP_PARENT");
  BOOST_TEST(is_hit(ResultTag::mem_hit));
  BOOST_TEST(!is_hit(ResultTag::miss));
  BOOST_TEST(text(ResultTag::none) == "NONE_NONE");
}

BOOST_AUTO_TEST_CASE(builtin_formats) {
  Sample sample;
  auto line = [&](const char* name) {
    Buffer out;
    Format::builtin(name)->render(sample.record, {}, out);
    return std::string(out.view());
  };
  BOOST_TEST(line("squid") == "1796031441.671      9 192.0.2.17 TCP_MISS/200 540 GET http://www.example.com:8080/a/b? ann HIER_DIRECT/198.51.100.9 text/html");
  BOOST_TEST(line("common") == "192.0.2.17 - ann [30/Nov/2026:09:37:21 +0000] \"GET http://www.example.com:8080/a/b? HTTP/1.1\" 200 540 TCP_MISS:HIER_DIRECT");
  BOOST_TEST(line("combined") == "192.0.2.17 - ann [30/Nov/2026:09:37:21 +0000] \"GET http://www.example.com:8080/a/b? HTTP/1.1\" 200 540 \"-\" \"Agent/1.0 \\\"x\\\" (y)\" TCP_MISS:HIER_DIRECT");
  BOOST_TEST(line("referrer") == "1796031441.671 192.0.2.17 - http://www.example.com:8080/a/b?");
  BOOST_TEST(line("useragent") == "192.0.2.17 [30/Nov/2026:09:37:21 +0000] \"Agent/1.0 \\\"x\\\" (y)\"");
  BOOST_TEST(!Format::builtin("nonesuch").has_value());
}

// A date is kept for its second and made anew for another, forth and back.
BOOST_AUTO_TEST_CASE(dates_follow_the_record) {
  std::vector<FormatNote> notes;
  auto format = Format::compile("%{%H:%M:%S}tg", notes);
  Record r;
  for (auto [second, expected] : {std::pair{0, "00:00:00"}, {1, "00:00:01"}, {1, "00:00:01"}, {3661, "01:01:01"}, {0, "00:00:00"}}) {
    Buffer out;
    r.end_us = second * 1'000'000LL;
    format->render(r, {}, out);
    BOOST_TEST(out.view() == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_line_has_an_end) {
  std::string long_value(400'000, 'x');
  Record r;
  r.url = long_value;
  std::string text = render("%ru %ru %ru %ru %ru", r);
  BOOST_TEST(text.size() == Format::kMaxLineBytes);
}

namespace {

struct NativeCase {
  const char* line;  // from a real Squid
  ResultTag tag;
  HierarchyCode hierarchy;
  void (*more)(Record&) = nullptr;
};
const NativeCase kSquidLines[] = {
    {"1796031437.450      0 127.0.0.1 NONE_NONE/000 0 - error:transaction-end-before-headers - HIER_NONE/- -", ResultTag::none, HierarchyCode::none},
    {"1796031438.471     19 127.0.0.1 TCP_MISS/200 632 GET http://origin.lab:25001/peer/warm - FIRST_PARENT_MISS/127.0.1.13 text/plain", ResultTag::miss, HierarchyCode::first_parent_miss},
    {"1796031441.509      7 127.0.0.1 TCP_MISS/200 639 GET http://origin.lab:25001/dg/s1 - CD_SIBLING_HIT/127.0.1.12 text/plain", ResultTag::miss, HierarchyCode::cd_sibling_hit},
    {"1796031441.673      0 127.0.0.1 TCP_MEM_HIT/200 546 GET http://origin.lab:25001/cacheable/a.html - HIER_NONE/- text/html", ResultTag::mem_hit, HierarchyCode::none},
    {"1796031441.684     11 127.0.0.1 TCP_MISS/200 60343 GET http://origin.lab:25001/cacheable/big? - HIER_DIRECT/127.0.1.9 text/plain", ResultTag::miss, HierarchyCode::direct},
    {"1796031441.687      1 127.0.0.1 TCP_HIT/200 60349 GET http://origin.lab:25001/cacheable/big? - HIER_NONE/- text/plain", ResultTag::hit, HierarchyCode::none},
    {"1796031441.688      0 127.0.0.1 TCP_IMS_HIT/304 292 GET http://origin.lab:25001/cacheable/a.html - HIER_NONE/- text/html", ResultTag::ims_hit, HierarchyCode::none},
    {"1796031441.690      0 127.0.0.1 TCP_INM_HIT/304 292 GET http://origin.lab:25001/cacheable/a.html - HIER_NONE/- text/html", ResultTag::inm_hit, HierarchyCode::none},
    {"1796031441.738      4 127.0.0.1 TCP_REFRESH_UNMODIFIED/200 546 GET http://origin.lab:25001/cacheable/a.html - HIER_DIRECT/127.0.1.9 text/html", ResultTag::refresh_unmodified, HierarchyCode::direct},
    {"1796031444.325     43 127.0.0.1 TCP_REFRESH_MODIFIED/200 544 GET http://origin.lab:25001/changed/u - HIER_DIRECT/127.0.1.9 text/plain", ResultTag::refresh_modified, HierarchyCode::direct},
    {"1796031444.374     44 127.0.0.1 TCP_REFRESH_FAIL_ERR/500 556 GET http://origin.lab:25001/err500/u - HIER_DIRECT/127.0.1.9 text/plain", ResultTag::refresh_fail_err, HierarchyCode::direct},
    {"1796031444.375      1 127.0.0.1 TCP_NEGATIVE_HIT/404 554 GET http://origin.lab:25001/gone/u - HIER_NONE/- text/plain", ResultTag::negative_hit, HierarchyCode::none},
    {"1796031446.772      0 127.0.0.1 TCP_DENIED/403 3423 GET http://blocked.lab/ - HIER_NONE/- text/html", ResultTag::denied, HierarchyCode::none},
    {"1796031451.789   5009 127.0.0.1 TCP_MISS/502 3418 GET http://nosuch.invalid/ - HIER_NONE/- text/html", ResultTag::miss, HierarchyCode::none},
    {"1796031461.710    843 127.0.0.1 TCP_CF_MISS/200 540 GET http://origin.lab:25001/slow1/cf - HIER_NONE/- text/plain", ResultTag::miss, HierarchyCode::none, [](Record& r) { r.collapsed = true; }},
    {"1796031462.242    501 127.0.0.1 TCP_MISS_ABORTED/000 0 GET http://origin.lab:25001/slow2/abort - HIER_DIRECT/127.0.1.9 -", ResultTag::miss, HierarchyCode::direct, [](Record& r) { r.aborted = true; }},
    {"1796031462.247      4 127.0.0.1 TCP_TUNNEL/200 261 CONNECT origin.lab:25002 - HIER_DIRECT/127.0.1.9 -", ResultTag::tunnel, HierarchyCode::direct},
    {"1796031462.251      0 127.0.0.1 NONE_NONE/400 3392 GARBAGE error:invalid-request - HIER_NONE/- text/html", ResultTag::none, HierarchyCode::none},
    {"1796031465.267      3 127.0.0.1 TCP_MISS_ABORTED/200 336 GET http://origin.lab:25001/%20sp\"quote<>|\\^` - HIER_DIRECT/127.0.1.9 text/plain", ResultTag::miss, HierarchyCode::direct, [](Record& r) { r.aborted = true; }},
    {"1796031465.269      1 127.0.0.1 TCP_MISS_ABORTED/200 336 GET http://origin.lab:25001/caf\xc3\xa9 - HIER_DIRECT/127.0.1.9 text/plain", ResultTag::miss, HierarchyCode::direct, [](Record& r) { r.aborted = true; }},
    {"1796031465.291      0 127.0.1.77 UDP_HIT/000 69 ICP_QUERY http://origin.lab:25001/cacheable/big?size=60000 - HIER_NONE/- -", ResultTag::udp_hit, HierarchyCode::none},
    {"1796030414.048     15 127.0.0.1 TCP_MISS/200 652 GET http://origin.lab:25001/cacheable/none1.html - TIMEOUT_FIRSTUP_PARENT/127.0.1.3 text/html", ResultTag::miss, HierarchyCode::firstup_parent, [](Record& r) { r.hierarchy_timeout = true; }},
    {"1796030414.689      0 127.0.1.77 UDP_INVALID/000 21 ICP_QUERY - - HIER_NONE/- -", ResultTag::udp_invalid, HierarchyCode::none},
};

// The record that must give this line: columns as Squid wrote them, the query (if any) with something behind the '?'.
struct Columns {
  std::vector<std::string> words;
  std::string url;
  explicit Columns(std::string_view line) {
    while (!line.empty()) {
      size_t start = std::min(line.find_first_not_of(' '), line.size());
      line.remove_prefix(start);
      size_t end = std::min(line.find(' '), line.size());
      words.emplace_back(line.substr(0, end));
      line.remove_prefix(end);
    }
    url = words[6] == "-" ? "" : words[6];
    if (url.ends_with('?')) url += "size=60000&x= y";
  }
  Record record(const NativeCase& c) const {
    auto or_empty = [](const std::string& s) { return s == "-" ? std::string_view() : std::string_view(s); };
    Record r;
    r.end_us = std::stoll(words[0].substr(0, 10)) * 1'000'000 + std::stoll(words[0].substr(11)) * 1000 + 999;
    r.elapsed_us = std::stoll(words[1]) * 1000 + 1;
    r.client = *net::Address::parse(words[2], 1234);
    r.tag = c.tag;
    r.status = std::stoi(words[3].substr(words[3].find('/') + 1));
    r.reply_total_size = std::stoull(words[4]);
    r.method = or_empty(words[5]);
    r.url = url;
    r.hierarchy = c.hierarchy;
    std::string peer = words[8].substr(words[8].find('/') + 1);
    if (peer != "-") r.server = *net::Address::parse(peer, 80);
    r.content_type = or_empty(words[9]);
    if (c.more) c.more(r);
    return r;
  }
};

}  // namespace

// Bytes are looked at eight at a time; each stands for itself all the same, wherever it stands.
BOOST_AUTO_TEST_CASE(encodings_byte_by_byte) {
  auto encoded = [](Encoding encoding, const std::string& text) {
    std::string out(kGrowth * text.size() + kExtra, '\0');
    out.resize(size_t(encode(encoding, text, out.data()) - out.data()));
    return out;
  };
  for (Encoding encoding : {Encoding::token, Encoding::url, Encoding::quoted, Encoding::mime, Encoding::mime_token, Encoding::percent, Encoding::raw, Encoding::event})
    for (int byte = 0; byte < 256; ++byte) {
      const std::string single = encoded(encoding, std::string(1, char(byte)));
      for (size_t length : {7, 8, 9, 17})
        for (size_t at = 0; at < length; ++at) {
          std::string text(length, 'x');
          text[at] = char(byte);
          BOOST_TEST_REQUIRE(encoded(encoding, text) == std::string(at, 'x') + single + std::string(length - at - 1, 'x'), byte << " at " << at);
        }
    }
}

// What a native line keeps for the next one never shows in a line where it does not belong.
BOOST_AUTO_TEST_CASE(native_lines_one_after_the_other) {
  Sample sample;
  Record& r = sample.record;
  auto format = *Format::builtin("squid");
  for (int64_t time : std::initializer_list<int64_t>{999'999, 1'000'000, 1'999'999, 1'000'001, 1'700'000'000'123'456, 0})
    for (const char* client : {"192.0.2.17", "192.0.2.18", "2001:db8::17", "192.0.2.17"})
      for (int64_t elapsed : {-1, 0, 9'999, 10'000, 99'000, 1'234'567'000})
        for (int status : {0, 99, 200, 999}) {
          r.end_us = time, r.elapsed_us = elapsed, r.status = status;
          r.client = *net::Address::parse(client);
          Buffer line;
          format.render(r, {}, line);
          BOOST_TEST_REQUIRE(line.view() == render("%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt", r));
        }
}

BOOST_AUTO_TEST_CASE(native_lines_of_a_real_squid) {
  for (const NativeCase& c : kSquidLines) {
    Columns columns(c.line);
    Record record = columns.record(c);
    BOOST_TEST(native(record) == c.line);
    BOOST_TEST(render(Format::builtin_definition("squid"), record) == c.line);
  }
}

namespace {

// Tag and hierarchy as text, back into a record.
bool read_codes(std::string_view tag, std::string_view hierarchy, Record& r) {
  auto take_end = [&tag](std::string_view mark) {
    bool there = tag.ends_with(mark);
    if (there) tag.remove_suffix(mark.size());
    return there;
  };
  r.aborted = take_end("_ABORTED");
  r.timed_out = take_end("_TIMEDOUT");
  std::string plain(tag);
  r.collapsed = plain.starts_with("TCP_CF_");
  if (r.collapsed) plain.erase(4, 3);
  r.hierarchy_timeout = hierarchy.starts_with("TIMEOUT_");
  if (r.hierarchy_timeout) hierarchy.remove_prefix(8);
  bool tag_found = false, hierarchy_found = false;
  for (unsigned i = 0; i <= unsigned(ResultTag::udp_miss_nofetch); ++i)
    if (text(ResultTag(i)) == plain) r.tag = ResultTag(i), tag_found = true;
  for (unsigned i = 0; i <= unsigned(HierarchyCode::standby_pool); ++i)
    if (text(HierarchyCode(i)) == hierarchy) r.hierarchy = HierarchyCode(i), hierarchy_found = true;
  return tag_found && hierarchy_found;
}

}  // namespace

// Whole logs of real Squids, line by line.
BOOST_AUTO_TEST_CASE(native_logs_of_real_squids) {
  const char* source = std::getenv("srcdir");
  std::string directory = std::string(source ? source : ".") + "/test-suite/manager/accesslog/";
  size_t lines = 0;
  for (const char* name : {"ka.lab.access.log", "kp.lab.access.log", "ks.lab.access.log"}) {
    std::ifstream in(directory + name);
    for (std::string line; std::getline(in, line); ++lines) {
      Columns columns(line);
      BOOST_REQUIRE(columns.words.size() == 10u);
      Record record = columns.record({});
      BOOST_TEST_REQUIRE(read_codes(columns.words[3].substr(0, columns.words[3].find('/')), columns.words[8].substr(0, columns.words[8].find('/')), record), line);
      BOOST_TEST(native(record) == line);
      BOOST_TEST(render(Format::builtin_definition("squid"), record) == line);
    }
  }
  if (lines == 0) BOOST_TEST_MESSAGE("skipped: no logs in " << directory);
}

BOOST_AUTO_TEST_CASE(numbers_at_their_edges) {
  auto number = [](int64_t value) {
    char out[32];
    return std::string(out, write_number(value, out));
  };
  for (int64_t power = 1; power <= 100'000'000'000'000'000; power *= 10)
    for (int64_t value : {power - 1, power, power + 1, -power, 9 * power}) BOOST_TEST(number(value) == std::to_string(value));
  BOOST_TEST(number(INT64_MIN) == std::to_string(INT64_MIN));
  BOOST_TEST(number(INT64_MAX) == std::to_string(INT64_MAX));
  char out[32];
  BOOST_TEST(std::string(out, write_padded(UINT64_MAX, 1, out)) == std::to_string(UINT64_MAX));
  BOOST_TEST(std::string(out, write_padded(7, 4, out)) == "0007");
}

BOOST_AUTO_TEST_SUITE_END()
