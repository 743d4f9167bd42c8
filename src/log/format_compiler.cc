// From a logformat definition to its items (the grammar stands in format.h).
#include <fmt/format.h>

#include "base/text.h"
#include "log/format.h"
#include "log/format_codes.h"

namespace loligo::log {
namespace {

struct Builtin {
  std::string_view name, definition;
  bool mime_headers;
};
constexpr Builtin kBuiltins[] = {
    {"squid", "%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt", true},
    {"common", "%>a - %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st %Ss:%Sh", true},
    {"combined", "%>a - %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st \"%{Referer}>h\" \"%{User-Agent}>h\" %Ss:%Sh", true},
    {"referrer", "%ts.%03tu %>a %{Referer}>h %ru", false},
    {"useragent", "%>a [%tl] \"%{User-Agent}>h\"", false},
    {"icap_squid", "%ts.%03tu %6icap::tr %>A %icap::to/%03icap::Hs %icap::<st %icap::rm %icap::ru %un -/%icap::<A -", false},
};

const Builtin* find_builtin(std::string_view name) {
  for (const Builtin& builtin : kBuiltins)
    if (builtin.name == name) return &builtin;
  return nullptr;
}

struct EncodingSign { char sign; Encoding encoding; };
constexpr EncodingSign kEncodingSigns[] = {
    {'"', Encoding::quoted}, {'[', Encoding::mime}, {'#', Encoding::percent}, {'/', Encoding::shell}, {'\'', Encoding::raw}};

constexpr std::string_view kDefaultDate = "%d/%b/%Y:%H:%M:%S %z";

}  // namespace

class FormatCompiler {
 public:
  FormatCompiler(std::string_view definition, std::vector<FormatNote>& notes) : text_(definition), notes_(notes) {}

  std::optional<Format> run() {
    while (ok_ && at_ < text_.size()) {
      if (text_[at_] != '%') literal(text_[at_++]);
      else if (peek(1) == '%') literal('%', false), at_ += 2;
      else item();
      if (format_.items_.size() > Format::kMaxItems)
        error(at_, fmt::format("more than {} codes in one format", Format::kMaxItems), "split it over several access_log lines");
    }
    if (!ok_) return std::nullopt;
    return std::move(format_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void error(size_t offset, std::string message, std::string fix = {}) {
    ok_ = false;
    notes_.push_back({true, offset, std::move(message), std::move(fix)});
  }
  void warn(size_t offset, std::string message, std::string fix = {}) {
    notes_.push_back({false, offset, std::move(message), std::move(fix)});
  }

  // Fixed text; a control character would break the line or the terminal that shows it.
  void literal(char c, bool may_quote = true) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f)
      return error(at_ - 1, "control character in a log format");
    if (format_.items_.empty() || format_.items_.back().code) format_.items_.emplace_back();
    format_.items_.back().text += c;
    if (may_quote) follow_quotes(c);
  }

  // Quotes and brackets around codes choose their encoding.
  void follow_quotes(char c) {
    if (c == '"' && around_ != Encoding::mime) around_ = around_ == Encoding::quoted ? Encoding::token : Encoding::quoted;
    else if (c == '[' && around_ == Encoding::token) around_ = Encoding::mime;
    else if (c == ']' && around_ == Encoding::mime) around_ = Encoding::token;
  }

  void item() {
    size_t start = at_++;
    Item item;
    item.encoding = encoding();
    layout(item);
    std::string argument;
    bool has_argument = read_argument(argument);
    if (!ok_) return;
    size_t length = 0;
    const Code* code = find_code(text_.substr(at_), length);
    if (!code) return unknown(start);
    at_ += length;
    if (!has_argument) has_argument = read_argument(argument);
    if (!ok_) return;
    item.code = code;
    settle_encoding(item);
    if (has_argument && !set_argument(item, argument))
      warn(start, fmt::format("%{} takes no argument", code->name), fmt::format("remove {{{}}}", argument));
    if (!has_argument && (code->kind == Kind::local_date || code->kind == Kind::utc_date)) item.text = kDefaultDate;
    note_support(*code, start);
    format_.items_.push_back(std::move(item));
  }

  Encoding encoding() {
    for (auto [sign, encoding] : kEncodingSigns)
      if (peek() == sign) {
        ++at_;
        return encoding;
      }
    return around_;
  }

