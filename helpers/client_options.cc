#include "helpers/client_options.h"

#include <getopt.h>

#include <string_view>
#include <vector>

#include "base/text.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

namespace loligo::helpers {

const char kClientUsage[] =
    "Usage: loligoclient [options] URL\n"
    "\n"
    "URL is http://..., a path, mgr:PAGE or mgr:PAGE@PASSWORD, and stands last.\n"
    "For instance: loligoclient mgr:info\n"
    "\n"
    "       loligoclient purge [options] [--soft] URL\n"
    "       loligoclient purge [options] [--soft] --tag \"TAG ...\" | --regex EXPRESSION\n"
    "Removes from the cache: a URL, what carries a tag, what matches; with --soft it is stale.\n"
    "\n"
    "Connection:\n"
    "  -h, --host HOST      the proxy; localhost unless given\n"
    "  -p, --port PORT      its port; 3128 unless given\n"
    "  -l, --local ADDRESS  connect from this address\n"
    "  -T SECONDS           longest wait for the other side; 120 unless given\n"
    "      --https          speak TLS to the proxy, with\n"
    "      --trusted-ca FILE, --cert FILE, --params CIPHERS, --anonymous-tls\n"
    "Output:\n"
    "  -s, --quiet          print nothing of the reply\n"
    "  -v, --verbose        print the request on standard error; -vv each step too\n"
    "      --help           this text\n"
    "Request:\n"
    "  -m METHOD            GET unless given; PURGE removes from the cache\n"
    "  -r                   reload: Cache-Control: no-cache\n"
    "  -i SECONDS           If-Modified-Since, in seconds since 1970\n"
    "  -t HOPS              TRACE with Max-Forwards\n"
    "  -P FILE              send the file as the request's body\n"
    "  -H TEXT              extra header lines, with \\r \\n \\t \\\\\n"
    "  -j HOST              the Host field\n"
    "  -A TEXT              the User-Agent field; \"\" leaves it out\n"
    "  -a                   no Accept field\n"
    "  -k                   ask to keep the connection open\n"
    "  -V VERSION           1.0 unless given; - for a bare request line\n"
    "  -u USER -w PASSWORD  for the proxy; -w alone is the password of a mgr: page\n"
    "  -U USER -W PASSWORD  for the server, or for a mgr: page\n"
    "Ping:\n"
    "      --ping           repeat the request and time it\n"
    "  -g COUNT             this often; until interrupted unless given\n"
    "  -I SECONDS           pause between requests; 1 unless given\n"
    "\n"
    "Exit status: 0 the answer was 2xx or 3xx; 1 no (whole) answer, or wrong usage;\n"
    "2 the answer was 4xx; 3 the answer was 5xx.\n";

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) { out += text[i]; continue; }
    char c = text[++i];
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
  }
  return out;
}

