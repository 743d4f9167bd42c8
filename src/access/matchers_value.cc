// ACL types on numbers, words, time and chance.
#include <algorithm>
#include <charconv>
#include <ctime>
#include <random>

#include "access/interval_set.h"
#include "access/matchers.h"
#include "base/text.h"

namespace loligo::access {

namespace {

// --- numbers: port, localport, http_status ---------------------------------

// value = n | n "-" m | n "-"   (the last only where `open_end`)
class NumberMatcher final : public Matcher {
 public:
  struct Kind {
    std::string_view what, example;
    uint32_t least, most;
    bool open_end;
    uint32_t (*number)(const Facts&);  // 0 = not known
  };
  explicit NumberMatcher(const Kind& kind) : kind_(kind) {}

  void add(const Arguments& arguments, Surroundings& around) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      const std::string& value = arguments.word(i).text;
      std::string_view low_text = std::string_view(value).substr(0, value.find('-'));
      std::string_view high_text = low_text.size() == value.size() ? low_text : std::string_view(value).substr(low_text.size() + 1);
      auto low = base::parse_decimal<uint32_t>(low_text), high = base::parse_decimal<uint32_t>(high_text);
      if (kind_.open_end && high_text.empty()) high = kind_.most;
      if (!low || !high || *low > *high || *low < kind_.least || *high > kind_.most)
        around.problems.error(arguments.at(i), "\"" + value + "\" is not a " + std::string(kind_.what) + " or a range of them", "write it like " + std::string(kind_.example));
      else
        numbers_.add(*low, *high);
    }
  }
  void finish(std::string_view, const config::Place&, config::Problems&) override { numbers_.finish(); }
  bool empty() const override { return numbers_.empty(); }
  Match match(const Context& context) const override {
    uint32_t number = kind_.number(context.facts);
    if (number == 0) return Match::missing;
    return numbers_.contains(number) ? Match::yes : Match::no;
  }

 private:
  const Kind& kind_;
  IntervalSet<uint32_t> numbers_;
};

constexpr NumberMatcher::Kind kPort = {"port", "443 or 1025-65535", 0, 65535, false, [](const Facts& f) -> uint32_t { return f.port; }};
constexpr NumberMatcher::Kind kLocalPort = {"port", "3128 or 3128-3130", 0, 65535, false, [](const Facts& f) -> uint32_t { return f.local.valid() ? f.local.port() : 0; }};
constexpr NumberMatcher::Kind kStatus = {"status", "404, 400-403 or 500-", 0, 999, true, [](const Facts& f) -> uint32_t { return f.status > 0 ? uint32_t(f.status) : 0; }};

// --- words: myportname, peername, hier_code, proto -------------------------

class WordMatcher final : public Matcher {
 public:
  struct Kind {
    std::string_view (*word)(const Facts&);
    bool fold;                     // case does not matter
    std::string_view prefix;       // may be left out
    bool empty_is_no;              // an empty word is a fact
  };
  explicit WordMatcher(const Kind& kind) : kind_(kind) {}

  void add(const Arguments& arguments, Surroundings&) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) words_.push_back(plain(arguments.word(i).text));
  }
  void finish(std::string_view, const config::Place&, config::Problems&) override {
    std::sort(words_.begin(), words_.end());
    words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  }
  bool empty() const override { return words_.empty(); }
  Match match(const Context& context) const override {
    std::string_view word = kind_.word(context.facts);
    if (word.empty()) return kind_.empty_is_no ? Match::no : Match::missing;
    if (word.starts_with(kind_.prefix)) word.remove_prefix(kind_.prefix.size());
    if (!kind_.fold) return std::binary_search(words_.begin(), words_.end(), word, std::less<>()) ? Match::yes : Match::no;
    for (const std::string& one : words_)
      if (base::iequals(one, word)) return Match::yes;
    return Match::no;
  }

 private:
  std::string plain(std::string_view word) const {
    if (!kind_.prefix.empty() && base::istarts_with(word, kind_.prefix)) word.remove_prefix(kind_.prefix.size());
    return kind_.fold ? base::to_lower(word) : std::string(word);
  }
  const Kind& kind_;
  std::vector<std::string> words_;
};

constexpr WordMatcher::Kind kPortName = {[](const Facts& f) { return f.port_name; }, false, "", false};
constexpr WordMatcher::Kind kPeerName = {[](const Facts& f) { return f.peer_name; }, false, "", false};
constexpr WordMatcher::Kind kHierarchy = {[](const Facts& f) { return f.hierarchy; }, true, "HIER_", false};
constexpr WordMatcher::Kind kScheme = {[](const Facts& f) { return f.scheme; }, true, "", true};

// --- method -----------------------------------------------------------------

