// The resolver against a scripted name server on the same loop.
#define BOOST_TEST_DYN_LINK
#include "net/dns.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <thread>

#include "net/dns_reply.h"
#include "net/loop.h"

using namespace loligo::net;
using namespace std::chrono_literals;

namespace {

enum Type : unsigned { A = 1, CNAME = 5, PTR = 12, AAAA = 28 };

void put16(std::string& out, unsigned v) { out += char(v >> 8); out += char(v); }
void put32(std::string& out, uint32_t v) { put16(out, v >> 16); put16(out, v & 0xffff); }
std::string encode_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    size_t dot = std::min(name.find('.'), name.size());
    out += char(dot);
    out += name.substr(0, dot);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return out + '\0';
}
std::string record(std::string_view owner, Type type, uint32_t ttl, std::string_view data) {
  std::string out = encode_name(owner);
  put16(out, type);
  put16(out, 1);
  put32(out, ttl);
  put16(out, unsigned(data.size()));
  return out += data;
}
std::string address_bytes(const char* text) {
  unsigned char bytes[16];
  Address address = *Address::parse(text);
  address.mapped_bytes(bytes);
  return std::string(reinterpret_cast<char*>(bytes) + (address.v4() ? 12 : 0), address.v4() ? 4 : 16);
}

struct Script {
  unsigned rcode = 0;
  std::vector<std::string> answers;
  bool silent = false, truncated = false;
  std::string raw_tail;              // instead of answers: this, with `count` in the header
  unsigned count = 0;
};

// Answers each question by its script; unknown names do not exist.
struct NameServer : Watcher {
  int fd = -1;
  uint16_t port = 0;
  std::map<std::pair<std::string, unsigned>, Script> script;
  std::map<std::string, int> asked;

  NameServer() {
    fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    Address any = *Address::parse("127.0.0.1");
    BOOST_REQUIRE(::bind(fd, any.data(), any.size()) == 0);
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
    port = ntohs(bound.sin_port);
  }
  ~NameServer() { ::close(fd); }

  void on_event(uint32_t) override {
    char packet[1500];
    sockaddr_storage from{};
    socklen_t from_size = sizeof from;
    ssize_t n;
    while ((n = ::recvfrom(fd, packet, sizeof packet, 0, reinterpret_cast<sockaddr*>(&from), &from_size)) > 12) {
      std::string out = reply({packet, size_t(n)});
      if (!out.empty()) (void)!::sendto(fd, out.data(), out.size(), 0, reinterpret_cast<sockaddr*>(&from), from_size);
      from_size = sizeof from;
    }
  }

  std::string reply(std::string_view query) {
    std::string name;
    size_t at = 12;
    while (at < query.size() && query[at] != 0) {
      size_t length = size_t(query[at]);
      if (!name.empty()) name += '.';
      name += query.substr(at + 1, length);
      at += length + 1;
    }
    const size_t question_end = at + 5;
    const unsigned type = unsigned(static_cast<unsigned char>(query[at + 2]));
    ++asked[name];
    auto found = script.find({name, type});
    Script answer;
    if (found != script.end()) answer = found->second;
    else if (!script.contains({name, type == A ? AAAA : A})) answer.rcode = 3;
    if (answer.silent) return {};
    std::string out(query.substr(0, 2));
    put16(out, 0x8180 | answer.rcode | (answer.truncated ? 0x200 : 0));
    put16(out, 1);
    put16(out, answer.count ? answer.count : unsigned(answer.answers.size()));
    put32(out, 0);
    out += query.substr(12, question_end - 12);
    for (const auto& text : answer.answers) out += text;
    return out += answer.raw_tail;
  }
};

// A loop in its own thread, since a loop runs once; everything else is posted to it.
struct Bench {
  Loop loop;
  NameServer server;
  DnsSettings settings;
  std::unique_ptr<Resolver> resolver;
  std::thread thread;