namespace {

enum LongOnly : int { kHelp = 256, kPing, kHttps, kTrustedCa, kCert, kParams, kAnonymous };

const option kLongOptions[] = {
    {"host", required_argument, nullptr, 'h'},
    {"local", required_argument, nullptr, 'l'},
    {"port", required_argument, nullptr, 'p'},
    {"quiet", no_argument, nullptr, 's'},
    {"verbose", no_argument, nullptr, 'v'},
    {"help", no_argument, nullptr, kHelp},
    {"ping", no_argument, nullptr, kPing},
    {"https", no_argument, nullptr, kHttps},
    {"trusted-ca", required_argument, nullptr, kTrustedCa},
    {"cert", required_argument, nullptr, kCert},
    {"params", required_argument, nullptr, kParams},
    {"anonymous-tls", no_argument, nullptr, kAnonymous},
    {nullptr, 0, nullptr, 0},
};
constexpr char kShortOptions[] = ":aA:g:h:H:i:I:j:kl:m:nNp:P:rst:T:u:U:vV:w:W:";

template <class Integer>
bool read_number(const char* text, Integer least, Integer most, Integer& out) {
  auto value = base::parse_decimal<Integer>(text);
  if (!value || *value < least || *value > most) return false;
  out = *value;
  return true;
}

// One option with its argument (null where it takes none). False when the argument is not a number in its range.
bool apply(int option, const char* argument, ClientOptions& o) {
  switch (option) {
    case 'a': o.accept = false; return true;
    case 'A': o.user_agent = argument; return true;
    case 'g': return read_number(argument, 1u, 1'000'000'000u, o.ping_count);
    case 'h': o.host = argument; return true;
    case 'H': o.extra_fields = unescape(argument); return true;
    case 'i': return read_number<int64_t>(argument, 0, 253402300799, o.modified_since);  // to the year 9999
    case 'I': return read_number(argument, 0u, 86400u, o.ping_interval_seconds);
    case 'j': o.host_field = argument; return true;
    case 'k': o.keep_alive = true; return true;
    case 'l': o.local_address = argument; return true;
    case 'm': o.method = argument; return true;
    case 'p': {
      unsigned port = 0;
      if (!read_number(argument, 1u, 65535u, port)) return false;
      o.port = argument;
      return true;
    }
    case 'P': o.payload_path = argument; return true;
    case 'r': o.reload = true; return true;
    case 's': o.quiet = true; return true;
    case 't': {
      unsigned hops = 0;
      if (!read_number(argument, 0u, 1'000'000'000u, hops)) return false;
      o.max_forwards = hops;
      o.method = "TRACE";
      return true;
    }
    case 'T': return read_number(argument, 1, 86400, o.timeout_seconds);
    case 'u': o.proxy_user = argument; return true;
    case 'U': o.www_user = argument; return true;
    case 'v': ++o.verbosity; return true;
    case 'V': o.version = argument; return true;
    case 'w': o.proxy_password = argument; return true;
    case 'W': o.www_password = argument; return true;
    case kHelp: o.help = true; return true;
    case kPing: o.ping = true; return true;
    case kHttps: o.tls = true; return true;
    case kTrustedCa: o.tls_authorities = argument; return true;
    case kCert: o.tls_certificate = argument; return true;
    case kParams: o.tls_parameters = argument; return true;
    case kAnonymous: o.tls_anonymous = true; return true;
  }
  return false;
}

}  // namespace

static ParsedOptions parse_request_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  ClientOptions& o = parsed.options;
  o.user_agent = "loligoclient/" PACKAGE_VERSION;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help") { o.help = true; return parsed; }
  if (argc < 2 || argv[argc - 1][0] == '-') {
    parsed.error = "the last argument must be the URL";
    return parsed;
  }
  o.url = argv[argc - 1];
  // getopt reorders its array, so it gets one of its own, without the URL. Other words before the URL are passed over,
  // as squidclient does.
  std::vector<char*> words;
  for (int i = 0; i + 1 < argc; ++i) words.push_back(const_cast<char*>(argv[i]));
  words.push_back(nullptr);
  optind = 0;
  opterr = 0;
  int option;
  while ((option = getopt_long(int(words.size()) - 1, words.data(), kShortOptions, kLongOptions, nullptr)) != -1) {
    std::string name = optind > 0 && words[size_t(optind) - 1] ? words[size_t(optind) - 1] : "?";
    if (option == '?') parsed.error = "unknown option " + (optopt > 0 && optopt < 256 ? std::string("-") + char(optopt) : name);
    else if (option == ':') parsed.error = name + " needs a value before the URL";
    else if (option == 'n' || option == 'N') parsed.error = "Negotiate (Kerberos) authentication is not supported";
    else if (!apply(option, optarg, o)) parsed.error = std::string("bad value '") + (optarg ? optarg : "") + "' of -" + char(option);
    if (!parsed.error.empty()) return parsed;
  }
  return parsed;
}

// "purge" as the first word: its own options become header lines, the others are as ever. What names no URL is asked
// with one that no server has.
static ParsedOptions parse_purge_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  std::vector<const char*> words{argv[0], "-m", "PURGE"};
  std::string fields;
  bool by_name = true;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--soft") {
      fields += "Soft-Purge: 1\r\n";
    } else if (word == "--tag" || word == "--regex") {
      const std::string_view value = i + 1 < argc ? argv[++i] : "";
      if (value.empty() || value.find_first_of("\r\n") != value.npos) {
        parsed.error = std::string(word) + " needs a value on one line";
        return parsed;
      }
      fields.append(word == "--tag" ? "Surrogate-Key: " : "X-Ban-Url: ").append(value).append("\r\n");
      by_name = false;
    } else {
      words.push_back(argv[i]);
    }
  }
  const std::string_view last = words.back();
  if (!by_name && !last.starts_with("http://") && !last.starts_with("https://")) words.push_back("http://purge.invalid/");
  else if (words.size() == 3) words.push_back("-");   // no URL: refused as such
  parsed = parse_request_options(int(words.size()), words.data());
  parsed.options.extra_fields += fields;
  return parsed;
}

ParsedOptions parse_client_options(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "purge" ? parse_purge_options(argc, argv) : parse_request_options(argc, argv);
}

}  // namespace loligo::helpers
