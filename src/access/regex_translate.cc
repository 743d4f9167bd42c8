// Grammar read here (POSIX extended as GNU reads it):
//
//   regex   = branch *( "|" branch )        empty branches are allowed
//   branch  = *( ( atom *quantifier ) / "^" / "$" )
//   atom    = "." / bracket / "(" regex ")" / "\" char / char
//   bracket = "[" [ "^" ] [ "]" ] *( char / char "-" char / "[:class:]" / "[=c=]" / "[.c.]" ) "]"
//   quantifier = "*" / "+" / "?" / "{" [n] [ "," [m] ] "}"
//
// A ")" that closes nothing is itself; a backslash inside a bracket is itself.
#include "access/regex_translate.h"

#include <bitset>
#include <cctype>
#include <vector>

#include "base/text.h"

namespace loligo::access {

namespace {

constexpr int kMostRepeats = 1000;  // RE2's own limit
constexpr size_t kDeepest = 200;    // nested groups

struct ByteClass {
  std::string_view name;
  int (*has)(int);  // called with ASCII only: the C locale's classes
};
constexpr ByteClass kClasses[] = {
    {"alpha", isalpha}, {"digit", isdigit}, {"alnum", isalnum}, {"upper", isupper}, {"lower", islower}, {"space", isspace},
    {"blank", isblank}, {"punct", ispunct}, {"print", isprint}, {"graph", isgraph}, {"cntrl", iscntrl}, {"xdigit", isxdigit},
};

struct Escape {
  char letter;
  std::string_view re2;
  bool atom;  // may be repeated
};
constexpr Escape kEscapes[] = {
    {'<', "\\b", false}, {'>', "\\b", false}, {'b', "\\b", false},      {'B', "\\B", false},        {'`', "\\A", false},
    {'\'', "\\z", false}, {'w', "\\w", true},  {'W', "\\W", true}, {'s', "[\\t-\\r ]", true}, {'S', "[^\\t-\\r ]", true},
};

struct Refused {
  std::string_view text, name, fix;
};
constexpr Refused kRefusedGroups[] = {
    {"(?=", "a lookahead", ""},          {"(?!", "a negative lookahead", "use a second ACL with a negation in the rule"},
    {"(?<=", "a look-behind", ""},       {"(?<!", "a negative look-behind", "use a second ACL with a negation in the rule"},
    {"(?>", "an atomic group", ""},      {"(?i)", "an inline option", "write -i before the pattern"},
    {"(?", "a Perl extension", ""},
};

void append_byte(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  if (c >= 0x80 || c < 0x20 || c == 0x7f) {
    out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
  } else {
    if (!isalnum(c) && c != ' ') out += '\\';
    out += char(c);
  }
}

class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}
  Translation run();

 private:
  bool more() const { return at_ < in_.size(); }
  bool failed() const { return !result_.error.empty(); }
  void fail(std::string message, std::string fix = {}) { result_.error = std::move(message), result_.fix = std::move(fix); }
  void step();
  void literal(unsigned char c);
  void atom(std::string_view re2) { begin_atom(), result_.re2 += re2; }
  void begin_atom() { end_run(), atom_ = result_.re2.size(), repeated_ = false, result_.pure = false; }
  void no_atom(std::string_view re2) { end_run(), atom_ = kNone, result_.re2 += re2; }
  void end_run();
  void escape();
  void open();
  void close();
  void bracket();
  bool bracket_item(std::bitset<256>& set);
  bool named_item(std::bitset<256>& set, int& single);
  void braces();
  void repeat(std::string_view re2);

  static constexpr size_t kNone = size_t(-1);
  std::string_view in_;
  size_t at_ = 0;
  Translation result_;
  size_t atom_ = kNone;       // where the last atom begins in the output
  bool repeated_ = false;     // it has a quantifier already
  bool was_literal_ = false;  // it is the last character of run_
  bool alternatives_ = false; // a "|" outside groups: no text is in every match
  std::vector<size_t> groups_;
  std::string run_;           // literal characters in a row, outside groups
};

