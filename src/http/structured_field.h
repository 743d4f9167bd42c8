// Structured fields (RFC 9651), as far as caching needs them: every kind of member
// is recognised, of which booleans, integers and strings are kept. Strict: one
// error, and the whole field is none.
//
// Pure code; any thread. The views lie in the text that is read.
#pragma once
#include <cstdint>
#include <string_view>

namespace loligo::http {

struct StructuredItem {
  enum class Kind : uint8_t { boolean, integer, string, other };
  Kind kind = Kind::boolean;
  int64_t number = 1;      // of a boolean or an integer; beyond kDeltaMax it saturates
  std::string_view text;   // of a string, between its quotes, escapes as they came
};

class StructuredReader {
 public:
  explicit StructuredReader(std::string_view text) : rest_(text) { blanks(false); }
  bool good() const { return good_; }
  bool at_end() const { return !good_ || rest_.empty(); }

  std::string_view key();        // of a dictionary's member
  StructuredItem value();        // what follows a key: "=" and a member, or nothing, which is true; then its parameters
  StructuredItem member();       // of a list, and its parameters
  void separator();              // to the next member, if there is one; a comma must have one behind it

 private:
  void fail() { good_ = false; }
  bool next_is(char c) const { return good_ && !rest_.empty() && rest_.front() == c; }
  bool next_is(bool (*wanted)(char)) const { return good_ && !rest_.empty() && wanted(rest_.front()); }
  bool skip(char c);
  template <class F> std::string_view take(F&& wanted);
  void blanks(bool tabs);
  void parameters();
  StructuredItem inner_list();
  StructuredItem bare_item();
  StructuredItem number();
  StructuredItem string();
  StructuredItem binary();

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace loligo::http