struct KnownMethod {
  std::string_view text;
  http::Method method;
};
constexpr KnownMethod kMethods[] = {
    {"GET", http::Method::get},         {"HEAD", http::Method::head},       {"POST", http::Method::post},   {"PUT", http::Method::put},
    {"DELETE", http::Method::delete_},  {"CONNECT", http::Method::connect}, {"OPTIONS", http::Method::options}, {"TRACE", http::Method::trace},
    {"PATCH", http::Method::patch},     {"PURGE", http::Method::purge},
};

class MethodMatcher final : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) add_one(arguments.word(i).text, arguments.at(i), around.problems);
  }
  bool empty() const override { return known_ == 0 && others_.empty(); }
  Match match(const Context& context) const override {
    const Facts& facts = context.facts;
    if (facts.method != http::Method::other) return has(facts.method) ? Match::yes : Match::no;
    if (facts.method_text.empty()) return Match::missing;
    return std::find(others_.begin(), others_.end(), facts.method_text) != others_.end() ? Match::yes : Match::no;
  }
  bool has(http::Method method) const { return (known_ >> unsigned(method)) & 1; }

 private:
  void add_one(const std::string& text, const config::Place& place, config::Problems& problems) {
    for (const KnownMethod& known : kMethods)
      if (base::iequals(known.text, text)) {
        if (known.text != text) problems.warning(place, "methods are written in capitals; \"" + text + "\" is taken as " + std::string(known.text));
        known_ |= 1u << unsigned(known.method);
        return;
      }
    others_.push_back(text);
  }
  uint32_t known_ = 0;  // a bit for each http::Method
  std::vector<std::string> others_;
};

// --- has --------------------------------------------------------------------

class HasMatcher final : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      const std::string& word = arguments.word(i).text;
      if (word == "request") request_ = true;
      else if (word == "response") response_ = true;
      else if (word == "ALE") always_ = true;  // "access log entry": every transaction has one
      else around.problems.error(arguments.at(i), "\"" + word + "\" is nothing a transaction has", "write request, response or ALE");
    }
  }
  bool empty() const override { return !request_ && !response_ && !always_; }
  Match match(const Context& context) const override {
    const Facts& facts = context.facts;
    return always_ || (request_ && facts.request) || (response_ && facts.reply) ? Match::yes : Match::no;
  }

 private:
  bool request_ = false, response_ = false, always_ = false;
};

// --- time -------------------------------------------------------------------

struct DayLetter {
  char letter;
  unsigned days;  // bit 0 = Sunday
};
constexpr DayLetter kDays[] = {{'S', 1}, {'M', 2}, {'T', 4}, {'W', 8}, {'H', 16}, {'F', 32}, {'A', 64}, {'D', 62}, {'-', 0}};
constexpr unsigned kAllDays = 127;

struct LocalMinute {
  unsigned day = 0;   // bit
  int minute = 0;     // of the day
};

// localtime_r takes a lock of the C library; within one minute the answer is the same.
LocalMinute local_minute(base::WallSeconds now) {
  static thread_local base::WallSeconds known = -1;
  static thread_local LocalMinute answer;
  if (known != now / 60) {
    time_t seconds = time_t(now);
    tm parts{};
    localtime_r(&seconds, &parts);
    answer = {1u << parts.tm_wday, parts.tm_hour * 60 + parts.tm_min};
    known = now / 60;
  }
  return answer;
}

// value = day letters | h:mm "-" h:mm. Days count for the ranges after them on the line; days alone mean the whole day.
class TimeMatcher final : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    unsigned days = 0;
    bool used = true;  // `days` already stand in a span
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      const std::string& word = arguments.word(i).text;
      if (!word.empty() && base::is_digit(word[0])) {
        Span span{days ? days : kAllDays, 0, 0};
        if (read_range(word, span, arguments.at(i), around.problems)) spans_.push_back(span);
        used = true;
        continue;
      }
      if (used) days = 0;
      if (unsigned more = read_days(word, arguments.at(i), around.problems)) days |= more, used = false;
    }
    if (!used && days) spans_.push_back({days, 0, kLastMinute});
  }
  bool empty() const override { return spans_.empty(); }
  Match match(const Context& context) const override {
    if (context.facts.now == 0) return Match::missing;
    LocalMinute at = local_minute(context.facts.now);
    for (const Span& span : spans_)
      if ((span.days & at.day) && at.minute >= span.from && at.minute <= span.to) return Match::yes;
    return Match::no;
  }

 private:
  struct Span {
    unsigned days;
    int from, to;  // minutes of the day, both inclusive
  };
  static constexpr int kLastMinute = 24 * 60;

  static unsigned read_days(const std::string& word, const config::Place& place, config::Problems& problems) {
    unsigned days = 0;
    for (char c : word) {
      auto known = std::find_if(std::begin(kDays), std::end(kDays), [&](const DayLetter& d) { return d.letter == c; });
      if (known == std::end(kDays)) return problems.error(place, "\"" + word + "\" is neither days nor a time range", "days are S M T W H F A, or D for M to F"), 0;
      days |= known->days;
    }
    return days;
  }
  static bool read_minute(std::string_view text, int& minute) {
    size_t colon = text.find(':');
    if (colon == text.npos) return false;
    auto hours = base::parse_decimal<int>(text.substr(0, colon)), minutes = base::parse_decimal<int>(text.substr(colon + 1));
    if (!hours || !minutes || *minutes > 59 || *hours > 24 || (*hours == 24 && *minutes > 0)) return false;
    minute = *hours * 60 + *minutes;
    return true;
  }
  static bool read_range(const std::string& word, Span& span, const config::Place& place, config::Problems& problems) {
    size_t dash = word.find('-');
    std::string_view text = word;
    if (dash == word.npos || !read_minute(text.substr(0, dash), span.from) || !read_minute(text.substr(dash + 1), span.to))
      return problems.error(place, "\"" + word + "\" is not a time range", "write it like 08:00-17:30"), false;
    if (span.from > span.to)
      return problems.error(place, "the time range \"" + word + "\" runs backwards", "write two: " + word.substr(0, dash) + "-24:00 and 00:00-" + word.substr(dash + 1)), false;
    return true;
  }
  std::vector<Span> spans_;
};