Translation Translator::run() {
  result_.pure = true;
  while (more() && !failed()) step();
  if (!failed() && !groups_.empty()) fail("a \"(\" is not closed", "write \\( for the character itself");
  end_run();
  if (alternatives_) result_.literal.clear();
  result_.pure = result_.pure && !result_.literal.empty();
  return std::move(result_);
}

void Translator::step() {
  unsigned char c = in_[at_];
  switch (c) {
    case '\\': return escape();
    case '[': return bracket();
    case '(': return open();
    case ')': return close();
    case '{': return braces();
    case '*': case '+': case '?': ++at_; return repeat({reinterpret_cast<const char*>(&c), 1});
    case '.': ++at_; return atom(".");
    case '|':
      if (groups_.empty()) alternatives_ = true;
      result_.pure = false;
      ++at_;
      return no_atom("|");
    case '^':
      if (at_ == 0) result_.at_start = true;
      else result_.pure = false;
      ++at_;
      return no_atom("^");
    case '$':
      ++at_;
      if (!more()) result_.at_end = true;
      else result_.pure = false;
      return no_atom("$");
    default: ++at_; return literal(c);
  }
}

void Translator::literal(unsigned char c) {
  atom_ = result_.re2.size();
  repeated_ = false;
  append_byte(result_.re2, c);
  if (groups_.empty() && c < 0x80) {  // case folding beyond ASCII is RE2's business
    run_ += char(c);
    was_literal_ = true;
  } else {
    end_run();
    result_.pure = false;
  }
}

void Translator::end_run() {
  if (run_.size() > result_.literal.size()) result_.literal = run_;
  run_.clear();
  was_literal_ = false;
}

void Translator::escape() {
  if (at_ + 1 == in_.size()) return fail("a backslash ends the pattern", "write \\\\ for a backslash");
  unsigned char c = in_[at_ + 1];
  at_ += 2;
  if (c >= '1' && c <= '9') return fail(std::string("the back-reference \\") + char(c) + " is not possible in linear time");
  for (const Escape& known : kEscapes)
    if (known.letter == char(c)) {
      result_.pure = false;
      return known.atom ? atom(known.re2) : no_atom(known.re2);
    }
  if (c == 'd' || c == 'D') result_.warning = std::string("\\") + char(c) + " is the letter " + char(c) + " in a POSIX pattern; digits are [0-9]";
  literal(c);
}

void Translator::open() {
  if (in_.substr(at_, 3) != "(?:")
    for (const Refused& refused : kRefusedGroups)
      if (in_.substr(at_).starts_with(refused.text))
        return fail("\"" + std::string(refused.text) + "\", " + std::string(refused.name) + ", is not possible here", std::string(refused.fix));
  if (groups_.size() == kDeepest) return fail("groups are nested too deeply");
  at_ += in_.substr(at_, 3) == "(?:" ? 3 : 1;
  end_run();
  result_.pure = false;
  groups_.push_back(result_.re2.size());
  atom_ = kNone;
  result_.re2 += "(?:";
}

void Translator::close() {
  ++at_;
  if (groups_.empty()) return literal(')');
  result_.re2 += ')';
  atom_ = groups_.back();
  groups_.pop_back();
  repeated_ = false;
}

void Translator::repeat(std::string_view re2) {
  if (atom_ == kNone) return fail("\"" + std::string(re2) + "\" has nothing before it to repeat", "write \\" + std::string(re2) + " for the character itself, .* for any text");
  if (repeated_) {  // a+? is (a+)? in POSIX and a lazy plus in RE2
    result_.re2.insert(atom_, "(?:");
    result_.re2 += ')';
  }
  if (was_literal_) run_.pop_back();
  end_run();
  result_.pure = false;
  repeated_ = true;
  result_.re2 += re2;
}

