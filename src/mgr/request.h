// Requests to the cache manager, in both forms that clients send:
//
//   cache_object://HOST/ACTION[@PASSWORD]        squidclient up to 5, munin, cachemgr.cgi
//   ANY://HOST/squid-internal-mgr/ACTION         squidclient 6, curl, exporters (origin-form, too)
//
// "?query" is for the pages that ask for one (explain), "#fragment" is ignored; action names keep their case. An empty action is "menu" in the first form and
// "index" in the second. '@' splits only in the first. A password in Authorization: Basic beats the other; the user name
// does not matter. The method does not matter, either.
// Pure functions, any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace loligo::mgr {

struct Request {
  std::string_view scheme;          // of the effective URL: "http", "cache_object"
  std::string_view path;            // from '/' on, query included
  std::string_view authorization;   // value of Authorization, empty = none
  std::string_view client = {};     // address of who asks
};

// The request is for the manager, whatever becomes of it. (Host and port are the caller's to check for http.)
bool is_for_manager(std::string_view scheme, std::string_view path);
// The path is one of ours ("/squid-internal-...") and never goes to an origin.
bool is_internal(std::string_view path);

struct Asked {
  std::string action;
  std::string_view query;           // behind the question mark
  std::optional<std::string> password;
};
Asked read_request(const Request&);

// The password of "Basic BASE64(user:password)"; nullopt if it is not that.
std::optional<std::string> basic_password(std::string_view authorization);
// Takes as long wherever the two differ.
bool same_secret(std::string_view given, std::string_view wanted);

}  // namespace loligo::mgr