// --- maxconn, random: one number --------------------------------------------

class ConnectionMatcher final : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      auto limit = base::parse_decimal<int>(arguments.word(i).text);
      if (!limit) around.problems.error(arguments.at(i), "\"" + arguments.word(i).text + "\" is not a number of connections");
      // Values are ORed, and more than the lowest is enough.
      else limit_ = limit_ < 0 ? *limit : std::min(limit_, *limit);
    }
  }
  bool empty() const override { return limit_ < 0; }
  Match match(const Context& context) const override { return limit_ >= 0 && context.facts.client_connections > limit_ ? Match::yes : Match::no; }

 private:
  int limit_ = -1;
};

// xorshift64*, a generator for each thread: no lock, no shared line.
uint32_t next_random() {
  static thread_local uint64_t state = [] {
    std::random_device device;
    return (uint64_t(device()) << 32 | device()) | 1;
  }();
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return uint32_t((state * 0x2545f4914f6cdd1du) >> 32);
}

// value = decimal | n "/" m | n ":" m (n matches to m others)
class RandomMatcher final : public Matcher {
 public:
  void add(const Arguments& arguments, Surroundings& around) override {
    for (size_t i = arguments.first; i < arguments.size(); ++i) {
      double chance = read(arguments.word(i).text);
      if (!(chance >= 0 && chance <= 1)) around.problems.error(arguments.at(i), "\"" + arguments.word(i).text + "\" is not a probability from 0 to 1", "write it like 0.25, 1/4 or 1:3");
      else chances_.push_back(uint64_t(chance * 4294967296.0));
    }
  }
  bool empty() const override { return chances_.empty(); }
  Match match(const Context&) const override {
    for (uint64_t chance : chances_)
      if (next_random() < chance) return Match::yes;
    return Match::no;
  }

 private:
  static double read(const std::string& text) {
    size_t split = text.find_first_of("/:");
    double first = 0, second = 1;
    auto number = [](std::string_view s, double& out) {
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
      return error == std::errc{} && end == s.data() + s.size() && !s.empty();
    };
    if (!number(std::string_view(text).substr(0, split), first)) return -1;
    if (split == text.npos) return first;
    if (!number(std::string_view(text).substr(split + 1), second) || first < 0 || second <= 0) return -1;
    return text[split] == '/' ? first / second : first / (first + second);
  }
  std::vector<uint64_t> chances_;  // of 2^32
};

}  // namespace

bool names_purge(const Matcher& matcher) {
  auto* method = dynamic_cast<const MethodMatcher*>(&matcher);
  return method && method->has(http::Method::purge);
}

std::unique_ptr<Matcher> make_port() { return std::make_unique<NumberMatcher>(kPort); }
std::unique_ptr<Matcher> make_localport() { return std::make_unique<NumberMatcher>(kLocalPort); }
std::unique_ptr<Matcher> make_http_status() { return std::make_unique<NumberMatcher>(kStatus); }
std::unique_ptr<Matcher> make_myportname() { return std::make_unique<WordMatcher>(kPortName); }
std::unique_ptr<Matcher> make_peername() { return std::make_unique<WordMatcher>(kPeerName); }
std::unique_ptr<Matcher> make_hier_code() { return std::make_unique<WordMatcher>(kHierarchy); }
std::unique_ptr<Matcher> make_proto() { return std::make_unique<WordMatcher>(kScheme); }
std::unique_ptr<Matcher> make_method() { return std::make_unique<MethodMatcher>(); }
std::unique_ptr<Matcher> make_has() { return std::make_unique<HasMatcher>(); }
std::unique_ptr<Matcher> make_time() { return std::make_unique<TimeMatcher>(); }
std::unique_ptr<Matcher> make_maxconn() { return std::make_unique<ConnectionMatcher>(); }
std::unique_ptr<Matcher> make_random() { return std::make_unique<RandomMatcher>(); }

}  // namespace loligo::access