void Translator::braces() {
  size_t end = in_.find('}', at_);
  if (end == in_.npos) return fail("a \"{\" is not closed", "write \\{ for the character itself");
  std::string_view inside = in_.substr(at_ + 1, end - at_ - 1);
  size_t comma = inside.find(',');
  auto number = [](std::string_view text, int otherwise) { return text.empty() ? std::optional<int>(otherwise) : base::parse_decimal<int>(text); };
  auto low = number(inside.substr(0, comma), comma == inside.npos ? -1 : 0);
  auto high = comma == inside.npos ? low : number(inside.substr(comma + 1), kMostRepeats + 1);
  bool endless = comma != inside.npos && comma + 1 == inside.size();
  std::string shown(in_.substr(at_, end - at_ + 1));
  at_ = end + 1;
  if (!low || !high || *low < 0 || *low > *high) return fail("\"" + shown + "\" is not a number of repetitions", "write it like {2,5}, or \\{ for the character itself");
  if (*low > kMostRepeats || (!endless && *high > kMostRepeats)) return fail("\"" + shown + "\" repeats more than 1000 times");
  repeat("{" + std::to_string(*low) + (endless ? "," : "," + std::to_string(*high)) + "}");
}

// "[:alpha:]", "[=a=]" or "[.a.]" at at_ (which is at its '['); false when it is none of them. `single`: the character of the last two.
bool Translator::named_item(std::bitset<256>& set, int& single) {
  char kind = at_ + 1 < in_.size() ? in_[at_ + 1] : '\0';
  if (kind != ':' && kind != '=' && kind != '.') return false;
  size_t end = in_.find(std::string{kind, ']'}, at_ + 2);
  if (end == in_.npos) return fail("\"[" + std::string(1, kind) + "\" is not closed"), true;
  std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
  at_ = end + 2;
  if (kind != ':') {
    if (name.size() != 1) return fail("\"" + std::string(name) + "\" is not a single character"), true;
    single = uint8_t(name[0]);
    return true;
  }
  for (const ByteClass& known : kClasses)
    if (known.name == name) {
      for (int c = 0; c < 128; ++c)
        if (known.has(c)) set.set(size_t(c));
      return true;
    }
  fail("\"[:" + std::string(name) + ":]\" is not a class of characters");
  return true;
}

// One character, range or class; false at the closing bracket.
bool Translator::bracket_item(std::bitset<256>& set) {
  auto one = [&](int& c) {  // a character, or -1 for a class
    if (in_[at_] == '[' && named_item(set, c)) return;
    c = uint8_t(in_[at_++]);
  };
  int low = -1, high = -1;
  char first = in_[at_];
  one(low);
  if (failed()) return false;
  if (first == '\\' && more() && (in_[at_] == 'd' || in_[at_] == 'w' || in_[at_] == 's'))
    result_.warning = "a backslash inside [ ] is a plain character in a POSIX pattern; write [[:alnum:]_], [0-9] or [[:space:]]";
  if (low < 0) return true;
  bool range = at_ + 1 < in_.size() && in_[at_] == '-' && in_[at_ + 1] != ']';
  if (range) ++at_, one(high);
  else high = low;
  if (failed()) return false;
  if (high < low) return fail("a range inside [ ] runs backwards", "put a hyphen first or last to mean itself"), false;
  for (int c = low; c <= high; ++c) set.set(size_t(c));
  return true;
}

void Translator::bracket() {
  std::bitset<256> set;
  ++at_;
  bool negated = more() && in_[at_] == '^';
  if (negated) ++at_;
  for (bool first = true; more() && (first || in_[at_] != ']'); first = false)
    if (!bracket_item(set)) break;
  if (failed()) return;
  if (!more()) return fail("a \"[\" is not closed", "write \\[ for the character itself");
  ++at_;
  begin_atom();
  // Negation stays RE2's, because folding case comes before it.
  std::string& out = result_.re2;
  out += negated ? "[^" : "[";
  for (int c = 0; c < 256; ++c) {
    if (!set[size_t(c)]) continue;
    int last = c;
    while (last < 255 && set[size_t(last + 1)]) ++last;
    append_byte(out, uint8_t(c));
    if (last > c) out += '-', append_byte(out, uint8_t(last));
    c = last;
  }
  out += ']';
}

}  // namespace

Translation translate_regex(std::string_view posix) { return Translator(posix).run(); }

}  // namespace loligo::access
