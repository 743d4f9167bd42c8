#include "client/port_options.h"

#include <optional>

#include "base/text.h"
#include "config/bind.h"
#include "net/tls_options.h"

namespace loligo::client {
namespace {

using config::Problems;
using config::Statement;

// A port while its line is read.
struct Draft {
  Port port;
  bool accel_only_option = false;
  config::Place accel_only_place;
  std::string accel_only_word;
  int modes = 0;
};
struct Context {
  Draft& draft;
  const config::Place& place;
  Problems& problems;
};

void mode(Context& c, Port::Mode m) {
  if (c.draft.port.mode != m) ++c.draft.modes;
  c.draft.port.mode = m;
}
void need_accel(Context& c, std::string_view word) {
  if (c.draft.accel_only_option) return;
  c.draft.accel_only_option = true;
  c.draft.accel_only_place = c.place;
  c.draft.accel_only_word = word;
}
void accel(Context& c, std::string_view) { mode(c, Port::Mode::accel); }
void intercept(Context& c, std::string_view) { mode(c, Port::Mode::intercept); }
void tproxy(Context& c, std::string_view) { mode(c, Port::Mode::tproxy); }
void vhost(Context& c, std::string_view) {
  mode(c, Port::Mode::accel);
  c.draft.port.vhost = true;
}
void no_vhost(Context& c, std::string_view) {
  need_accel(c, "no-vhost");
  c.draft.port.vhost = false;
}
void defaultsite(Context& c, std::string_view value) {
  need_accel(c, "defaultsite=");
  c.draft.port.defaultsite = value;
}
void vport(Context& c, std::string_view value) {
  need_accel(c, "vport");
  c.draft.port.vport = 0;
  if (value.empty()) return;
  auto number = base::parse_decimal<uint16_t>(value);
  if (number && *number > 0) c.draft.port.vport = *number;
  else c.problems.error(c.place, "vport=" + std::string(value) + " is no port number");
}
void protocol(Context& c, std::string_view value) {
  std::string word = base::to_lower(value.substr(0, value.find('/')));
  if (word != "http" && word != "https") return c.problems.error(c.place, "protocol= is HTTP or HTTPS");
  c.draft.port.protocol = word;
}
void allow_direct(Context& c, std::string_view) {
  need_accel(c, "allow-direct");
  c.draft.port.allow_direct = true;
}
void ignore_cc(Context& c, std::string_view) {
  need_accel(c, "ignore-cc");
  c.draft.port.ignore_cc = true;
}
void act_as_origin(Context& c, std::string_view) {
  need_accel(c, "act-as-origin");
  c.draft.port.act_as_origin = true;
}
void name(Context& c, std::string_view value) { c.draft.port.name = value; }
void ipv4(Context& c, std::string_view) { c.draft.port.ipv4_only = true; }
void ssl_bump(Context& c, std::string_view) { c.draft.port.ssl_bump = true; }
void proxy_header(Context& c, std::string_view) {
  if (c.draft.port.tls) c.problems.error(c.place, "require-proxy-header cannot stand on https_port");
  c.draft.port.require_proxy_header = true;
}
// tcpkeepalive[=idle,interval,timeout]
void keepalive(Context& c, std::string_view value) {
  Port::Keepalive& k = c.draft.port.keepalive;
  k.on = true;
  int* fields[] = {&k.idle, &k.interval, &k.timeout};
  for (int* field : fields) {
    if (value.empty()) return;
    size_t comma = value.find(',');
    auto seconds = base::parse_decimal<int>(value.substr(0, comma));
    if (!seconds) return c.problems.error(c.place, "tcpkeepalive= wants idle,interval,timeout in seconds");
    *field = *seconds;
    value.remove_prefix(comma == value.npos ? value.size() : comma + 1);
  }
}
void quiet(Context&, std::string_view) {}
void without_effect(Context& c, std::string_view) { c.problems.warning(c.place, "this option has no effect yet"); }

enum class Value : unsigned char { none, optional, required };
struct Option {
  std::string_view name;
  Value value;
  void (*apply)(Context&, std::string_view value);
};
constexpr Option kOptions[] = {
    {"accel", Value::none, accel},
    {"intercept", Value::none, intercept},
    {"transparent", Value::none, intercept},
    {"tproxy", Value::none, tproxy},
    {"vhost", Value::none, vhost},
    {"no-vhost", Value::none, no_vhost},
    {"defaultsite", Value::required, defaultsite},
    {"vport", Value::optional, vport},
    {"protocol", Value::required, protocol},
    {"allow-direct", Value::none, allow_direct},
    {"ignore-cc", Value::none, ignore_cc},
    {"act-as-origin", Value::none, act_as_origin},
    {"name", Value::required, name},
    {"ipv4", Value::none, ipv4},
    {"ssl-bump", Value::none, ssl_bump},
    {"sslBump", Value::none, ssl_bump},
    {"require-proxy-header", Value::none, proxy_header},
    {"tcpkeepalive", Value::optional, keepalive},
    {"worker-queues", Value::none, quiet},           // every worker has a queue of its own anyway
    {"connection-auth", Value::optional, without_effect},
    {"no-connection-auth", Value::none, without_effect},
    {"disable-pmtu-discovery", Value::required, without_effect},
    {"generate-host-certificates", Value::optional, quiet},   // part of ssl-bump
    {"dynamic_cert_mem_cache_size", Value::required, quiet},  // part of ssl-bump
    {"urlgroup", Value::required, without_effect},
};

void apply_option(const Statement& s, size_t i, Draft& draft, Problems& problems) {
  std::string_view word = s.words[i].text;
  size_t equals = word.find('=');
  std::string_view option_name = word.substr(0, equals);
  config::Place place = s.at(i);
  for (const Option& o : kOptions) {
    if (o.name != option_name) continue;
    if (o.value == Value::none && equals != word.npos) return problems.error(place, std::string(o.name) + " takes no value");
    std::string_view value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
    if (o.value == Value::required && value.empty()) return problems.error(place, std::string(o.name) + "= wants a value");
    Context context{draft, place, problems};
    return o.apply(context, value);
  }
  if (!net::parse_tls_option(word, draft.port.tls_settings, place, problems))
    problems.error(place, "'" + std::string(word) + "' is no option of " + s.name, word == "ssl" ? "use https_port" : "see loligo.conf(5)");
}

// "3128", "host:3128", "1.2.3.4:3128", "[v6]:3128"
bool parse_specification(const Statement& s, Port& port, Problems& problems) {
  if (!config::require_word(s, 0, "[address:]port", problems)) return false;
  std::string_view word = s.words[0].text;
  size_t colon = word.rfind(':');
  std::string_view host = colon == word.npos ? std::string_view() : word.substr(0, colon);
  std::string_view number = colon == word.npos ? word : word.substr(colon + 1);
  auto value = base::parse_decimal<uint16_t>(number);
  if (!value || *value == 0) {
    problems.error(s.at(0), "'" + std::string(word) + "' does not end with a port number", "write 3128 or ADDRESS:3128");
    return false;
  }
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!host.empty() && (!config::plausible_host(host) || (!bracketed && host.find(':') != host.npos))) {
    problems.error(s.at(0), "'" + std::string(host) + "' is neither an address nor a host name", "put an IPv6 address in brackets");
    return false;
  }
  port.host = host;
  port.port = *value;
  return true;
}

// What would run more open, or not at all, as an ordinary port.
void report_restrictions(const Port& port, Problems& problems) {
  constexpr const char* kFix = "remove the option or the line";
  if (port.mode == Port::Mode::intercept || port.mode == Port::Mode::tproxy)
    problems.restricts(port.place, "intercepted traffic is not implemented yet", kFix);
  if (port.ssl_bump) problems.restricts(port.place, "ssl-bump is not implemented yet: rules about the inside of TLS would not apply", kFix);
  if (port.require_proxy_header) problems.restricts(port.place, "require-proxy-header is not implemented yet: rules would see the load balancer in place of the client", kFix);
}

void parse_port(const Statement& s, Settings& settings, bool tls, Problems& problems) {
  Draft draft;
  draft.port.place = s.place;
  draft.port.tls = tls;
  if (!parse_specification(s, draft.port, problems)) return;
  for (size_t i = 1; i < s.words.size(); ++i) apply_option(s, i, draft, problems);
  Port& port = draft.port;
  if (draft.modes > 1) problems.error(s.place, "accel, intercept and tproxy exclude each other", "keep one of them");
  else if (draft.accel_only_option && port.mode != Port::Mode::accel)
    problems.error(draft.accel_only_place, draft.accel_only_word + " wants a port in accel mode", "add accel behind the port number");
  if (tls && port.tls_settings.certificates.empty())
    problems.error(s.place, "https_port needs a certificate", "add tls-cert=/path/to/certificate.pem");
  if (port.name.empty()) port.name = s.words[0].text;
  report_restrictions(port, problems);
  settings.ports.push_back(std::move(port));
}

constexpr std::pair<Port::Mode, std::string_view> kModeWords[] = {
    {Port::Mode::accel, " accel"}, {Port::Mode::intercept, " intercept"}, {Port::Mode::tproxy, " tproxy"}};
constexpr std::pair<bool Port::*, std::string_view> kFlagWords[] = {
    {&Port::allow_direct, " allow-direct"}, {&Port::ignore_cc, " ignore-cc"}, {&Port::act_as_origin, " act-as-origin"}, {&Port::ipv4_only, " ipv4"},
    {&Port::ssl_bump, " ssl-bump"}, {&Port::require_proxy_header, " require-proxy-header"}};

std::string port_text(const Port& p) {
  std::string host = p.host.find(':') != p.host.npos ? "[" + p.host + "]" : p.host;
  std::string out = host.empty() ? std::to_string(p.port) : host + ":" + std::to_string(p.port);
  std::string specification = out;
  for (auto& [mode, word] : kModeWords)
    if (p.mode == mode) out += word;
  if (!p.vhost) out += " no-vhost";
  if (!p.defaultsite.empty()) out += " defaultsite=" + p.defaultsite;
  if (p.vport == 0) out += " vport";
  if (p.vport > 0) out += " vport=" + std::to_string(p.vport);
  if (!p.protocol.empty()) out += " protocol=" + p.protocol;
  for (auto& [flag, word] : kFlagWords)
    if (p.*flag) out += word;
  if (p.name != specification) out += " name=" + p.name;
  const Port::Keepalive& k = p.keepalive;
  if (k.on) out += " tcpkeepalive";
  if (k.idle > 0) out += "=" + std::to_string(k.idle) + "," + std::to_string(k.interval) + "," + std::to_string(k.timeout);
  return out + net::tls_options_text(p.tls_settings, "tls-");
}

void dump_ports(const config::Directive& self, const void* settings, bool tls, std::string& out) {
  for (const Port& p : static_cast<const Settings*>(settings)->ports)
    if (p.tls == tls) config::dump_line(self, port_text(p), out);
}

}  // namespace

void parse_http_port(const Statement& s, void* settings, Problems& problems) { parse_port(s, *static_cast<Settings*>(settings), false, problems); }
void parse_https_port(const Statement& s, void* settings, Problems& problems) { parse_port(s, *static_cast<Settings*>(settings), true, problems); }
void dump_http_ports(const config::Directive& self, const void* settings, std::string& out) { dump_ports(self, settings, false, out); }
void dump_https_ports(const config::Directive& self, const void* settings, std::string& out) { dump_ports(self, settings, true, out); }

}  // namespace loligo::client