  explicit Bench(std::function<void(DnsSettings&)> adjust = {}) {
    settings.dns_nameservers = {"127.0.0.1:" + std::to_string(server.port)};
    settings.hosts_file = "none";
    settings.dns_timeout = 600ms;
    settings.dns_retransmit_interval = 150ms;
    settings.negative_dns_ttl = 1s;
    if (adjust) adjust(settings);
    loop.add(server.fd, &server, EPOLLIN);
    thread = std::thread([this] { loop.run(); });
    on_loop([this] { resolver = std::make_unique<Resolver>(loop, settings); });
  }
  ~Bench() {
    on_loop([this] { resolver.reset(); loop.remove(server.fd, &server); });
    loop.stop();
    thread.join();
  }
  void on_loop(std::function<void()> call) {
    std::promise<void> done;
    loop.post([&] { call(); done.set_value(); });
    done.get_future().wait();
  }
  void script(const std::string& name, Type type, Script what) {
    on_loop([&] { server.script[{name, type}] = std::move(what); });
  }
  void address(const std::string& name, const char* text, uint32_t ttl = 60) {
    Type type = Address::parse(text)->v4() ? A : AAAA;
    on_loop([&] { server.script[{name, type}].answers.push_back(record(name, type, ttl, address_bytes(text))); });
  }
  int asked(const std::string& name) {
    int count = 0;
    on_loop([&] { count = server.asked[name]; });
    return count;
  }

