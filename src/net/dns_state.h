// The inside of Resolver: its state, and the jobs that ask name servers.
// Included by the resolver's own files only. Owner: Resolver; the loop's thread.
#pragma once
#include <algorithm>

#include "base/text.h"
#include "net/dns_cache.h"
#include "net/dns_channel.h"
#include "net/dns_reply.h"

namespace loligo::net {

// A host name as key: lower case, without the final dot unless it has no other.
struct Key {
  char text[256];
  size_t length = 0;
  std::string_view view() const { return {text, length}; }

  bool assign(std::string_view host) {
    const bool rooted = !host.empty() && host.back() == '.';
    if (rooted) host.remove_suffix(1);
    if (!is_host_name(host)) return false;
    for (char c : host) text[length++] = base::ascii_lower(c);
    if (rooted && dotless()) text[length++] = '.';   // "www." is not "www": nothing may be appended
    return true;
  }
  bool dotless() const { return view().find('.') == std::string_view::npos; }
  bool append(std::string_view domain) {
    if (length + domain.size() + 1 > 253) return false;
    if (domain.front() != '.') text[length++] = '.';
    for (char c : domain) text[length++] = base::ascii_lower(c);
    return true;
  }
  // "1.2.3" and "0x7f.1" are addresses to some programs and names to others: never asked.
  bool ends_in_number() const {
    std::string_view last = view();
    if (!last.empty() && last.back() == '.') last.remove_suffix(1);
    if (size_t dot = last.rfind('.'); dot != std::string_view::npos) last.remove_prefix(dot + 1);
    const bool hexadecimal = last.starts_with("0x");
    if (hexadecimal) last.remove_prefix(2);
    return last.find_first_not_of(hexadecimal ? "0123456789abcdef" : "0123456789") == std::string_view::npos;
  }
  bool is_localhost() const {   // RFC 6761 section 6.3: never asked of a server
    std::string_view name = view();
    return name == "localhost" || name == "localhost." || name.ends_with(".localhost");
  }
};

// The same addresses with one moved behind (or back among) the good ones; null when nothing changes.
std::shared_ptr<Addresses> marked(const Addresses& old, const Address&, bool bad);

struct AddressJob;
struct NamesJob;
using AddressEntry = DnsCache<Addresses, AddressJob>::Entry;
using NamesEntry = DnsCache<Names, NamesJob>::Entry;

struct Resolver::State {
  Loop& loop;
  DnsSettings settings;
  std::shared_ptr<const HostsFile> hosts;
  size_t jobs = 0, waiters = 0;
  int64_t started_ms;
  DnsCacheCounts ip{}, fqdn{};
  std::unique_ptr<DnsChannel> channel;
  DnsCache<Addresses, AddressJob> addresses;
  DnsCache<Names, NamesJob> names;

  std::shared_ptr<Addresses> numeric;
  Answer numeric_answer, loopback;
  Answer bad_name, overload;
  NamesAnswer names_overload;

  State(Loop&, const DnsSettings&, std::shared_ptr<const HostsFile>);
  void read_hosts(std::shared_ptr<const HostsFile>);

  const Answer* known(std::string_view host, Key&);
  const Answer* known_name(std::string_view name);
  const Answer* wait(const Key&, Lookup&, Lookup::Callback);
  const Answer* numeric_of(const Address&);
  const NamesAnswer* known(const Address&, std::string_view key);
  void mark(std::string_view host, const Address&, bool bad);

  bool full() const {
    // Questions whose job is gone still wait in c-ares: they count too.
    return jobs >= settings.max_lookups || waiters >= settings.max_waiters || channel->open_queries() >= 2 * settings.max_lookups;
  }
  int64_t expiry(DnsError, uint32_t ttl_seconds) const;
  void start(AddressEntry&);
  void publish(AddressEntry&);   // last act of the caller: calls back
  void start(NamesEntry&, const Address&);
  void publish(NamesEntry&, std::shared_ptr<Names>);
};

// Keeps the accounts that both kinds of job share.
struct Job : Timer {
  Resolver::State& state;
  const int64_t started_ms, started_us;

  explicit Job(Resolver::State&);
  ~Job() { --state.jobs; }
  void arm_deadline();
  void record(bool failed);
};

// Asks for both families of one name.
struct AddressJob final : Job {
  enum Family { v6, v4 };
  struct Question final : DnsQuery {
    AddressJob* job = nullptr;
    bool done = false;
    std::vector<Address> found;
    DnsError error = DnsError::timeout;   // until told otherwise
    void on_reply(int status, Packet packet) override { job->answered(*this, status, packet); }
  };

  AddressEntry* entry;
  Question questions[2];
  uint32_t ttl_seconds = UINT32_MAX;
  bool published = false;   // waiters have an answer; the other family may still add to it

  AddressJob(Resolver::State&, AddressEntry*);
  void ask(bool search);
  bool any_found() const { return !questions[v6].found.empty() || !questions[v4].found.empty(); }
  bool finished() const { return (questions[v6].done && questions[v4].done) || !any_found(); }
  void answered(Question&, int status, Packet);
  void read(Question&, Packet);
  void on_timer() override;
  std::shared_ptr<Addresses> answer() const;
};

struct NamesJob final : Job {
  struct Question final : DnsQuery {
    NamesJob* job = nullptr;
    void on_reply(int status, Packet packet) override { job->answered(status, packet); }
  };
  NamesEntry* entry;
  const Address address;
  Question question;

  NamesJob(Resolver::State&, NamesEntry*, const Address&);
  void ask();
  void answered(int status, Packet);
  void on_timer() override;
  void finish(NamesReply);
};

}  // namespace loligo::net
