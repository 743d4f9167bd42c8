// Names to addresses and back, for one worker: numeric, hosts file, cache, DNS.
//
// Owner: the worker; the loop's thread only. Nothing blocks and no thread is
// started. What is known already is answered at once; else the caller's Lookup
// waits and its callback comes from the loop, within dns_timeout. Questions for
// one name are merged. Queries, waiters and both caches are bounded.
//
//   net::Lookup lookup_;                                   // a member of the waiting transaction
//   if (const net::Answer* known = resolver.resolve(host, lookup_, [this](const net::Answer& a) { go_on(a); }))
//     go_on(*known);                                       // the callback is not kept
//
// A callback may start lookups and destroy Lookups, its own included, but not the Resolver.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/dns_answer.h"
#include "net/hosts_file.h"

namespace loligo::net {

class Loop;
struct Settings;

// The DNS part of squid.conf; fields are named as the directives.
struct DnsSettings {
  std::vector<std::string> dns_nameservers;   // "10.0.0.1", "::1", "10.0.0.1:5353", "[::1]:5353"; empty: /etc/resolv.conf
  base::Milliseconds dns_timeout{30'000};
  base::Milliseconds dns_retransmit_interval{5'000};
  std::chrono::seconds positive_dns_ttl{6 * 3600};   // upper limit of every TTL
  std::chrono::seconds negative_dns_ttl{60};         // how long failures last, and, as in Squid, the lower limit of TTLs
  bool dns_defnames = false;          // dotless names also with resolv.conf's search domains
  std::string append_domain;          // ".example.com": put after dotless names
  std::string hosts_file = "/etc/hosts";   // "none" or empty: no file
  size_t ipcache_size = 1024, fqdncache_size = 1024;   // names, addresses
  size_t dns_packet_max = 0;          // EDNS buffer announced; 0: no EDNS
  size_t max_lookups = 4096;          // names under way at once
  size_t max_waiters = 65'536;
};

DnsSettings dns_settings_of(const Settings&);   // of net/settings.h

// "address" or "address:port", the default port being 53.
std::optional<Address> parse_name_server(std::string_view);

template <class Value, class Job> class DnsCache;
template <class Value> class DnsWaiters;

// One wait for an answer. Destroying or cancelling it drops the callback; others who wait for the name are not disturbed.
template <class Value>
class BasicLookup {
 public:
  using Callback = std::function<void(const std::shared_ptr<const Value>&)>;
  BasicLookup() = default;
  BasicLookup(const BasicLookup&) = delete;
  BasicLookup& operator=(const BasicLookup&) = delete;
  ~BasicLookup() { cancel(); }

  bool pending() const { return previous_ != nullptr; }
  void cancel() {
    if (pending()) unlink();
    callback_ = nullptr;
  }

 private:
  friend class DnsWaiters<Value>;
  void unlink() {
    *previous_ = next_;
    if (next_) next_->previous_ = previous_;
    next_ = nullptr;
    previous_ = nullptr;
    --*total_;
  }
  Callback callback_;
  BasicLookup* next_ = nullptr;
  BasicLookup** previous_ = nullptr;
  size_t* total_ = nullptr;    // the resolver's number of waiters
};
using Lookup = BasicLookup<Addresses>;
using ReverseLookup = BasicLookup<Names>;

// ---- what the manager shows (mgr:ipcache, mgr:fqdncache, mgr:idns) --------------

struct DnsCacheCounts {
  uint64_t requests = 0, hits = 0, negative_hits = 0, numeric_hits = 0, misses = 0, invalid = 0;
  uint64_t retrieved_a = 0, retrieved_aaaa = 0, retrieved_cname = 0, cname_only = 0;
  size_t entries = 0;
};
struct DnsEntryView {
  std::string_view name;          // host name, or the address for reverse lookups
  bool negative, from_hosts;      // flags N and H
  int64_t idle_seconds;           // since the last reference
  int64_t ttl_seconds;            // below zero: expired; -1 for hosts entries
  const Addresses* addresses;     // null for reverse entries; [0, good) "-OK", the rest "-BAD"
  const Names* names;             // null for forward entries
};
using DnsEntryVisitor = std::function<void(const DnsEntryView&)>;

struct DnsStatistics {
  struct Server { Address address; uint64_t queries, replies; };
  struct Waiting { std::string name; int64_t since_ms; };   // a name or address under way
  std::vector<Server> servers;
  std::vector<uint64_t> rcodes;   // replies by result code, index 0-23
  std::vector<Waiting> queue;
};

class Resolver {
 public:
  // Reads the hosts file unless `hosts` is given (workers may share one): blocks, so at start only.
  Resolver(Loop&, const DnsSettings&, std::shared_ptr<const HostsFile> hosts = nullptr);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Null when a query would be needed. The answer (which may be a remembered failure) is good until the next call.
  const Answer* try_cached(std::string_view host);
  // The answer when known now; else null, and `callback` comes later unless `lookup` is cancelled.
  const Answer* resolve(std::string_view host, Lookup& lookup, Lookup::Callback callback);

  const NamesAnswer* try_cached(const Address&);
  const NamesAnswer* resolve(const Address&, ReverseLookup& lookup, ReverseLookup::Callback callback);

  // A connection to this address failed or worked: bad ones are tried last. When none is good, all are good again.
  void mark_bad(std::string_view host, const Address&);
  void mark_good(std::string_view host, const Address&);

  // New settings and hosts file; lookups under way are asked again. Not from a callback of this resolver.
  void reconfigure(const DnsSettings&, std::shared_ptr<const HostsFile> hosts = nullptr);
  void forget_all();   // empties both caches

  DnsCacheCounts ip_counts() const;
  DnsCacheCounts fqdn_counts() const;
  void each_ip_entry(const DnsEntryVisitor&) const;     // most recently used first, hosts entries last
  void each_fqdn_entry(const DnsEntryVisitor&) const;
  DnsStatistics statistics() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace loligo::net