  template <class Value, class Question>
  std::shared_ptr<const Value> ask(Question question) {
    BasicLookup<Value> lookup;
    std::promise<std::shared_ptr<const Value>> promise;
    on_loop([&] {
      auto* known = resolver->resolve(question, lookup, [&](const auto& answer) { promise.set_value(answer); });
      if (known) promise.set_value(*known);
    });
    auto future = promise.get_future();
    BOOST_REQUIRE(future.wait_for(5s) == std::future_status::ready);
    auto answer = future.get();
    on_loop([&] { lookup.cancel(); });
    return answer;
  }
  Answer ask(const std::string& host) { return ask<Addresses>(std::string_view(host)); }
  std::string text(const std::string& host) {
    Answer answer = ask(host);
    std::string out;
    for (size_t i = 0; i < answer->list.size(); ++i)
      out += answer->list[i].host() + (i < answer->good ? " " : "! ");
    return answer->list.empty() ? std::string(text_of(answer->error)) : out;
  }
  DnsCacheCounts counts() {
    DnsCacheCounts result;
    on_loop([&] { result = resolver->ip_counts(); });
    return result;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(dns)

BOOST_AUTO_TEST_CASE(both_families_then_from_the_cache) {
  Bench bench;
  bench.address("www.example", "192.0.2.1");
  bench.address("www.example", "192.0.2.2");
  bench.address("www.example", "2001:db8::1");
  BOOST_TEST(bench.text("WWW.Example.") == "2001:db8::1 192.0.2.1 192.0.2.2 ");
  BOOST_TEST(bench.text("www.example") == "2001:db8::1 192.0.2.1 192.0.2.2 ");
  BOOST_TEST(bench.asked("www.example") == 2);
  DnsCacheCounts counts = bench.counts();
  BOOST_TEST(counts.requests == 2);
  BOOST_TEST(counts.misses == 1);
  BOOST_TEST(counts.hits == 1);
  BOOST_TEST(counts.retrieved_a == 2);
  BOOST_TEST(counts.retrieved_aaaa == 1);
  BOOST_TEST(bench.loop.counters().dns_lookups.get() == 1);
  BOOST_TEST(bench.loop.counters().dns_failures.get() == 0);
}

BOOST_AUTO_TEST_CASE(numbers_and_impossible_names_ask_nobody) {
  Bench bench;
  BOOST_TEST(bench.text("192.0.2.9") == "192.0.2.9 ");
  BOOST_TEST(bench.text("[2001:db8::9]") == "2001:db8::9 ");
  BOOST_TEST(bench.text("localhost") == "127.0.0.1 ::1 ");
  const std::string long_label(64, 'a'), long_name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                                                     std::string(63, 'c') + "." + std::string(63, 'd');
  for (const std::string& name : {std::string(), std::string("."), std::string("a..b"), std::string(".a"), std::string("a b.example"),
                                  std::string("a\\.example"), std::string("a/b"), std::string("a\0b", 3), std::string("\xc3\xa4.example"),
                                  std::string("127.1"), std::string("1.2.3.256"), std::string("0x7f.0x1"), std::string("010.0.0.1."),
                                  std::string("[::1"), long_label + ".example", long_name})
    BOOST_TEST(bench.text(name) == text_of(DnsError::bad_name), name);
  BOOST_TEST(bench.counts().invalid == 16);
  BOOST_TEST(bench.counts().numeric_hits == 2);
  BOOST_TEST(bench.counts().entries == 0);
  bench.on_loop([&] { BOOST_TEST(bench.server.asked.empty()); });
}

BOOST_AUTO_TEST_CASE(failures_are_remembered_for_negative_dns_ttl) {
  Bench bench;
  BOOST_TEST(bench.text("nosuch.example") == text_of(DnsError::not_found));
  BOOST_TEST(bench.text("nosuch.example") == text_of(DnsError::not_found));
  BOOST_TEST(bench.asked("nosuch.example") == 2);
  BOOST_TEST(bench.counts().negative_hits == 1);
  BOOST_TEST(bench.loop.counters().dns_failures.get() == 1);
  bench.address("nosuch.example", "192.0.2.1");
  std::this_thread::sleep_for(1200ms);
  BOOST_TEST(bench.text("nosuch.example") == "192.0.2.1 ");

  bench.script("empty.example", A, {});
  bench.script("empty.example", AAAA, {});
  BOOST_TEST(bench.text("empty.example") == text_of(DnsError::no_data));
  bench.script("broken.example", A, {.rcode = 2});
  bench.script("broken.example", AAAA, {.rcode = 2});
  BOOST_TEST(bench.text("broken.example") == text_of(DnsError::server_failure));
  bench.on_loop([&] {
    DnsStatistics statistics = bench.resolver->statistics();
    BOOST_TEST(statistics.rcodes[2] >= 2u);
    BOOST_TEST(statistics.rcodes[3] == 2u);
    BOOST_TEST(statistics.servers.size() == 1u);
    BOOST_TEST(statistics.servers[0].queries == statistics.servers[0].replies);
    BOOST_TEST(statistics.servers[0].address.port() == bench.server.port);
    BOOST_TEST(statistics.queue.empty());
  });
}

BOOST_AUTO_TEST_CASE(lifetimes) {
  // TTL within [negative_dns_ttl, positive_dns_ttl]; an alias with a shorter TTL limits the whole answer.
  struct Row { const char* name; uint32_t ttl, alias_ttl; int64_t least, most; } const rows[] = {
      {"short.example", 0, 0, 1, 1}, {"long.example", 100000, 0, 20, 20}, {"middle.example", 7, 0, 7, 7},
      {"alias.example", 15, 9, 9, 9}, {"huge.example", 0xffffffff, 0, 1, 1},
  };
  Bench bench([](DnsSettings& s) { s.positive_dns_ttl = 20s; });
  for (const Row& row : rows) {
    Script script;
    std::string owner = row.name;
    if (row.alias_ttl) {
      script.answers.push_back(record(owner, CNAME, row.alias_ttl, encode_name("real.example")));
      owner = "real.example";
    }
    script.answers.push_back(record(owner, A, row.ttl, address_bytes("192.0.2.3")));
    bench.script(row.name, A, script);
    Answer answer = bench.ask(row.name);
    BOOST_REQUIRE(!answer->list.empty());
    bench.on_loop([&] {
      int64_t seconds = (answer->expires_ms - bench.loop.now_ms() + 999) / 1000;
      BOOST_TEST((seconds >= row.least && seconds <= row.most), row.name << " " << seconds);
    });
  }
  bench.on_loop([&] { bench.server.script[{"short.example", A}].answers = {record("short.example", A, 0, address_bytes("192.0.2.4"))}; });
  BOOST_TEST(bench.text("short.example") == "192.0.2.3 ");
  std::this_thread::sleep_for(1200ms);
  BOOST_TEST(bench.text("short.example") == "192.0.2.4 ");
  BOOST_TEST(bench.counts().retrieved_cname == 1);
}

BOOST_AUTO_TEST_CASE(silence_ends_with_dns_timeout) {
  Bench bench;
  bench.script("silent.example", A, {.silent = true});
  bench.script("silent.example", AAAA, {.silent = true});
  auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(bench.text("silent.example") == text_of(DnsError::timeout));
  auto took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST((took >= 550ms && took < 1500ms));
  BOOST_TEST(bench.asked("silent.example") >= 4);   // both families, sent again
}

BOOST_AUTO_TEST_CASE(one_silent_family_holds_nobody_up) {
  Bench bench;
  bench.address("four.example", "192.0.2.4");
  bench.script("four.example", AAAA, {.silent = true});
  auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(bench.text("four.example") == "192.0.2.4 ");
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 400ms));
  // The other family's address is added when it comes after all.
  bench.script("four.example", AAAA, {.answers = {record("four.example", AAAA, 60, address_bytes("2001:db8::4"))}});
  std::string seen;
  for (int i = 0; i < 30 && seen != "2001:db8::4 192.0.2.4 "; ++i) {
    std::this_thread::sleep_for(50ms);
    seen = bench.text("four.example");
  }
  BOOST_TEST(seen == "2001:db8::4 192.0.2.4 ");
}

