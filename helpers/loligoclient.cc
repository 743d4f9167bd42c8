// loligoclient: asks a proxy's manager for a page, or sends it any request,
// with squidclient's options; doc/loligoclient.1 describes it.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "helpers/client_exchange.h"
#include "helpers/client_options.h"
#include "helpers/client_ping.h"

namespace {

using loligo::helpers::ClientOptions;

// A user without a password is asked for it, on the terminal and without an echo. False when there is nobody to ask.
bool ask_for_password(const char* whose, const std::optional<std::string>& user, std::optional<std::string>& password) {
  if (!user || password) return true;
  const char* typed = getpass((std::string(whose) + " password: ").c_str());
  if (!typed) return false;
  password = typed;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace loligo::helpers;
  ParsedOptions parsed = parse_client_options(argc, argv);
  ClientOptions& options = parsed.options;
  if (options.help) {
    std::fputs(kClientUsage, stdout);
    return 0;
  }
  if (!parsed.error.empty()) {
    std::fprintf(stderr, "loligoclient: %s\n%s", parsed.error.c_str(), kClientUsage);
    return 1;
  }
  if (!ask_for_password("Proxy", options.proxy_user, options.proxy_password) ||
      !ask_for_password("WWW", options.www_user, options.www_password)) {
    std::fprintf(stderr, "loligoclient: a user needs a password: -w, or -W\n");
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  if (options.ping) return ping(options);
  Exchange result = exchange(options, options.quiet ? nullptr : stdout);
  if (!result.error.empty()) std::fprintf(stderr, "ERROR: %s\n", result.error.c_str());
  return exit_code(result);
}
