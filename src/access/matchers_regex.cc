// ACL types that run regular expressions over a text of the transaction: URLs,
// header fields, the peer's name. Each type is a function that finds the text.
#include "access/matchers.h"
#include "access/pattern_set.h"
#include "base/text.h"

namespace loligo::access {

void add_patterns(PatternSet& set, const Arguments& arguments, config::Problems& problems) {
  bool ignore_case = arguments.options.ignore_case;
  for (size_t i = arguments.first; i < arguments.size(); ++i) {
    const config::Word& word = arguments.word(i);
    if (!word.quoted && (word.text == "-i" || word.text == "+i")) ignore_case = word.text == "-i";
    else set.add(word.text, ignore_case, arguments.at(i), problems);
  }
}

namespace {

using Find = Match (*)(const Facts&, const PatternSet&);

class TextMatcher final : public Matcher {
 public:
  explicit TextMatcher(Find find) : find_(find) {}
  void add(const Arguments& arguments, Surroundings& around) override { add_patterns(set_, arguments, around.problems); }
  void finish(std::string_view, const config::Place&, config::Problems&) override { set_.finish(); }
  bool empty() const override { return set_.empty(); }
  Match match(const Context& context) const override { return find_(context.facts, set_); }

 private:
  Find find_;
  PatternSet set_;
};

Match run(const PatternSet& set, std::string_view text) { return set.matches(text) ? Match::yes : Match::no; }

int hex_value(char c) {
  if (base::is_digit(c)) return c - '0';
  c = base::ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Percent-decoded if every "%" begins a valid triplet, else as it stands. The result lives until this thread's next call.
std::string_view decoded(std::string_view text) {
  if (text.find('%') == text.npos) return text;
  static thread_local std::string buffer;  // grows to the longest URL seen, then stays
  buffer.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      buffer += text[i];
      continue;
    }
    int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1, low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) return text;
    buffer += char(high * 16 + low);
    i += 2;
  }
  return buffer;
}

Match in_url(const Facts& facts, const PatternSet& set) { return facts.url.empty() ? Match::missing : run(set, decoded(facts.url)); }
// CONNECT has no path: nothing to match.
Match in_path(const Facts& facts, const PatternSet& set) {
  if (facts.url.empty()) return Match::missing;
  return facts.path.empty() ? Match::no : run(set, decoded(facts.path));
}
Match in_peer_name(const Facts& facts, const PatternSet& set) { return facts.peer_name.empty() ? Match::missing : run(set, facts.peer_name); }

// Any field line of that name. No such field is "no", no head at all is "missing".
Match in_field(const http::Head* head, const char* bytes, http::FieldId id, const PatternSet& set) {
  if (!head) return Match::missing;
  if (!head->has(id)) return Match::no;
  for (const http::Field& field : *head)
    if (field.id == id && set.matches(field.value.in(bytes))) return Match::yes;
  return Match::no;
}
template <http::FieldId kId>
Match in_request(const Facts& facts, const PatternSet& set) { return in_field(facts.request, facts.request_bytes, kId, set); }
template <http::FieldId kId>
Match in_reply(const Facts& facts, const PatternSet& set) { return in_field(facts.reply, facts.reply_bytes, kId, set); }

// req_header and rep_header: the field's name is the first value; lines of one ACL may name different fields.
class HeaderMatcher final : public Matcher {
 public:
  explicit HeaderMatcher(bool reply) : reply_(reply) {}
  void add(const Arguments& arguments, Surroundings& around) override {
    if (arguments.first >= arguments.size()) return around.problems.error(arguments.statement.place, "the name of a header field is missing", "write it before the patterns");
    std::string name = arguments.word(arguments.first).text;
    if (!name.empty() && name.back() == ':') name.pop_back();
    Arguments patterns = arguments;
    ++patterns.first;
    add_patterns(set_of(name), patterns, around.problems);
  }
  void finish(std::string_view, const config::Place&, config::Problems&) override {
    for (Part& part : parts_) part.set.finish();
  }
  bool empty() const override {
    for (const Part& part : parts_)
      if (!part.set.empty()) return false;
    return true;
  }
  Match match(const Context& context) const override {
    const http::Head* head = reply_ ? context.facts.reply : context.facts.request;
    const char* bytes = reply_ ? context.facts.reply_bytes : context.facts.request_bytes;
    if (!head) return Match::missing;
    for (const Part& part : parts_)
      if (in_part(part, *head, bytes)) return Match::yes;
    return Match::no;
  }

 private:
  struct Part {
    std::string name;
    http::FieldId id;
    PatternSet set;
  };
  PatternSet& set_of(const std::string& name) {
    for (Part& part : parts_)
      if (base::iequals(part.name, name)) return part.set;
    return parts_.emplace_back(Part{name, http::field_id(name), PatternSet()}).set;
  }
  static bool in_part(const Part& part, const http::Head& head, const char* bytes) {
    if (part.id != http::FieldId::other) return in_field(&head, bytes, part.id, part.set) == Match::yes;
    for (const http::Field& field : head)
      if (field.id == http::FieldId::other && base::iequals(field.name.in(bytes), part.name) && part.set.matches(field.value.in(bytes))) return true;
    return false;
  }

  bool reply_;
  std::vector<Part> parts_;
};

std::unique_ptr<Matcher> text(Find find) { return std::make_unique<TextMatcher>(find); }

}  // namespace

std::unique_ptr<Matcher> make_url_regex() { return text(in_url); }
std::unique_ptr<Matcher> make_urlpath_regex() { return text(in_path); }
std::unique_ptr<Matcher> make_browser() { return text(in_request<http::FieldId::user_agent>); }
std::unique_ptr<Matcher> make_referer_regex() { return text(in_request<http::FieldId::referer>); }
std::unique_ptr<Matcher> make_req_mime_type() { return text(in_request<http::FieldId::content_type>); }
std::unique_ptr<Matcher> make_rep_mime_type() { return text(in_reply<http::FieldId::content_type>); }
std::unique_ptr<Matcher> make_peername_regex() { return text(in_peer_name); }
std::unique_ptr<Matcher> make_req_header() { return std::make_unique<HeaderMatcher>(false); }
std::unique_ptr<Matcher> make_rep_header() { return std::make_unique<HeaderMatcher>(true); }

}  // namespace loligo::access