  // ["-"] [["0"] width] ["." max]
  void layout(Item& item) {
    if (peek() == '-') item.left = true, ++at_;
    if (peek() == '0') item.zeros = true, ++at_;
    if (base::is_digit(peek())) item.width = number();
    if (ok_ && peek() == '.') {
      ++at_;
      item.max = number();
    }
  }

  int number() {
    size_t start = at_;
    int value = 0;
    while (base::is_digit(peek()) && value <= Format::kMaxWidth) value = value * 10 + (text_[at_++] - '0');
    if (value > Format::kMaxWidth) error(start, fmt::format("a width above {} in a log format", Format::kMaxWidth));
    if (start == at_) error(start, "a number is missing after '.' in a log format");
    return value;
  }

  bool read_argument(std::string& argument) {
    if (peek() != '{') return false;
    size_t end = text_.find('}', at_);
    if (end == text_.npos) {
      error(at_, "'{' without '}' in a log format", "close the argument with '}'");
      return false;
    }
    argument = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  void unknown(size_t start) {
    if (at_ >= text_.size()) return error(start, "a log format ends in the middle of a code", "write %% for a percent sign");
    size_t end = at_;
    while (end < text_.size() && end - at_ < 24 && (isalnum(static_cast<unsigned char>(text_[end])) || std::string_view("<>_:").find(text_[end]) != std::string_view::npos)) ++end;
    error(start, fmt::format("unknown log format code '%{}'", text_.substr(at_, std::max<size_t>(end - at_, 1))),
          "write %% for a percent sign");
  }

  // Without an encoding of its own or around it, a code falls back on what suits its value.
  static void settle_encoding(Item& item) {
    if (item.encoding == Encoding::token) item.encoding = item.code->plain;
    if (item.encoding == Encoding::mime && item.code->one_word) item.encoding = Encoding::mime_token;
    if (item.encoding == Encoding::quoted && item.code->plain == Encoding::url) item.encoding = Encoding::quoted_word;
    if (item.code->kind != Kind::text && item.encoding == Encoding::token) item.encoding = Encoding::raw;
  }

  // NAME[:[separator]element] for fields; a strftime format for dates.
  bool set_argument(Item& item, const std::string& argument) {
    if (item.code->kind == Kind::local_date || item.code->kind == Kind::utc_date) {
      item.text = argument;
      return true;
    }
    if (!item.code->takes_field) return false;
    size_t colon = argument.find(':');
    item.text = base::to_lower(argument.substr(0, colon));
    if (colon == std::string::npos) return true;
    item.element = argument.substr(colon + 1);
    if (!item.element.empty() && std::string_view(",;:|/&= ").find(item.element[0]) != std::string_view::npos) {
      item.separator = item.element[0];
      item.element.erase(0, 1);
    }
    return true;
  }

  void note_support(const Code& code, size_t start) {
    if (code.support == Support::later)
      warn(start, fmt::format("log format code %{} is not implemented: it prints \"-\"", code.name));
    if (code.support == Support::obsolete)
      warn(start, fmt::format("log format code %{} is obsolete", code.name), code.text ? "" : "remove it, or write - in its place");
  }

  std::string_view text_;
  std::vector<FormatNote>& notes_;
  Format format_;
  size_t at_ = 0;
  Encoding around_ = Encoding::token;
  bool ok_ = true;
};

std::optional<Format> Format::compile(std::string_view definition, std::vector<FormatNote>& notes) {
  return FormatCompiler(definition, notes).run();
}

std::optional<Format> Format::builtin(std::string_view name) {
  const Builtin* builtin = find_builtin(name);
  if (!builtin) return std::nullopt;
  std::vector<FormatNote> notes;
  auto format = compile(builtin->definition, notes);
  if (!format) return format;
  format->native_ = name == "squid";
  format->mime_headers_ = builtin->mime_headers;
  return format;
}

bool Format::is_builtin(std::string_view name) { return find_builtin(name) != nullptr; }

std::string_view Format::builtin_definition(std::string_view name) {
  const Builtin* builtin = find_builtin(name);
  return builtin ? builtin->definition : std::string_view();
}

}  // namespace loligo::log
