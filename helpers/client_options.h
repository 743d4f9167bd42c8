// loligoclient's command line: squidclient's options, read into a plain struct.
//
// The last argument is the URL; options stand before it. Pure but for getopt's
// own state: one thread. Errors are values, with the text to show.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace loligo::helpers {

struct ClientOptions {
  // Connection
  std::string host = "localhost";
  std::string port = "3128";
  std::string local_address;          // empty = the system chooses
  int timeout_seconds = 120;          // of each wait for the other side
  bool tls = false;
  std::string tls_certificate;        // PEM chain with its key
  std::string tls_authorities;        // PEM file; empty = the system's
  std::string tls_parameters;         // OpenSSL cipher list
  bool tls_anonymous = false;         // no verification, anonymous suites allowed

  // Output
  bool quiet = false;
  int verbosity = 0;                  // 1 = the request on standard error, 2 = each step too
  bool help = false;

  // Request
  std::string url;
  std::string method = "GET";
  std::string version = "1.0";        // "-" = a bare request line, as before HTTP/1.0
  std::string user_agent;             // empty = no such field
  bool accept = true;
  bool reload = false;
  bool keep_alive = false;
  int64_t modified_since = 0;         // epoch seconds; 0 = no such field
  std::optional<unsigned> max_forwards;
  std::optional<std::string> host_field;
  std::string extra_fields;           // verbatim, escapes already replaced
  std::string payload_path;
  std::optional<std::string> proxy_user, proxy_password;
  std::optional<std::string> www_user, www_password;

  // Ping
  bool ping = false;
  unsigned ping_count = 0;            // 0 = until interrupted
  unsigned ping_interval_seconds = 1;
};

struct ParsedOptions {
  ClientOptions options;
  std::string error;   // empty = fine
};

// argv as main() gets it. Reorders nothing that the caller can see.
ParsedOptions parse_client_options(int argc, const char* const* argv);

extern const char kClientUsage[];

// Replaces \\ \n \r \t; any other escaped character stands for itself.
std::string unescape(std::string_view);

}  // namespace loligo::helpers