BOOST_AUTO_TEST_CASE(malformed_replies) {
  Bench bench;
  std::string cut = record("cut.example", A, 60, address_bytes("192.0.2.1"));
  cut.resize(cut.size() - 2);
  std::string loop_pointer("\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x01\x02\x03\x04", 16);
  loop_pointer[1] = char(12 + 5 + 12);   // points at itself, behind the question
  struct { const char* name; Script script; } const rows[] = {
      {"cut.example", {.raw_tail = cut, .count = 1}},
      {"count.example", {.count = 65535}},
      {"loop.example", {.raw_tail = loop_pointer, .count = 3}},
      {"tc.example", {.truncated = true}},   // nothing listens on TCP
  };
  for (const auto& row : rows) {
    bench.script(row.name, A, row.script);
    bench.script(row.name, AAAA, row.script);
    Answer answer = bench.ask(row.name);
    BOOST_TEST(answer->list.empty(), row.name);
    BOOST_TEST(!row_of(answer->error).about_the_name, row.name << ": " << text_of(answer->error));
  }
}

BOOST_AUTO_TEST_CASE(one_question_for_all_who_ask) {
  Bench bench;
  bench.address("merged.example", "192.0.2.5");
  Lookup lookups[5];
  std::string order;
  std::promise<void> done;
  bench.on_loop([&] {
    for (int i = 0; i < 5; ++i) {
      const Answer* known = bench.resolver->resolve("merged.example", lookups[i], [&, i](const Answer& answer) {
        order += answer->list.size() == 1 ? char('0' + i) : '-';
        if (i == 0) lookups[3].cancel();   // a callback may cancel another
        if (i == 4) done.set_value();
      });
      BOOST_TEST(known == nullptr);
    }
    lookups[1].cancel();
    BOOST_TEST(!lookups[1].pending());
    BOOST_TEST(lookups[2].pending());
    BOOST_TEST(bench.resolver->statistics().queue.size() == 1u);
  });
  BOOST_REQUIRE(done.get_future().wait_for(5s) == std::future_status::ready);
  BOOST_TEST(order == "024");
  BOOST_TEST(bench.asked("merged.example") == 2);
}

