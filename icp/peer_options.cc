#include "icp/peer_options.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>

#include "base/text.h"
#include "config/bind.h"
#include "http/uri.h"
#include "net/tls_options.h"

namespace loligo::icp {
namespace {

using config::Problems;
using config::Statement;

struct Context {
  Peer& peer;
  const config::Place& place;
  Problems& problems;
};

template <bool Peer::*Member>
void set(Context& c, std::string_view) { c.peer.*Member = true; }
template <std::string Peer::*Member>
void store(Context& c, std::string_view value) { c.peer.*Member = value; }
template <int Peer::*Member>
void number(Context& c, std::string_view value) {
  auto n = base::parse_decimal<int>(value);
  if (n) c.peer.*Member = *n;
  else c.problems.error(c.place, "'" + std::string(value) + "' is not a whole number");
}
void connect_timeout(Context& c, std::string_view value) {
  auto seconds = base::parse_decimal<int>(value);
  if (seconds) c.peer.connect_timeout = base::Milliseconds(int64_t(*seconds) * 1000);
  else c.problems.error(c.place, "connect-timeout= is a number of seconds");
}
void htcp(Context& c, std::string_view modes) {
  static constexpr std::string_view kModes[] = {"oldsquid", "no-clr", "only-clr", "no-purge-clr", "forward-clr"};
  c.peer.htcp = true;
  while (!modes.empty()) {
    size_t comma = modes.find(',');
    std::string_view mode = modes.substr(0, comma);
    modes.remove_prefix(comma == modes.npos ? modes.size() : comma + 1);
    if (std::find(std::begin(kModes), std::end(kModes), mode) != std::end(kModes)) c.peer.htcp_modes.emplace_back(mode);
    else c.problems.error(c.place, "'" + std::string(mode) + "' is no HTCP mode", "oldsquid, no-clr, only-clr, no-purge-clr, forward-clr");
  }
}
void tls(Context& c, std::string_view) { c.peer.tls = true; }
void front_end_https(Context& c, std::string_view value) {
  c.peer.front_end_https = value == "auto" ? Peer::FrontEndHttps::automatic : value == "off" ? Peer::FrontEndHttps::off : Peer::FrontEndHttps::on;
}
// Blanks and the like in a password are written %20.
void login(Context& c, std::string_view value) {
  c.peer.login = http::percent_decode(value).value_or(std::string(value));
  if (value.starts_with("NEGOTIATE")) c.problems.warning(c.place, "login=NEGOTIATE has no effect yet: the peer gets no credentials");
}
void without_effect(Context& c, std::string_view) { c.problems.warning(c.place, "this option has no effect yet"); }
void quiet(Context&, std::string_view) {}

struct Option {
  std::string_view name;
  bool needs_value;
  void (*apply)(Context&, std::string_view value);
};
constexpr Option kOptions[] = {
    {"default", false, set<&Peer::default_>},
    {"round-robin", false, set<&Peer::round_robin>},
    {"weighted-round-robin", false, set<&Peer::weighted_round_robin>},
    {"carp", false, set<&Peer::carp>},
    {"carp-key", true, store<&Peer::carp_key>},
    {"userhash", false, set<&Peer::userhash>},
    {"sourcehash", false, set<&Peer::sourcehash>},
    {"weight", true, number<&Peer::weight>},
    {"basetime", true, number<&Peer::basetime>},
    {"proxy-only", false, set<&Peer::proxy_only>},
    {"no-query", false, set<&Peer::no_query>},
    {"no-digest", false, set<&Peer::no_digest>},
    {"no-netdb-exchange", false, set<&Peer::no_netdb_exchange>},
    {"no-delay", false, set<&Peer::no_delay>},
    {"originserver", false, set<&Peer::originserver>},
    {"allow-miss", false, set<&Peer::allow_miss>},
    {"closest-only", false, set<&Peer::closest_only>},
    {"background-ping", false, set<&Peer::background_ping>},
    {"standby", true, number<&Peer::standby>},
    {"max-conn", true, number<&Peer::max_conn>},
    {"connect-timeout", true, connect_timeout},
    {"connect-fail-limit", true, number<&Peer::connect_fail_limit>},
    {"login", true, login},
    {"name", true, store<&Peer::name>},
    {"forceddomain", true, store<&Peer::forceddomain>},
    {"digest-url", true, store<&Peer::digest_url>},
    {"htcp", false, htcp},
    {"ssl", false, tls},
    {"tls", false, tls},
    {"front-end-https", false, front_end_https},
    {"connection-auth", false, without_effect},
    {"auth-no-keytab", false, without_effect},
    {"multicast-responder", false, without_effect},
    {"multicast-siblings", false, without_effect},
    {"ttl", true, without_effect},
    {"no-tproxy", false, quiet},  // nothing is intercepted
};

void apply_option(const Statement& s, size_t i, Peer& peer, Problems& problems) {
  std::string_view word = s.words[i].text;
  size_t equals = word.find('=');
  std::string_view name = word.substr(0, equals);
  std::string_view value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
  config::Place place = s.at(i);
  Context context{peer, place, problems};
  if (word.starts_with("htcp-")) return htcp(context, word.substr(5));  // the old spelling of htcp=
  for (const Option& o : kOptions) {
    if (o.name != name) continue;
    if (o.needs_value && value.empty()) return problems.error(place, std::string(name) + "= wants a value");
    return o.apply(context, value);
  }
  bool prefixed = name.starts_with("tls") || name.starts_with("ssl");
  if (!prefixed || !net::parse_tls_option(word, peer.tls_settings, place, problems))
    problems.warning(place, "'" + std::string(word) + "' is no option of cache_peer and is ignored", "see loligo.conf(5)");
}

bool read_port(const Statement& s, size_t word, const char* protocol, uint16_t& out, Problems& problems) {
  if (!config::require_word(s, word, "a host, a type, an HTTP port and an ICP port", problems)) return false;
  if (auto number = base::parse_decimal<uint16_t>(s.words[word].text)) {
    out = *number;
    return true;
  }
  if (const servent* service = ::getservbyname(s.words[word].text.c_str(), protocol)) {
    out = ntohs(static_cast<uint16_t>(service->s_port));
    return true;
  }
  problems.error(s.at(word), "'" + s.words[word].text + "' is neither a port nor a service");
  return false;
}

constexpr std::pair<std::string_view, Peer::Type> kTypes[] = {
    {"parent", Peer::Type::parent}, {"sibling", Peer::Type::sibling}, {"multicast", Peer::Type::multicast}};

bool read_type(const Statement& s, Peer& peer, Problems& problems) {
  for (auto& [word, type] : kTypes)
    if (base::iequals(word, s.words[1].text)) {
      peer.type = type;
      return true;
    }
  problems.error(s.at(1), "'" + s.words[1].text + "' is no type of peer", "parent, sibling or multicast");
  return false;
}

// What the first version does not do yet; a peer without queries still serves.
void report_limits(const Peer& peer, Problems& problems) {
  if (peer.type == Peer::Type::multicast) problems.warning(peer.place, "multicast peers have no effect yet");
  if (peer.icp_port != 0 && !peer.no_query)
    problems.warning(peer.place, std::string(peer.htcp ? "HTCP" : "ICP") + " is not spoken yet: this peer is used without queries");
}

}  // namespace

void parse_cache_peer(const Statement& s, void* settings, Problems& problems) {
  auto& icp = *static_cast<Settings*>(settings);
  Peer peer;
  peer.place = s.place;
  peer.original = config::rest_without_comment(s);
  if (!config::require_word(s, 3, "a host, a type, an HTTP port and an ICP port", problems)) return;
  peer.host = s.words[0].text;
  if (!config::plausible_host(peer.host)) return problems.error(s.at(0), "'" + peer.host + "' is neither an address nor a host name");
  if (!read_type(s, peer, problems) || !read_port(s, 2, "tcp", peer.http_port, problems) || !read_port(s, 3, "udp", peer.icp_port, problems)) return;
  for (size_t i = 4; i < s.words.size(); ++i) apply_option(s, i, peer, problems);
  if (peer.name.empty()) peer.name = peer.host;
  if (icp.find(peer.name) != nullptr) return problems.error(s.place, "a second peer named " + peer.name, "give one of them name=");
  report_limits(peer, problems);
  icp.peers.push_back(std::move(peer));
}

// More people read the manager's pages than the file: they never show a password.
std::string shown_words(const Peer& p) {
  std::string value = p.original;
  for (size_t at = value.find(" login="); at != value.npos; at = value.find(" login=", at + 7)) {
    size_t end = std::min(value.find_first_of(" \t", at + 7), value.size()), colon = value.find(':', at);
    if (colon < end) value.replace(colon + 1, end - colon - 1, "XXXXXXXXXX");
  }
  return value;
}

void dump_cache_peers(const config::Directive& self, const void* settings, std::string& out) {
  for (const Peer& p : static_cast<const Settings*>(settings)->peers) config::dump_line(self, shown_words(p), out);
}

}  // namespace loligo::icp
