#include "client/error_page_template.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <ctime>
#include <iterator>

#include "base/text.h"

namespace loligo::client {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kRuleToken = "@Loligo{rule}";
constexpr char kRuleCode = 1;                              // no template can spell it after a percent sign: see code_row()
constexpr std::string_view kSignature = "\n<hr>\n<div id=\"footer\">\n<p>%T, %h (%s)</p>\n</div>\n</body></html>\n";

struct Context {
  const ErrorFacts& facts;
  const PageConstants& constants;
  std::string_view name;
};

// --- Values: each writes the plain value of one code.

// Userinfo may hold a password: it never appears on a page.
std::string without_userinfo(std::string_view url) {
  size_t authority = url.find("://");
  if (authority == url.npos) return std::string(url);
  authority += 3;
  size_t end = std::min(url.find_first_of("/?#", authority), url.size());
  size_t at = url.substr(0, end).rfind('@');
  if (at == url.npos || at < authority) return std::string(url);
  return std::string(url.substr(0, authority)).append(url.substr(at + 1));
}

std::string url_value(const Context& c) {
  std::string out;
  for (char ch : without_userinfo(c.facts.url))
    if (ch == ' ') out += "%20"; else out += ch;   // an unquoted attribute would end at a blank
  return out;
}

std::string date_value(base::WallSeconds now, bool utc) {
  std::tm parts{};
  time_t seconds = now;
  char text[64];
  if (utc) gmtime_r(&seconds, &parts); else localtime_r(&seconds, &parts);
  return {text, strftime(text, sizeof text, utc ? "%a, %d %b %Y %H:%M:%S GMT" : "%a, %d %b %Y %H:%M:%S %z", &parts)};
}

std::string system_error(int number) {
  char buffer[128];
  return strerror_r(number, buffer, sizeof buffer);   // the GNU form: thread-safe
}

std::string number(unsigned value) { return value ? std::to_string(value) : std::string(); }

void append_percent_encoded(std::string& out, std::string_view value) {
  for (unsigned char ch : value) {
    bool plain = base::is_digit(char(ch)) || (base::ascii_lower(char(ch)) >= 'a' && base::ascii_lower(char(ch)) <= 'z') ||
                 ch == '-' || ch == '_' || ch == '.' || ch == '~';
    if (plain) out += char(ch); else fmt::format_to(std::back_inserter(out), "%{:02X}", ch);
  }
}

// The part of a mailto: link that tells the administrator what happened.
std::string mail_data(const Context& c) {
  if (!c.constants.email_data) return {};
  std::string body = fmt::format("CacheHost: {}\r\nErrPage: {}\r\nErr: {}\r\nTimeStamp: {}\r\nClientIP: {}\r\nServerIP: {}\r\n"
                                 "HTTP Request:\r\n", c.constants.hostname, c.name,
                                 c.facts.error_number ? system_error(c.facts.error_number) : "[none]",
                                 date_value(c.facts.now, true), c.facts.client_address, c.facts.server_address);
  body.append(c.facts.request_head.substr(0, kMaxValue));
  std::string out = "?subject=";
  append_percent_encoded(out, fmt::format("CacheErrorInfo - {}", c.name));
  out += "&amp;body=";
  append_percent_encoded(out, body);
  return out;
}

std::string signature(const Context& c) { return PageTemplate(kSignature).fill(c.facts, c.constants, c.name); }

std::string rule_value(const Context& c) {
  if (!c.constants.show_rule || c.facts.rule.empty()) return {};
  std::string out = "<p id=\"rule\"><code>";
  append_escaped(out, c.facts.rule.substr(0, kMaxValue));
  return out += "</code></p>";
}

enum Kind : unsigned char { text, url, dump, markup };   // markup is composed or the administrator's: not escaped

struct CodeRow {
  char code;
  Kind kind;
  std::string_view missing;   // what stands for an empty value; some templates compare with these words
  std::string (*value)(const Context&);
};

std::string from(std::string_view s) { return std::string(s); }

constexpr CodeRow kCodes[] = {
    {'a', text, "-", [](const Context& c) { return from(c.facts.user); }},
    {'A', text, "[unknown]", [](const Context& c) { return from(c.facts.listening_address); }},
    {'b', text, "[unknown port]", [](const Context& c) { return number(c.facts.listening_port); }},
    {'B', url, "[no URL]", url_value},
    {'c', text, "", [](const Context& c) { return from(c.name); }},
    {'d', text, "0", [](const Context& c) {
       return fmt::format("{}.{:03}", c.facts.elapsed_ms / 1000, c.facts.elapsed_ms % 1000); }},
    {'D', text, "[No Error Detail]", [](const Context& c) { return from(c.facts.detail); }},
    {'e', text, "0", [](const Context& c) { return std::to_string(c.facts.error_number); }},
    {'E', text, "[No Error]", [](const Context& c) {
       return c.facts.error_number ? fmt::format("({}) {}", c.facts.error_number, system_error(c.facts.error_number)) : std::string(); }},
    {'f', text, "[not available]", [](const Context&) { return std::string(); }},   // FTP is not spoken here
    {'F', text, "[not available]", [](const Context&) { return std::string(); }},
    {'g', text, "[not available]", [](const Context&) { return std::string(); }},
    {'h', text, "[unknown host]", [](const Context& c) { return c.constants.hostname; }},
    {'H', text, "[unknown host]", [](const Context& c) { return from(c.facts.host); }},
    {'i', text, "[unknown]", [](const Context& c) { return from(c.facts.client_address); }},
    {'I', text, "[unknown]", [](const Context& c) { return from(c.facts.server_address); }},
    {'l', markup, "", [](const Context& c) { return c.constants.stylesheet; }},
    {'L', markup, "", [](const Context& c) { return c.constants.contact; }},
    {'m', text, "[not available]", [](const Context& c) { return from(c.facts.auth_message); }},
    {'M', text, "[unknown method]", [](const Context& c) { return from(c.facts.method); }},
    {'o', text, "[not available]", [](const Context& c) { return from(c.facts.acl_message); }},
    {'O', text, "[not available]", [](const Context& c) { return from(c.facts.acl_message); }},
    {'p', text, "[unknown port]", [](const Context& c) { return number(c.facts.port); }},
    {'P', text, "[unknown protocol]", [](const Context& c) { return from(c.facts.scheme); }},
    {'R', dump, "[no request]", [](const Context& c) { return from(c.facts.request_head.substr(0, kMaxDump)); }},
    {'s', text, "", [](const Context& c) { return c.constants.software; }},
    {'S', markup, "", signature},
    {'t', text, "", [](const Context& c) { return date_value(c.facts.now, false); }},
    {'T', text, "", [](const Context& c) { return date_value(c.facts.now, true); }},
    {'u', url, "[no URL]", url_value},
    {'U', url, "[no URL]", url_value},
    {'w', text, "[unknown]", [](const Context& c) { return c.constants.administrator; }},
    {'W', markup, "", mail_data},
    {'x', text, "[No Error]", [](const Context& c) { return from(c.facts.tls_error); }},
    {'z', text, "[unknown]", [](const Context& c) { return from(c.facts.dns_message); }},
    {'Z', text, "", [](const Context& c) { return from(c.facts.text); }},
    {kRuleCode, markup, "", rule_value},
};

const CodeRow* code_row(char code) {
  for (const CodeRow& row : kCodes)
    if (row.code == code) return &row;
  return nullptr;
}

// A page must not offer a link that runs a script: `GET javascript:...` is answered with a page that shows its target.
bool safe_link(std::string_view url) {
  for (std::string_view scheme : {"http://", "https://", "ftp://", "urn:", "cache_object://"})
    if (base::istarts_with(url, scheme)) return true;
  return url.find(':') == url.npos || url.front() == '/';
}

// Length of the well-formed UTF-8 sequence at the start of `s`, or 0.
size_t utf8_length(std::string_view s) {
  auto lead = (unsigned char)s[0];
  size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (length == 0 || s.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if (((unsigned char)s[i] & 0xC0) != 0x80) return 0;
  auto second = length > 1 ? (unsigned char)s[1] : 0;
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||   // overlong; surrogates
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

bool ends_in_attribute(std::string_view text) {
  return text.ends_with("=\"") || text.ends_with("='") || text.ends_with("=");
}

}  // namespace

void append_escaped(std::string& out, std::string_view value, bool lines) {
  for (size_t i = 0; i < value.size();) {
    char ch = value[i];
    switch (ch) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '`': out += "&#96;"; break;
      case '\\': out += "&#92;"; break;   // would escape the closing quote of a script string
      default: {
        size_t length = utf8_length(value.substr(i));
        bool control = (unsigned char)ch < 0x20 || ch == 0x7f;
        if (lines && (ch == '\n' || ch == '\t')) out += ch;
        else if (lines && ch == '\r' && i + 1 < value.size() && value[i + 1] == '\n') {}
        else if (control || length == 0) out += kReplacement;
        else {
          out.append(value.substr(i, length));
          i += length;
          continue;
        }
      }
    }
    ++i;
  }
}

PageTemplate::PageTemplate(std::string_view source) {
  source = source.substr(0, kMaxTemplate);
  std::string literal;
  auto add_code = [&](char code) {
    bool attribute = ends_in_attribute(literal);
    if (!literal.empty()) pieces_.push_back({std::move(literal)});
    literal.clear();
    pieces_.push_back({{}, code, attribute});
  };
  for (size_t i = 0; i < source.size();) {
    if (source.substr(i).starts_with(kRuleToken)) {
      add_code(kRuleCode);
      i += kRuleToken.size();
    } else if (source[i] == '%' && i + 1 < source.size()) {
      char code = source[i + 1];
      if (code == '%') literal += '%';
      else if (code > ' ' && code_row(code)) add_code(code);
      else literal.append({'%', code});
      i += 2;
    } else {
      literal += source[i++];
    }
  }
  if (!literal.empty()) pieces_.push_back({std::move(literal)});
}

std::string PageTemplate::fill(const ErrorFacts& facts, const PageConstants& constants, std::string_view name) const {
  Context context{facts, constants, name};
  std::string out, piece_text;
  for (const Piece& piece : pieces_) {
    piece_text.clear();
    if (piece.code == 0) {
      piece_text = piece.text;
    } else {
      const CodeRow& row = *code_row(piece.code);
      std::string value = row.value(context);
      bool bad_link = row.kind == url && piece.begins_attribute && (value.empty() || !safe_link(value));
      if (bad_link) value = "#";
      if (value.empty()) value = row.missing;
      if (row.kind == markup) piece_text = std::move(value);
      else append_escaped(piece_text, std::string_view(value).substr(0, row.kind == dump ? kMaxDump : kMaxValue), row.kind == dump);
    }
    if (out.size() + piece_text.size() > kMaxPage) break;
    out += piece_text;
  }
  return out;
}

std::string PageTemplate::fill_location(const ErrorFacts& facts, const PageConstants& constants, std::string_view name) const {
  Context context{facts, constants, name};
  std::string out;
  auto append_plain = [&out](std::string_view text) {   // less what cannot stand in a field value
    for (unsigned char ch : text)
      if (ch > 0x20 && ch != 0x7f) out += char(ch);
  };
  for (const Piece& piece : pieces_) {
    const CodeRow* row = piece.code ? code_row(piece.code) : nullptr;
    if (!row) append_plain(piece.text);
    else if (row->kind == dump) append_plain(facts.path.substr(0, kMaxValue));
    else if (row->kind != markup) append_percent_encoded(out, std::string_view(row->value(context)).substr(0, kMaxValue));
    if (out.size() > kMaxDump) break;
  }
  return out;
}

}  // namespace loligo::client
