// Error pages: which template answers an error, in which language, and the
// reply fields that go with it.
//
// Order for a page NAME, first found wins:
//   1. <error_directory>/NAME          the administrator's own; no language is negotiated
//   2. <directory>/<language>/NAME     by Accept-Language (RFC 9110 12.5.4, lookup of RFC 4647),
//                                      then error_default_language; <directory> is error_directory, else the installed one
//   3. the built-in English page
//
// All files are read when the snapshot is made, so answering never touches the
// disk and a header never becomes part of a path. Immutable, any thread;
// owned by the configuration.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/error_page_table.h"
#include "client/error_page_template.h"

namespace loligo::client {

struct ErrorPageSettings {
  std::string error_directory;          // empty = not set
  std::string installed_directory;      // used when error_directory is not set; may be missing
  std::string error_default_language;   // empty = "en"
  std::string err_page_stylesheet;      // a file; empty or unreadable = the built-in one
  std::vector<std::string> own_pages;   // names that deny_info uses beyond the built-in ones
  PageConstants constants;              // stylesheet is filled from the file
};

struct ErrorReply {
  int status = 0;
  std::string body;
  std::string_view content_type;   // text/html;charset=utf-8
  std::string language;            // Content-Language; empty = unknown, no field
  bool negotiated = false;         // Vary: Accept-Language
  std::string squid_error;         // X-Squid-Error: "ERR_NAME errno"

  // Content-Type, X-Squid-Error, Vary and Content-Language as field lines, each with CRLF.
  std::string field_lines() const;
};

class ErrorPages {
 public:
  // `problems` gets one line for each file that is named and cannot be used; the pages work without them.
  ErrorPages(const ErrorPageSettings&, std::vector<std::string>& problems);

  ErrorReply render(ErrorId, const ErrorFacts&, std::string_view accept_language) const;

  // A built-in name or one of own_pages; ErrorId::none otherwise.
  ErrorId find(std::string_view name) const;
  std::string_view name(ErrorId) const;   // of either kind; "ERR_ACCESS_DENIED" for none
  // The Location of `deny_info URL`.
  std::string location(std::string_view pattern, const ErrorFacts&, ErrorId) const;

 private:
  struct Page {
    std::string name;
    PageTemplate built_in;
    std::shared_ptr<const PageTemplate> own;                                           // 1. above
    std::unordered_map<std::string, std::shared_ptr<const PageTemplate>> by_language;  // 2. above, lower-case tags
  };
  struct Choice { const PageTemplate* page; std::string language; };
  Choice choose(const Page&, std::string_view accept_language) const;
  const Page& page(ErrorId) const;
  void read_languages(const std::string& directory, std::vector<std::string>& problems);

  PageConstants constants_;
  std::string default_language_;
  std::vector<Page> pages_;   // by id
};

// One value of deny_info: what is answered instead of the usual page.
//   deny_info = [ status ":" ] ( page-name / URL / "TCP_RESET" )
struct DenyInfo {
  enum class Kind : unsigned char { page, redirect, reset };
  Kind kind = Kind::page;
  int status = 0;          // 0 = the page's own, or 302 (GET, HEAD) and 303 for a redirect
  std::string value;       // page name or URL pattern
};
DenyInfo parse_deny_info(std::string_view word);

// Language ranges of Accept-Language in order of preference, lower case, without those of weight 0. "*" may be one.
// At most 32; what is malformed is skipped.
std::vector<std::string> preferred_languages(std::string_view accept_language);

}  // namespace loligo::client
