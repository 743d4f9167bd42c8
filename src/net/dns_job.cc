// Asking: one job for each name or address under way.
#include <ares_nameser.h>

#include "net/dns_state.h"
#include "net/loop.h"

namespace loligo::net {

using base::Milliseconds;

namespace {

// After the first family with an address has answered, the other may take this long (RFC 8305 section 3).
constexpr Milliseconds kResolutionDelay{50};
// How long a failure that says nothing about the name is remembered (RFC 9520 section 3.2: 1 s to 5 minutes).
constexpr std::chrono::seconds kFailureTtl{5};

// RFC 8305 section 4: families alternate, IPv6 first.
std::vector<Address> interleave(const std::vector<Address>& v6, const std::vector<Address>& v4) {
  std::vector<Address> list;
  for (size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
    if (i < v6.size()) list.push_back(v6[i]);
    if (i < v4.size()) list.push_back(v4[i]);
  }
  return list;
}

}  // namespace

std::shared_ptr<Addresses> marked(const Addresses& old, const Address& address, bool bad) {
  auto found = std::find_if(old.list.begin(), old.list.end(), [&](const Address& a) { return a.same_host(address); });
  const size_t index = size_t(found - old.list.begin());
  if (found == old.list.end() || (index >= old.good) == bad) return nullptr;
  auto fresh = std::make_shared<Addresses>(old);
  auto& list = fresh->list;
  if (bad) {
    std::rotate(list.begin() + long(index), list.begin() + long(index) + 1, list.end());
    if (--fresh->good == 0) fresh->good = list.size();
  } else {
    std::rotate(list.begin() + long(old.good), list.begin() + long(index), list.begin() + long(index) + 1);
    ++fresh->good;
  }
  return fresh;
}

int64_t Resolver::State::expiry(DnsError error, uint32_t ttl_seconds) const {
  std::chrono::seconds ttl = settings.negative_dns_ttl;
  if (error == DnsError::none) ttl = std::clamp(std::chrono::seconds(ttl_seconds), ttl, std::max(ttl, settings.positive_dns_ttl));
  else if (!row_of(error).about_the_name) ttl = std::min(ttl, kFailureTtl);
  return loop.now_ms() + std::max<int64_t>(ttl.count(), 1) * 1000;
}

Job::Job(Resolver::State& s) : state(s), started_ms(s.loop.now_ms()), started_us(s.loop.wall_us()) {
  ++state.jobs;
  state.loop.counters().dns_lookups.add();
}

void Job::arm_deadline() {
  auto left = state.settings.dns_timeout - Milliseconds(state.loop.now_ms() - started_ms);
  state.loop.arm(*this, std::max(left, Milliseconds(1)));
}

void Job::record(bool failed) {
  state.loop.counters().service_time.dns.record(uint64_t(std::max<int64_t>(0, state.loop.wall_us() - started_us)));
  if (failed) state.loop.counters().dns_failures.add();
}

// ---- names to addresses --------------------------------------------------------

AddressJob::AddressJob(Resolver::State& s, AddressEntry* e) : Job(s), entry(e) {
  for (Question& question : questions) question.job = this;
}

void AddressJob::ask(bool search) {
  arm_deadline();
  state.channel->ask(entry->name, ns_t_aaaa, search, questions[v6]);
  state.channel->ask(entry->name, ns_t_a, search, questions[v4]);
}

void AddressJob::answered(Question& question, int status, Packet packet) {
  question.done = true;
  question.error = error_of_ares_status(status);
  if (question.error == DnsError::none) read(question, packet);
  if (questions[v6].done && questions[v4].done) return state.publish(*entry);
  if (!question.found.empty() && !published) state.loop.arm(*this, kResolutionDelay);
}

void AddressJob::read(Question& question, Packet packet) {
  const bool six = &question == &questions[v6];
  AddressReply reply = parse_address_reply(packet, six ? AF_INET6 : AF_INET);
  question.found = std::move(reply.list);
  question.error = reply.error;
  if (!question.found.empty()) ttl_seconds = std::min(ttl_seconds, reply.ttl_seconds);
  (six ? state.ip.retrieved_aaaa : state.ip.retrieved_a) += question.found.size();
  state.ip.retrieved_cname += reply.aliases;
  if (question.found.empty() && reply.aliases > 0) ++state.ip.cname_only;
}

void AddressJob::on_timer() {
  if (published) return entry->job.reset();   // the other family never came
  state.publish(*entry);
}

std::shared_ptr<Addresses> AddressJob::answer() const {
  auto result = std::make_shared<Addresses>();
  result->list = interleave(questions[v6].found, questions[v4].found);
  result->good = result->list.size();
  if (result->list.empty()) result->error = std::max(questions[v6].error, questions[v4].error);
  result->expires_ms = state.expiry(result->error, ttl_seconds);
  return result;
}

void Resolver::State::start(AddressEntry& entry) {
  entry.job = std::make_unique<AddressJob>(*this, &entry);
  entry.job->ask(settings.dns_defnames && entry.name.find('.') == std::string::npos);
}

void Resolver::State::publish(AddressEntry& entry) {
  AddressJob& job = *entry.job;
  auto fresh = job.answer();
  if (job.published && entry.answer)   // what was learnt about the first family since stays known
    for (size_t i = entry.answer->good; i < entry.answer->list.size(); ++i)
      if (auto changed = marked(*fresh, entry.answer->list[i], true)) fresh = changed;
  if (!job.published) job.record(fresh->list.empty());
  const Answer answer = fresh;
  entry.answer = answer;
  DnsWaiters<Addresses> waiting;
  waiting.take(entry.waiters);
  if (job.finished()) {
    entry.job.reset();
    addresses.trim(settings.ipcache_size);
  } else {
    job.published = true;
    job.arm_deadline();
  }
  waiting.call_all(answer);
}

// ---- addresses to names --------------------------------------------------------

NamesJob::NamesJob(Resolver::State& s, NamesEntry* e, const Address& a) : Job(s), entry(e), address(a) {
  question.job = this;
}

void NamesJob::ask() {
  arm_deadline();
  state.channel->ask(reverse_name(address), ns_t_ptr, false, question);
}

void NamesJob::answered(int status, Packet packet) {
  NamesReply reply;
  reply.error = error_of_ares_status(status);
  if (reply.error == DnsError::none) reply = parse_names_reply(packet, address);
  finish(std::move(reply));
}

void NamesJob::on_timer() {
  NamesReply reply;
  reply.error = DnsError::timeout;
  finish(std::move(reply));
}

void NamesJob::finish(NamesReply reply) {
  auto result = std::make_shared<Names>();
  result->expires_ms = state.expiry(reply.error, reply.ttl_seconds);
  result->list = std::move(reply.list);
  result->error = reply.error;
  state.publish(*entry, std::move(result));
}

void Resolver::State::start(NamesEntry& entry, const Address& address) {
  entry.job = std::make_unique<NamesJob>(*this, &entry, address);
  entry.job->ask();
}

void Resolver::State::publish(NamesEntry& entry, std::shared_ptr<Names> fresh) {
  entry.job->record(fresh->list.empty());
  const NamesAnswer answer = std::move(fresh);
  entry.answer = answer;
  DnsWaiters<Names> waiting;
  waiting.take(entry.waiters);
  entry.job.reset();
  names.trim(settings.fqdncache_size);
  waiting.call_all(answer);
}

}  // namespace loligo::net
