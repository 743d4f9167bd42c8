#include "net/tls_options.h"

#include <algorithm>

namespace loligo::net {
namespace {

struct Context {
  TlsSettings& tls;
  const config::Place& place;
  config::Problems& problems;
};

// cert= begins a certificate, key= belongs to the last one that has none.
void certificate(Context& c, std::string_view value) {
  auto& list = c.tls.certificates;
  if (!list.empty() && list.back().cert_file.empty()) list.back().cert_file = value;
  else list.push_back({std::string(value), {}});
}
void key(Context& c, std::string_view value) {
  auto& list = c.tls.certificates;
  if (list.empty() || !list.back().key_file.empty()) list.push_back({});
  list.back().key_file = value;
}
void minimum(Context& c, std::string_view value) {
  if (value != "1.0" && value != "1.1" && value != "1.2" && value != "1.3")
    return c.problems.error(c.place, "'" + std::string(value) + "' is no version of TLS", "write 1.0, 1.1, 1.2 or 1.3");
  c.tls.min_version = value;
}
void flags(Context& c, std::string_view value) {
  static constexpr std::string_view kKnown[] = {"DONT_VERIFY_PEER", "DONT_VERIFY_DOMAIN", "NO_DEFAULT_CA", "NO_SESSION_REUSE", "VERIFY_CRL",
                                                "VERIFY_CRL_ALL", "DELAYED_AUTH", "CONDITIONAL_AUTH"};
  while (!value.empty()) {
    size_t end = value.find_first_of(",:");
    std::string_view word = value.substr(0, end);
    value.remove_prefix(end == value.npos ? value.size() : end + 1);
    if (word == "NO_DEFAULT_CA") c.tls.default_ca = false;
    else if (std::find(std::begin(kKnown), std::end(kKnown), word) != std::end(kKnown)) c.tls.flags.emplace_back(word);
    else c.problems.error(c.place, "'" + std::string(word) + "' is no TLS flag", "DONT_VERIFY_PEER, DONT_VERIFY_DOMAIN, NO_SESSION_REUSE, VERIFY_CRL, VERIFY_CRL_ALL, DELAYED_AUTH, CONDITIONAL_AUTH");
  }
}
void default_ca(Context& c, std::string_view value) {
  if (value == "off" || value == "on" || value.empty()) c.tls.default_ca = value != "off";
  else c.problems.error(c.place, "default-ca is on or off");
}
void old_version(Context& c, std::string_view) {
  c.problems.warning(c.place, "version= is obsolete and ignored", "use min-version= and options=");
}
void nothing(Context&, std::string_view) {}

struct Option {
  std::string_view name;
  bool needs_value;
  void (*apply)(Context&, std::string_view value);
};
template <std::string TlsSettings::*Member>
void store(Context& c, std::string_view value) { c.tls.*Member = value; }

constexpr Option kOptions[] = {
    {"cert", true, certificate},
    {"key", true, key},
    {"min-version", true, minimum},
    {"cipher", true, store<&TlsSettings::cipher>},
    {"options", true, store<&TlsSettings::options>},
    {"cafile", true, store<&TlsSettings::ca_file>},
    {"capath", true, store<&TlsSettings::ca_path>},
    {"crlfile", true, store<&TlsSettings::crl_file>},
    {"clientca", true, store<&TlsSettings::client_ca_file>},
    {"dh", true, store<&TlsSettings::dh_file>},
    {"dhparams", true, store<&TlsSettings::dh_file>},
    {"domain", true, store<&TlsSettings::domain>},
    {"flags", true, flags},
    {"default-ca", false, default_ca},
    {"version", true, old_version},
    {"context", true, nothing},   // session identifiers are per process here
    {"no-npn", false, nothing},   // NPN is gone from OpenSSL
};

const Option* find(std::string_view name) {
  for (const Option& o : kOptions)
    if (o.name == name) return &o;
  return nullptr;
}

}  // namespace

bool parse_tls_option(std::string_view word, TlsSettings& tls, const config::Place& place, config::Problems& problems) {
  size_t equals = word.find('=');
  std::string_view name = word.substr(0, equals);
  const Option* option = find(name);
  for (std::string_view prefix : {"tls-", "ssl", "tls"})
    if (option == nullptr && name.starts_with(prefix)) option = find(name.substr(prefix.size()));
  if (option == nullptr) return false;
  std::string_view value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
  Context context{tls, place, problems};
  if (option->needs_value && value.empty()) problems.error(place, std::string(name) + "= wants a value");
  else option->apply(context, value);
  return true;
}

std::string tls_options_text(const TlsSettings& tls, std::string_view prefix) {
  std::string out;
  auto put = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out.append(" ").append(prefix).append(name).append("=").append(value);
  };
  for (auto& c : tls.certificates) {
    put("cert", c.cert_file);
    put("key", c.key_file);
  }
  put("min-version", tls.min_version);
  put("cipher", tls.cipher);
  put("options", tls.options);
  put("cafile", tls.ca_file);
  put("capath", tls.ca_path);
  put("crlfile", tls.crl_file);
  put("clientca", tls.client_ca_file);
  put("dh", tls.dh_file);
  put("domain", tls.domain);
  std::string flags;
  for (auto& flag : tls.flags) flags.append(flags.empty() ? "" : ",").append(flag);
  put("flags", flags);
  if (!tls.default_ca) put("default-ca", "off");
  return out;
}

}  // namespace loligo::net