BOOST_AUTO_TEST_CASE(bounds) {
  Bench bench([](DnsSettings& s) { s.ipcache_size = 3; s.max_lookups = 2; s.max_waiters = 3; });
  for (int i = 0; i < 8; ++i) {
    std::string name = "n" + std::to_string(i) + ".example";
    bench.address(name, "192.0.2.6");
    BOOST_TEST(bench.text(name) == "192.0.2.6 ");
    if (i > 1) BOOST_TEST(bench.text("n0.example") == "192.0.2.6 ");   // used, so it stays
  }
  BOOST_TEST(bench.counts().entries == 3);
  BOOST_TEST(bench.asked("n0.example") == 2);
  for (const char* name : {"s1.example", "s2.example", "s3.example"}) {
    bench.script(name, A, {.silent = true});
    bench.script(name, AAAA, {.silent = true});
  }
  Lookup lookups[4];
  bench.on_loop([&] {
    auto ask = [&](const char* name, Lookup& lookup) { return bench.resolver->resolve(name, lookup, [](const Answer&) {}); };
    BOOST_TEST(ask("s1.example", lookups[0]) == nullptr);
    BOOST_TEST(ask("s2.example", lookups[1]) == nullptr);
    const Answer* refused = ask("s3.example", lookups[2]);
    BOOST_REQUIRE(refused);
    BOOST_TEST(((*refused)->error == DnsError::overload));
    BOOST_TEST(ask("s1.example", lookups[2]) == nullptr);
    BOOST_TEST(ask("s1.example", lookups[3]) != nullptr);   // too many waiters
    for (auto& lookup : lookups) lookup.cancel();
  });
}

BOOST_AUTO_TEST_CASE(hosts_file_and_append_domain) {
  Bench bench([](DnsSettings& s) { s.append_domain = ".corp.example"; });
  auto hosts = HostsFile::parse("192.0.2.7 printer printer2.corp.example\n192.0.2.8 double\n192.0.2.9 double\n");
  bench.on_loop([&] { bench.resolver->reconfigure(bench.settings, hosts); });
  bench.address("intra.corp.example", "192.0.2.10");
  BOOST_TEST(bench.text("PRINTER") == "192.0.2.7 ");
  BOOST_TEST(bench.text("printer2") == "192.0.2.7 ");
  BOOST_TEST(bench.text("intra") == "192.0.2.10 ");
  BOOST_TEST(bench.text("intra.corp.example") == "192.0.2.10 ");
  BOOST_TEST(bench.asked("intra.corp.example") == 2);
  BOOST_TEST(bench.text("intra.") == text_of(DnsError::not_found));

  bench.on_loop([&] {
    Address first = *Address::parse("192.0.2.8");
    bench.resolver->mark_bad("double", first);
    BOOST_TEST((**bench.resolver->try_cached("double")).list[0].host() == "192.0.2.9");
    int hosts_entries = 0, negative = 0;
    bench.resolver->each_ip_entry([&](const DnsEntryView& view) {
      hosts_entries += view.from_hosts;
      negative += view.negative;
      if (view.from_hosts) BOOST_TEST(view.ttl_seconds == -1);
    });
    BOOST_TEST(hosts_entries == 3);
    BOOST_TEST(negative == 1);
    BOOST_TEST((*hosts->find("double"))->list[0].host() == "192.0.2.8");
  });
}

BOOST_AUTO_TEST_CASE(marks) {
  Bench bench;
  for (const char* text : {"192.0.2.1", "192.0.2.2", "192.0.2.3"}) bench.address("m.example", text);
  auto address = [](const char* text) { return *Address::parse(text, 80); };
  BOOST_TEST(bench.text("m.example") == "192.0.2.1 192.0.2.2 192.0.2.3 ");
  struct { const char *text; bool bad; const char* expected; } const steps[] = {
      {"192.0.2.1", true, "192.0.2.2 192.0.2.3 192.0.2.1! "},  {"192.0.2.1", true, "192.0.2.2 192.0.2.3 192.0.2.1! "},
      {"192.0.2.3", true, "192.0.2.2 192.0.2.1! 192.0.2.3! "}, {"192.0.2.3", false, "192.0.2.2 192.0.2.3 192.0.2.1! "},
      {"192.0.2.9", true, "192.0.2.2 192.0.2.3 192.0.2.1! "},  {"192.0.2.2", true, "192.0.2.3 192.0.2.1! 192.0.2.2! "},
      {"192.0.2.3", true, "192.0.2.1 192.0.2.2 192.0.2.3 "},
  };
  for (const auto& step : steps) {
    bench.on_loop([&] {
      if (step.bad) bench.resolver->mark_bad("m.example", address(step.text));
      else bench.resolver->mark_good("m.example", address(step.text));
    });
    BOOST_TEST(bench.text("m.example") == step.expected);
  }
}

