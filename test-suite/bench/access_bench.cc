// What an access check costs, by the number of values: 10 and 10,000 patterns,
// domains and networks, and the shortest list of all. Prints ns per check.
//
//   access_bench [ROUNDS]        rounds of 1,000 checks each, default 200
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "access/rules.h"

using namespace loligo;

namespace {

config::Statement statement(std::string name, std::vector<std::string> words, int sequence) {
  config::Statement s;
  s.name = std::move(name);
  s.sequence = sequence;
  for (auto& word : words) s.words.push_back({std::move(word)});
  return s;
}

constexpr unsigned kRequests = 4096;  // different ones

struct Case {
  const char* what;
  const char* type;
  std::string (*value)(unsigned);
};

// Spread over the space, as real lists are.
unsigned scatter(unsigned i) { return i * 2654435761u; }

const Case kCases[] = {
    {"src networks /24", "src", [](unsigned i) {
       unsigned x = scatter(i);
       return std::to_string(11 + (x >> 24) % 200) + "." + std::to_string((x >> 16) & 255) + "." + std::to_string((x >> 8) & 255) + ".0/24";
     }},
    {"src networks in one /8", "src", [](unsigned i) { return "172." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/25"; }},
    {"dstdomain", "dstdomain", [](unsigned i) { return (i % 3 ? ".name" : "name") + std::to_string(scatter(i) % 100000000) + (i % 2 ? ".example" : ".co.example"); }},
    {"url_regex literals", "url_regex", [](unsigned i) { return "word" + std::to_string(scatter(i) % 100000000) + "x"; }},
    {"url_regex expressions", "url_regex", [](unsigned i) { return "^https?://([a-z]+\\.)?name" + std::to_string(scatter(i) % 100000000) + "\\.example/.*\\.(exe|zip)$"; }},
    {"url_regex, one ending", "url_regex", [](unsigned i) { return "/d[0-9]*" + std::to_string(scatter(i) % 100000000) + "/.*\\.swf$"; }},
    {"url_regex no literals", "url_regex", [](unsigned i) { return "(x|y)[0-9]" + std::string(1, char('a' + i % 26)) + "(q|" + std::to_string(i) + ")"; }},
};

double nanoseconds(const access::Rules& rules, const std::vector<access::Facts>& facts, int rounds) {
  std::vector<double> times;
  unsigned allowed = 0;
  size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) allowed += rules.check(facts[next++ % facts.size()], false).allowed;
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 1000);
  }
  if (allowed == 12345678) std::puts("");  // keeps the checks from being optimised away
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Requests that match nothing, the dearest answer.
std::vector<access::Facts> make_facts(std::vector<std::string>& texts) {
  texts.reserve(kRequests * 3);  // the facts hold views of them
  std::vector<access::Facts> all;
  for (unsigned i = 0; i < kRequests; ++i) {
    access::Facts facts;
    unsigned x = scatter(i + 77777);
    texts.push_back("172." + std::to_string(i % 40) + "." + std::to_string(x % 256) + ".200");
    facts.client = *net::Address::parse(texts.back());
    texts.push_back("www.host" + std::to_string(x % 1000) + ".example");
    facts.host = texts.back();
    texts.push_back("http://" + texts.back() + "/some/path/picture" + std::to_string(x % 10000) + ".jpg?size=" + std::to_string(x % 97));
    facts.url = texts.back();
    facts.path = facts.url.substr(facts.url.find('/', 8));
    facts.method = http::Method::get;
    facts.method_text = "GET";
    facts.scheme = "http";
    facts.port = 80;
    all.push_back(facts);
  }
  return all;
}

access::Rules build(const Case& test, unsigned count) {
  access::AclSet acls;
  config::Problems problems;
  for (unsigned i = 0; i < count; ++i) acls.add(statement("acl", {"x", test.type, test.value(i)}, 1), problems);
  acls.finish(problems);
  return access::Rules::compile({statement("http_access", {"allow", "x"}, 2)}, acls, problems);
}

double list_cost(std::vector<std::vector<std::string>> acls, std::vector<std::vector<std::string>> lines, const std::vector<access::Facts>& facts, int rounds) {
  access::AclSet set;
  config::Problems problems;
  std::vector<config::Statement> statements;
  for (auto& acl : acls) set.add(statement("acl", acl, 1), problems);
  set.finish(problems);
  for (auto& line : lines) statements.push_back(statement("http_access", line, 2));
  return nanoseconds(access::Rules::compile(statements, set, problems), facts, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::max(1, atoi(argv[1])) : 200;
  std::vector<std::string> texts;
  std::vector<access::Facts> facts = make_facts(texts);
  std::printf("%-26s %10s\n", "list", "ns/check");
  std::printf("%-26s %10.1f\n", "allow all", list_cost({}, {{"allow", "all"}}, facts, rounds));
  std::printf("%-26s %10.1f\n", "usual office list",
              list_cost({{"Safe", "port", "80", "443", "1025-65535"}, {"lan", "src", "172.16.0.0/12", "fc00::/7"}, {"lan", "src", "172.0.0.0/12"}},
                        {{"deny", "!Safe"}, {"deny", "CONNECT", "!Safe"}, {"allow", "localhost", "manager"}, {"deny", "manager"}, {"allow", "lan"}, {"deny", "all"}}, facts, rounds));
  std::printf("%-26s %10s %10s %10s %12s\n", "values", "10", "1000", "10000", "build 10000");
  for (const Case& test : kCases) {
    double cost[3];
    double build_ms = 0;
    for (int i = 0; i < 3; ++i) {
      auto start = std::chrono::steady_clock::now();
      access::Rules rules = build(test, i == 0 ? 10 : i == 1 ? 1000 : 10000);
      build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      cost[i] = nanoseconds(rules, facts, rounds);
    }
    std::printf("%-26s %10.1f %10.1f %10.1f %9.0f ms\n", test.what, cost[0], cost[1], cost[2], build_ms);
    std::fflush(stdout);
  }
}
