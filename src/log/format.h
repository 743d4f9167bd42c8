// A logformat: compiled once from its definition, then rendered for each record.
//
//   definition = *( text | "%%" | item )
//   item       = "%" [encoding] ["-"] [["0"] width] ["." max] ["{" arg "}"] code ["{" arg "}"]
//   encoding   = DQUOTE | "[" | "#" | "/" | "'"
//
// The argument stands before or after the code, not both. Quotes or brackets
// in the text around an item set its encoding. Codes are matched by the longest
// name; "http::" in front is optional, "tls::" means "ssl::". `max` cuts text;
// with times it is the number of fraction digits.
//
// Owner: a worker. Compiled formats may be copied to any thread, but one
// Format renders on one thread: it keeps the text of the current second.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/buffer.h"
#include "log/encode.h"
#include "log/record.h"

namespace loligo::log {

struct RenderOptions {
  bool strip_query_terms = true;  // URLs end at their "?" (ICP and HTCP lines excepted)
  bool log_mime_hdrs = false;     // squid, common and combined end with " [request head] [reply head]"
  net::Address client_netmask;    // not valid = clients are logged in full
};

// What the compiler has to say about a definition; `offset` counts bytes from its start.
struct FormatNote {
  bool error;
  size_t offset;
  std::string message;
  std::string fix;
};

struct Code;  // a row of the table of codes, in format_codes.h

// One piece of a line: fixed text, or a code with the way to write it.
struct Item {
  const Code* code = nullptr;  // null = fixed text
  std::string text;            // the fixed text, the date format, or a field's name (lower case)
  std::string element;         // %{Field:element}: one member of a list
  char separator = ',';
  Encoding encoding = Encoding::token;
  bool left = false, zeros = false;
  int width = 0;               // at least so many bytes, 0 = no matter
  int max = -1;                // at most so many bytes, or fraction digits; -1 = no matter
  // The text of a date, valid for one second.
  int64_t cached_second = INT64_MIN;
  std::string cached;
};

// Texts of the native line that the next one most often has too.
struct NativeCache {
  int64_t second = INT64_MIN;
  unsigned second_size = 0, client_size = 0;
  net::Address client;
  char second_text[24], client_text[48];
};

class Format {
 public:
  static constexpr int kMaxWidth = 1024;
  static constexpr size_t kMaxItems = 256;
  static constexpr size_t kMaxLineBytes = 1 << 20;  // a longer line is cut there; it stays one line

  // Null when a note is an error; warnings (codes without a value here) leave "-" in the line.
  static std::optional<Format> compile(std::string_view definition, std::vector<FormatNote>& notes);
  // squid, common, combined, referrer, useragent, icap_squid; null for other names.
  static std::optional<Format> builtin(std::string_view name);
  static bool is_builtin(std::string_view name);
  static std::string_view builtin_definition(std::string_view name);

  // Appends one line without its line end.
  void render(const Record&, const RenderOptions&, Buffer& out);

 private:
  friend class FormatCompiler;
  std::vector<Item> items_;
  bool native_ = false;         // the squid format has its own, faster way
  bool mime_headers_ = false;   // log_mime_hdrs applies
  Buffer scratch_;
  NativeCache native_cache_;
};

// The squid format without the table: the same bytes, a third of the time.
void render_native(const Record&, const RenderOptions&, NativeCache&, Buffer& out);
void append_mime_headers(const Record&, Buffer& out);

}  // namespace loligo::log
