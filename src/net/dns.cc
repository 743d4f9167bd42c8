#include "net/dns.h"

#include "base/event_log.h"
#include "net/dns_state.h"
#include "net/loop.h"
#include "net/settings.h"

namespace loligo::net {

using base::Section;

static Answer failure(DnsError error) {
  auto answer = std::make_shared<Addresses>();
  answer->error = error;
  return answer;
}

// ---- State -------------------------------------------------------------------

Resolver::State::State(Loop& l, const DnsSettings& s, std::shared_ptr<const HostsFile> h)
    : loop(l), settings(s), started_ms(l.now_ms()) {
  auto local = std::make_shared<Addresses>();
  local->list = {*Address::parse("127.0.0.1"), *Address::parse("::1")};
  local->good = 2;
  local->expires_ms = kNeverExpires;
  loopback = local;
  bad_name = failure(DnsError::bad_name);
  overload = failure(DnsError::overload);
  auto full_names = std::make_shared<Names>();
  full_names->error = DnsError::overload;
  names_overload = full_names;
  read_hosts(std::move(h));
  channel = std::make_unique<DnsChannel>(loop, settings);
}

void Resolver::State::read_hosts(std::shared_ptr<const HostsFile> given) {
  hosts = std::move(given);
  std::string error;
  if (!hosts && !settings.hosts_file.empty() && settings.hosts_file != "none") {
    hosts = HostsFile::load(settings.hosts_file, error);
    if (!hosts) base::log_event(Section::dns, 1, "hosts_file: {}", error);
  }
  if (!hosts) hosts = HostsFile::parse({});
}

const Answer* Resolver::State::numeric_of(const Address& address) {
  // The last answer is used again unless somebody kept it.
  if (!numeric || numeric.use_count() > 2) {
    numeric = std::make_shared<Addresses>();
    numeric->list.resize(1);
    numeric->good = 1;
    numeric->expires_ms = kNeverExpires;
    numeric_answer = numeric;
  }
  numeric->list[0] = address;
  return &numeric_answer;
}

const Answer* Resolver::State::known_name(std::string_view name) {
  if (AddressEntry* entry = addresses.find(name, loop.now_ms()); entry && entry->answer && entry->answer->expires_ms > loop.now_ms())
    return &entry->answer;
  return hosts->find(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
}

// What can be said without asking; `key` is left as the name to ask for.
const Answer* Resolver::State::known(std::string_view host, Key& key) {
  auto count = [this](uint64_t& counter, const Answer* answer) {
    ++ip.requests;
    ++counter;
    return answer;
  };
  if (auto address = Address::parse(host)) return count(ip.numeric_hits, numeric_of(*address));
  if (!key.assign(host)) return count(ip.invalid, &bad_name);
  const Answer* answer = known_name(key.view());
  if (!answer && key.is_localhost()) answer = &loopback;
  if (!answer && !settings.append_domain.empty() && key.dotless()) {
    if (!key.append(settings.append_domain) || !is_host_name(key.view())) return count(ip.invalid, &bad_name);
    answer = known_name(key.view());
  }
  if (answer) return count((*answer)->list.empty() ? ip.negative_hits : ip.hits, answer);
  if (key.ends_in_number()) return count(ip.invalid, &bad_name);
  return nullptr;
}

const Answer* Resolver::State::wait(const Key& key, Lookup& lookup, Lookup::Callback callback) {
  ++ip.requests;
  ++ip.misses;
  AddressEntry* entry = addresses.find(key.view(), loop.now_ms());
  if (entry && entry->job && entry->job->published) entry->job.reset();   // its answer has expired meanwhile
  if ((!entry || !entry->job) && full()) return &overload;
  if (waiters >= settings.max_waiters) return &overload;
  if (!entry) entry = &addresses.insert(key.view(), loop.now_ms());
  entry->waiters.add(lookup, std::move(callback), waiters);
  if (!entry->job) start(*entry);
  return nullptr;
}

const NamesAnswer* Resolver::State::known(const Address& address, std::string_view key) {
  const NamesAnswer* answer = nullptr;
  if (NamesEntry* entry = names.find(key, loop.now_ms()); entry && entry->answer && entry->answer->expires_ms > loop.now_ms())
    answer = &entry->answer;
  if (!answer) answer = hosts->find(address);
  if (!answer) return nullptr;
  ++fqdn.requests;
  ++((*answer)->list.empty() ? fqdn.negative_hits : fqdn.hits);
  return answer;
}

void Resolver::State::mark(std::string_view host, const Address& address, bool bad) {
  Key key;
  if (!key.assign(host)) return;
  const Answer* answer = known_name(key.view());
  if (!answer && !settings.append_domain.empty() && key.dotless() && key.append(settings.append_domain)) answer = known_name(key.view());
  if (!answer) return;
  auto fresh = marked(**answer, address, bad);
  if (!fresh) return;
  // Marks on a name of the hosts file, which workers share, are kept in an entry of our own.
  AddressEntry* entry = addresses.find(key.view(), loop.now_ms());
  if (!entry) entry = &addresses.insert(key.view(), loop.now_ms());
  entry->answer = std::move(fresh);
  addresses.trim(settings.ipcache_size);
}

// ---- settings ----------------------------------------------------------------

DnsSettings dns_settings_of(const Settings& from) {
  using std::chrono::duration_cast, std::chrono::seconds;
  DnsSettings to;
  to.dns_nameservers = from.dns_nameservers;
  to.dns_timeout = from.dns_timeout;
  to.dns_retransmit_interval = from.dns_retransmit_interval;
  to.positive_dns_ttl = duration_cast<seconds>(from.positive_dns_ttl);
  to.negative_dns_ttl = duration_cast<seconds>(from.negative_dns_ttl);
  to.dns_defnames = from.dns_defnames;
  to.append_domain = from.append_domain;
  to.hosts_file = from.hosts_file;
  to.ipcache_size = size_t(std::max(from.ipcache_size, 0));
  to.fqdncache_size = size_t(std::max(from.fqdncache_size, 0));
  to.dns_packet_max = size_t(std::max<int64_t>(from.dns_packet_max, 0));
  return to;
}

// ---- Resolver ----------------------------------------------------------------

std::optional<Address> parse_name_server(std::string_view text) {
  constexpr uint16_t kDomainPort = 53;
  if (auto plain = Address::parse(text, kDomainPort)) return plain;
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto port = base::parse_decimal<uint16_t>(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (!port || *port == 0 || (host.find(':') != std::string_view::npos && host.front() != '[')) return std::nullopt;
  return Address::parse(host, *port);
}

Resolver::Resolver(Loop& loop, const DnsSettings& settings, std::shared_ptr<const HostsFile> hosts)
    : state_(std::make_unique<State>(loop, settings, std::move(hosts))) {}
Resolver::~Resolver() = default;

const Answer* Resolver::try_cached(std::string_view host) {
  Key key;
  return state_->known(host, key);
}

const Answer* Resolver::resolve(std::string_view host, Lookup& lookup, Lookup::Callback callback) {
  Key key;
  if (const Answer* answer = state_->known(host, key)) return answer;
  return state_->wait(key, lookup, std::move(callback));
}

const NamesAnswer* Resolver::try_cached(const Address& address) {
  const Address plain = address.unmapped();
  char text[46];
  return state_->known(plain, {text, plain.write_host(text)});
}

const NamesAnswer* Resolver::resolve(const Address& address, ReverseLookup& lookup, ReverseLookup::Callback callback) {
  State& state = *state_;
  const Address plain = address.unmapped();
  char text[46];
  const std::string_view key(text, plain.write_host(text));
  if (const NamesAnswer* answer = state.known(plain, key)) return answer;
  ++state.fqdn.requests;
  ++state.fqdn.misses;
  NamesEntry* entry = state.names.find(key, state.loop.now_ms());
  if (((!entry || !entry->job) && state.full()) || state.waiters >= state.settings.max_waiters) return &state.names_overload;
  if (!entry) entry = &state.names.insert(key, state.loop.now_ms());
  entry->waiters.add(lookup, std::move(callback), state.waiters);
  if (!entry->job) state.start(*entry, plain);
  return nullptr;
}

void Resolver::mark_bad(std::string_view host, const Address& address) { state_->mark(host, address, true); }
void Resolver::mark_good(std::string_view host, const Address& address) { state_->mark(host, address, false); }

void Resolver::reconfigure(const DnsSettings& settings, std::shared_ptr<const HostsFile> hosts) {
  State& state = *state_;
  state.settings = settings;
  state.read_hosts(std::move(hosts));
  // Marks on names of the old hosts file go with it, and what is known of names that the new one knows better.
  for (auto at = state.addresses.entries().begin(); at != state.addresses.entries().end();) {
    AddressEntry& entry = *at++;
    const bool outdated = entry.answer && (entry.answer->expires_ms == kNeverExpires || state.hosts->find(entry.name));
    if (outdated && !entry.job) state.addresses.erase(entry);
  }
  state.channel = std::make_unique<DnsChannel>(state.loop, state.settings);   // the old one drops its questions
  for (auto& entry : state.addresses.entries()) {
    if (!entry.job) continue;
    if (entry.job->published) entry.job.reset();
    else state.start(entry);
  }
  for (auto& entry : state.names.entries())
    if (entry.job) state.start(entry, Address(entry.job->address));
  state.addresses.trim(settings.ipcache_size);
  state.names.trim(settings.fqdncache_size);
}

void Resolver::forget_all() {
  state_->addresses.trim(0);
  state_->names.trim(0);
  for (auto& entry : state_->addresses.entries()) entry.answer.reset();
  for (auto& entry : state_->names.entries()) entry.answer.reset();
}

}  // namespace loligo::net
