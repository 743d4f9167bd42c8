#include "config/words.h"

#include <algorithm>

#include "base/text.h"

namespace loligo::config {
namespace {

constexpr int kListNesting = 16;
constexpr std::string_view kRegexAclTypes[] = {"browser", "req_header", "rep_header", "req_mime_type", "rep_mime_type", "urllogin"};

constexpr bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || base::is_digit(c); }
constexpr bool is_quote(char c) { return c == '"' || c == '\''; }

class Splitter {
 public:
  Splitter(const LogicalLine& line, size_t start, SplitContext& context, Statement& statement)
      : line_(line), text_(line.text), pos_(start), context_(context), out_(statement) {}

  void all(WordStyle style) {
    if (style == WordStyle::line) return to_end();
    bool regex = style == WordStyle::regex;
    bool lists = style == WordStyle::rule;
    while (more()) {
      if (style == WordStyle::acl) {
        lists = out_.words.size() >= 2;
        regex = lists && is_regex_acl_type(out_.words[1].text);
      }
      if (context_.quoted_values) strict(regex);
      else if (lists && is_quote(text_[pos_])) list_file();
      else if (regex) regex_word();
      else if (style == WordStyle::quoted) string_or_plain();
      else plain_word();
    }
  }

 private:
  // Skips blanks; false at the end or at a comment.
  bool more() {
    while (pos_ < text_.size() && is_blank(text_[pos_])) ++pos_;
    return pos_ < text_.size() && text_[pos_] != '#';
  }
  Place place(size_t offset) const {
    LogicalLine::Position p = line_.at(offset);
    return {out_.place.file, p.line, p.column};
  }
  void add(size_t offset, std::string text, bool quoted) {
    LogicalLine::Position p = line_.at(offset);
    out_.words.push_back({std::move(text), p.column, p.line, 0, quoted});
  }
  std::string take_plain() {
    size_t start = pos_;
    while (pos_ < text_.size() && !is_blank(text_[pos_])) ++pos_;
    return std::string(text_.substr(start, pos_ - start));
  }

  // The place is taken before the word: arguments of a call have no order.
  void plain_word() {
    size_t start = pos_;
    std::string word = take_plain();
    add(start, std::move(word), false);
  }

  void to_end() {
    if (!more()) return;
    size_t start = pos_;
    if (is_quote(text_[pos_])) return add(start, take_string(), true);
    pos_ = text_.size();
    add(start, std::string(text_.substr(start)), false);
  }

  // A backslash keeps itself and the next character, which may be a blank.
  void regex_word() {
    size_t start = pos_;
    while (pos_ < text_.size() && !is_blank(text_[pos_])) {
      if (text_[pos_] == '\\') {
        if (pos_ + 1 == text_.size()) context_.problems.error(place(pos_), "a regular expression ends with a backslash", "remove it, or write \\\\");
        else ++pos_;
      }
      ++pos_;
    }
    add(start, std::string(text_.substr(start, pos_ - start)), false);
  }

  // A quoted string at pos_, escapes resolved.
  std::string take_string() {
    size_t start = pos_;
    char quote = text_[pos_++];
    std::string value;
    while (pos_ < text_.size() && text_[pos_] != quote) {
      char c = text_[pos_++];
      if (c == '\\' && pos_ < text_.size()) c = escape(text_[pos_++]);
      value += c;
    }
    if (pos_ == text_.size()) {
      context_.problems.error(place(start), "this quote is not closed", "close it on the same line");
      return value;
    }
    ++pos_;
    if (pos_ < text_.size() && !is_blank(text_[pos_]) && text_[pos_] != '(' && text_[pos_] != ')' && text_[pos_] != '#')
      context_.problems.error(place(pos_), "text right behind a closing quote", "put a blank between");
    return value;
  }
  char escape(char c) {
    if (c == 'n') return '\n';
    if (c == 'r') return '\r';
    if (c == 't') return '\t';
    if (is_alnum(c)) context_.problems.error(place(pos_ - 2), std::string("unknown escape \\") + c, "only \\n, \\r, \\t and signs may follow a backslash");
    return c;
  }

  // "string", key="string" or a plain word.
  void string_or_plain() {
    size_t start = pos_;
    if (is_quote(text_[pos_])) {
      std::string value = take_string();
      return add(start, std::move(value), true);
    }
    std::string value;
    while (pos_ < text_.size() && !is_blank(text_[pos_])) {
      value += text_[pos_++];
      if (value.back() == '=' && std::count(value.begin(), value.end(), '=') == 1 && pos_ < text_.size() && is_quote(text_[pos_])) {
        value += take_string();
        break;
      }
    }
    add(start, std::move(value), false);
  }

