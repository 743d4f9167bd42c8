// Templates of error pages: text with %-codes in the syntax of Squid's own
// template files, compiled once, filled in for each error.
//
//   template = *( text / code / rule )
//   code     = "%" one character of the table in the .cc; "%%" is a percent sign
//   rule     = "@Loligo{rule}"   the access rule that decided, where the settings show it
//
// A character that is no code stays as it is, percent sign included.
//
// Everything that came from a client, an origin or a name server is hostile:
// every value is escaped for HTML text, for attribute values and for script
// strings alike (old templates put values into all three). Only the
// administrator's own files (%l, %L) and what is composed here (%S, %W) are not.
// Output is bounded: values and the page are cut at fixed sizes.
//
// Immutable once compiled; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace loligo::client {

// What is known when an error is answered. Views live until the call returns; empty = not known.
struct ErrorFacts {
  int status = 0;                       // 0 = the error's own
  int error_number = 0;                 // errno: %e, %E
  std::string_view method;              // %M, as received
  std::string_view url;                 // %U %u %B; userinfo is removed here
  std::string_view scheme, host;        // %P %H, of the URL
  unsigned port = 0;                    // %p
  std::string_view path;                // %R in a deny_info URL; path and query, as received
  std::string_view request_head;        // %R, raw bytes
  std::string_view client_address;      // %i
  std::string_view server_address;      // %I; address or name of the origin or peer that failed
  std::string_view listening_address;   // %A
  unsigned listening_port = 0;          // %b
  std::string_view user;                // %a
  std::string_view auth_message;        // %m
  std::string_view acl_message;         // %o %O, an external ACL's message
  std::string_view dns_message;         // %z
  std::string_view tls_error;           // %x
  std::string_view detail;              // %D
  std::string_view text;                // %Z
  std::string_view rule;                // "squid.conf:12", the access rule that decided
  base::WallSeconds now = 0;            // %t %T
  int64_t elapsed_ms = 0;               // %d
};

// What all pages of one configuration share.
struct PageConstants {
  std::string hostname;        // %h
  std::string software;        // %s
  std::string administrator;   // %w, an e-mail address
  std::string stylesheet;      // %l, the administrator's own: not escaped
  std::string contact;         // %L, err_html_text: not escaped
  bool email_data = false;     // %W is filled
  bool show_rule = false;
};

inline constexpr size_t kMaxTemplate = 64 * 1024;
inline constexpr size_t kMaxValue = 4 * 1024;      // of one value, before escaping
inline constexpr size_t kMaxDump = 16 * 1024;      // of %R, before escaping
inline constexpr size_t kMaxPage = 512 * 1024;

class PageTemplate {
 public:
  PageTemplate() = default;
  explicit PageTemplate(std::string_view text);   // what exceeds kMaxTemplate is dropped

  std::string fill(const ErrorFacts&, const PageConstants&, std::string_view error_name) const;
  // For deny_info URL: values are percent-encoded, but %R is the path as it came; a Location without controls or blanks.
  std::string fill_location(const ErrorFacts&, const PageConstants&, std::string_view error_name) const;

 private:
  struct Piece {
    std::string text;         // literal text; for a code empty
    char code = 0;            // 0 = literal
    bool begins_attribute = false;  // the code opens an attribute value, such as href="%U"
  };
  std::vector<Piece> pieces_;
};

// Appends `value` with everything escaped that could leave text, an attribute or a script string; controls and
// malformed UTF-8 become U+FFFD. `lines` keeps line breaks.
void append_escaped(std::string& out, std::string_view value, bool lines = false);

}  // namespace loligo::client