BOOST_AUTO_TEST_CASE(reverse) {
  Bench bench;
  BOOST_TEST(reverse_name(*Address::parse("192.0.2.1")) == "1.2.0.192.in-addr.arpa");
  BOOST_TEST(reverse_name(*Address::parse("2001:db8::f")) ==
             "f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa");
  const std::string key = "1.2.0.192.in-addr.arpa";
  bench.script(key, PTR, {.answers = {record(key, PTR, 60, encode_name("Host.Example")), record(key, PTR, 60, encode_name("host.example")),
                                      record(key, PTR, 60, encode_name("second.example"))}});
  Address address = *Address::parse("::ffff:192.0.2.1", 4711);
  for (int i = 0; i < 2; ++i) {
    NamesAnswer answer = bench.ask<Names>(address);
    BOOST_REQUIRE(answer->list.size() == 2);
    BOOST_TEST(answer->list[0] == "host.example");
    BOOST_TEST(answer->list[1] == "second.example");
  }
  const std::string hostile = "2.2.0.192.in-addr.arpa";
  bench.script(hostile, PTR, {.answers = {record(hostile, PTR, 60, encode_name("<script>\r\n.example"))}});
  BOOST_TEST(bench.ask<Names>(*Address::parse("192.0.2.2"))->list.empty());
  BOOST_TEST(bench.asked(key) == 1);
  NamesAnswer none = bench.ask<Names>(*Address::parse("192.0.2.77"));
  BOOST_TEST((none->error == DnsError::not_found));
  bench.on_loop([&] {
    DnsCacheCounts counts = bench.resolver->fqdn_counts();
    BOOST_TEST(counts.requests == 4u);
    BOOST_TEST(counts.hits == 1u);
    BOOST_TEST(counts.misses == 3u);
    BOOST_TEST(counts.entries == 3u);
  });
}

BOOST_AUTO_TEST_CASE(reconfigure_asks_again_and_destruction_is_quiet) {
  Bench bench([](DnsSettings& s) { s.dns_timeout = 3s; s.dns_retransmit_interval = 1s; });
  NameServer second;
  second.script[{"late.example", A}] = {.answers = {record("late.example", A, 60, address_bytes("192.0.2.5"))}};
  bench.script("late.example", A, {.silent = true});
  bench.script("late.example", AAAA, {.silent = true});
  Lookup waiting, dropped;
  std::promise<std::string> promise;
  bench.on_loop([&] {
    bench.loop.add(second.fd, &second, EPOLLIN);
    bench.resolver->resolve("late.example", waiting,
                            [&](const Answer& a) { promise.set_value(a->list.empty() ? "none" : a->list[0].host()); });
    DnsSettings other = bench.settings;
    other.dns_nameservers = {"127.0.0.1:" + std::to_string(second.port), "not-an-address"};
    bench.resolver->reconfigure(other);
  });
  auto future = promise.get_future();
  BOOST_REQUIRE(future.wait_for(2s) == std::future_status::ready);
  BOOST_TEST(future.get() == "192.0.2.5");
  bench.on_loop([&] {
    bench.loop.remove(second.fd, &second);
    bench.resolver->resolve("never.example", dropped, [](const Answer&) { BOOST_TEST(false); });
    bench.resolver.reset();
    BOOST_TEST(!dropped.pending());
    bench.resolver = std::make_unique<Resolver>(bench.loop, bench.settings);
  });
}

BOOST_AUTO_TEST_CASE(name_server_addresses) {
  struct { const char *text, *expected; } const cases[] = {
      {"10.0.0.1", "10.0.0.1:53"}, {"10.0.0.1:5353", "10.0.0.1:5353"}, {"::1", "[::1]:53"}, {"[::1]", "[::1]:53"},
      {"[::1]:5353", "[::1]:5353"}, {"", ""}, {"ns.example", ""}, {"10.0.0.1:", ""}, {"10.0.0.1:0", ""}, {"10.0.0.1:70000", ""},
      {":53", ""}, {"fe80::1%eth0", ""},
  };
  for (const auto& c : cases) {
    auto address = parse_name_server(c.text);
    std::string text = address ? address->text() : "";
    BOOST_TEST(text == c.expected, c.text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