  // The word ends at a blank, so a path with blanks cannot be written (nor can it in Squid).
  void list_file() {
    size_t start = pos_;
    std::string word = take_plain();
    std::string path = word.substr(1);
    if (path.size() > 0 && path.back() == word[0]) path.pop_back();
    else context_.problems.warning(place(start), "the name of a list file has no closing quote; it ends at the first blank");
    if (std::string bytes; open_list(path, start, bytes)) {
      out_.list_files.push_back(path);
      add_items(bytes);
    }
  }
  bool open_list(const std::string& path, size_t offset, std::string& bytes) {
    std::string why;
    if (!path.empty() && context_.source.read(path, bytes, why)) return true;
    context_.problems.missing(place(offset), "the list file \"" + path + "\" cannot be read" + (why.empty() ? "" : ": " + why) +
                                               "; the rules that use it would silently never match",
                              "create it, or write the values without quotes");
    if (context_.list_missing != nullptr) *context_.list_missing = true;
    return false;
  }
  // One item a line: no leading blanks, no comment lines, nothing from a blank and '#' on.
  void add_items(std::string_view bytes) {
    int number = 0;
    while (!bytes.empty()) {
      size_t end = bytes.find('\n');
      std::string_view item = bytes.substr(0, end);
      bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
      if (++number == 1 && item.starts_with("\xef\xbb\xbf")) item.remove_prefix(3);
      item = item.substr(0, item.find('\r'));
      size_t indent = item.find_first_not_of(" \t");
      if (indent == item.npos || item[indent] == '#') continue;
      item.remove_prefix(indent);
      size_t comment = item.find('#');
      while (comment != item.npos && !base::is_ows(item[comment - 1])) comment = item.find('#', comment + 1);
      item = base::trim_ows(item.substr(0, comment));
      if (!item.empty()) out_.words.push_back({std::string(item), int(indent) + 1, number, int(out_.list_files.size()), false});
    }
  }

  // configuration_includes_quoted_values on.
  void strict(bool regex) {
    size_t start = pos_;
    if (is_quote(text_[pos_])) {
      std::string value = take_string();
      add(start, std::move(value), true);
    } else if (size_t paren = text_.find_first_of("( \t", pos_); paren != text_.npos && text_[paren] == '(' && paren > pos_) {
      return function(paren);
    } else {
      plain_word();
      check_alphabet(out_.words.back().text, start);
    }
    bool option = out_.words.back().text == "-i" || out_.words.back().text == "+i";
    if (regex && !option) refuse_regex(start);
  }
  void refuse_regex(size_t offset) {
    context_.problems.error(place(offset), "regular expressions cannot be written while configuration_includes_quoted_values is on",
                            "switch it off before this line");
    pos_ = text_.size();
  }
  void check_alphabet(const std::string& word, size_t offset) {
    for (size_t i = word[0] == '!' ? 1 : 0; i < word.size(); ++i) {
      char c = word[i];
      bool percent = c == '%' && i + 1 == word.size() && i > 0 && base::is_digit(word[i - 1]);
      if (is_alnum(c) || std::string_view(".,()-=_/:+").find(c) != std::string_view::npos || percent) continue;
      return context_.problems.error(place(offset), "'" + word + "' holds a character that must be quoted while configuration_includes_quoted_values is on",
                                     "put it in quotes");
    }
  }
  // parameters("/path")
  void function(size_t paren) {
    size_t start = pos_;
    std::string name(text_.substr(pos_, paren - pos_));
    pos_ = paren + 1;
    if (name != "parameters") {
      context_.problems.error(place(start), "'" + name + "(' is no function", "only parameters(\"/path\") is known");
      pos_ = text_.size();
      return;
    }
    if (!more() || !is_quote(text_[pos_])) {
      context_.problems.error(place(pos_), "parameters() wants a path in quotes");
      pos_ = text_.size();
      return;
    }
    size_t at = pos_;
    std::string path = take_string();
    if (more() && text_[pos_] == ')') ++pos_;
    else context_.problems.error(place(at), "parameters(\"...\") is not closed", "write parameters(\"" + path + "\")");
    parameters(path, at, 1);
  }
  // Items at blanks, '#' to the end of a line is a comment; a file may name further ones.
  void parameters(const std::string& path, size_t offset, int depth) {
    if (depth > kListNesting) return context_.problems.error(place(offset), "parameter files are nested deeper than " + std::to_string(kListNesting));
    std::string bytes;
    if (!open_list(path, offset, bytes)) return;
    out_.list_files.push_back(path);
    int file = int(out_.list_files.size());
    int number = 0;
    std::string_view left = bytes;
    if (left.starts_with("\xef\xbb\xbf")) left.remove_prefix(3);
    while (!left.empty()) {
      size_t end = left.find('\n');
      std::string_view line = left.substr(0, end);
      left.remove_prefix(end == left.npos ? left.size() : end + 1);
      ++number;
      for (size_t i = 0; i < line.size();) {
        if (is_blank(line[i])) { ++i; continue; }
        if (line[i] == '#') break;
        size_t stop = std::min(line.find_first_of(" \t\r", i), line.size());
        std::string item(line.substr(i, stop - i));
        if (item.starts_with("parameters(\"") && item.ends_with("\")")) parameters(item.substr(12, item.size() - 14), offset, depth + 1);
        else out_.words.push_back({std::move(item), int(i) + 1, number, file, false});
        i = stop;
      }
    }
  }

  const LogicalLine& line_;
  std::string_view text_;
  size_t pos_;
  SplitContext& context_;
  Statement& out_;
};

}  // namespace

bool is_regex_acl_type(std::string_view type) {
  if (type.ends_with("_regex")) return true;
  return std::find(std::begin(kRegexAclTypes), std::end(kRegexAclTypes), type) != std::end(kRegexAclTypes);
}

void split_words(const LogicalLine& line, size_t start, WordStyle style, SplitContext& context, Statement& statement) {
  size_t rest = std::min(line.text.find_first_not_of(" \t\r\n", start), line.text.size());
  statement.rest = line.text.substr(rest);
  Splitter(line, start, context, statement).all(style);
}

}  // namespace loligo::config
