// What the manager shows of the resolver.
#include "net/dns_state.h"
#include "net/loop.h"

namespace loligo::net {

namespace {

template <class Value>
DnsEntryView view_of(std::string_view name, const Value& answer, int64_t idle_ms, int64_t now_ms) {
  const bool from_hosts = answer.expires_ms == kNeverExpires;
  DnsEntryView view{};
  view.name = name;
  view.negative = answer.list.empty();
  view.from_hosts = from_hosts;
  view.idle_seconds = idle_ms / 1000;
  view.ttl_seconds = from_hosts ? -1 : (answer.expires_ms - now_ms) / 1000;
  if constexpr (requires { answer.good; }) view.addresses = &answer;
  else view.names = &answer;
  return view;
}

template <class Cache, class Hosts>
void each(const Cache& cache, const Hosts& hosts, int64_t started_ms, int64_t now_ms, const DnsEntryVisitor& visit) {
  StringMap<bool> shown;   // names of the hosts file that have marks of our own
  for (const auto& entry : cache.entries()) {
    if (!entry.answer) continue;
    if (entry.answer->expires_ms == kNeverExpires) shown.emplace(entry.name, true);
    visit(view_of(entry.name, *entry.answer, now_ms - entry.last_reference_ms, now_ms));
  }
  for (const auto& [name, answer] : hosts)
    if (!shown.contains(name)) visit(view_of(name, *answer, now_ms - started_ms, now_ms));
}

}  // namespace

void Resolver::each_ip_entry(const DnsEntryVisitor& visit) const {
  each(state_->addresses, state_->hosts->names(), state_->started_ms, state_->loop.now_ms(), visit);
}

void Resolver::each_fqdn_entry(const DnsEntryVisitor& visit) const {
  each(state_->names, state_->hosts->addresses(), state_->started_ms, state_->loop.now_ms(), visit);
}

DnsCacheCounts Resolver::ip_counts() const {
  DnsCacheCounts counts = state_->ip;
  counts.entries = state_->addresses.size() + state_->hosts->names().size();
  return counts;
}

DnsCacheCounts Resolver::fqdn_counts() const {
  DnsCacheCounts counts = state_->fqdn;
  counts.entries = state_->names.size() + state_->hosts->addresses().size();
  return counts;
}

DnsStatistics Resolver::statistics() const {
  DnsStatistics result;
  const DnsChannel& channel = *state_->channel;
  for (const auto& server : channel.servers()) result.servers.push_back({server.address, server.queries, server.replies});
  result.rcodes.assign(channel.rcodes().begin(), channel.rcodes().end());
  const int64_t now_ms = state_->loop.now_ms();
  for (const auto& entry : state_->addresses.entries())
    if (entry.job) result.queue.push_back({entry.name, now_ms - entry.job->started_ms});
  for (const auto& entry : state_->names.entries())
    if (entry.job) result.queue.push_back({reverse_name(entry.job->address), now_ms - entry.job->started_ms});
  return result;
}

}  // namespace loligo::net
