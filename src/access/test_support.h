// For the tests of this room: statements from text, a configuration of acl
// lines and rules, and facts with the bytes behind them.
#pragma once
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "access/rules.h"

namespace loligo::access::test {

// How often this thread has called operator new (allocation_count.cc).
unsigned long allocations();

inline config::Statement statement(const std::string& text, int line) {
  config::Statement s;
  s.place = {"test.conf", line, 1};
  s.sequence = line;
  std::istringstream in(text);
  in >> s.name;
  for (std::string word; in >> word;) s.words.push_back({word, int(in.tellg() < 0 ? text.size() : size_t(in.tellg())) - int(word.size()) + 1, line});
  return s;
}

inline bool says(const config::Problems& problems, config::Severity severity, std::string_view part) {
  for (auto& p : problems.list())
    if (p.severity == severity && (p.message + " | " + p.fix).find(part) != std::string::npos) return true;
  return false;
}

inline std::string all_of(const config::Problems& problems) {
  std::string text;
  for (auto& p : problems.list()) text += std::to_string(p.place.line) + ":" + std::to_string(p.place.column) + ": " + p.message + " | " + p.fix + "\n";
  return text;
}

inline std::vector<net::Address> resolve(std::string name) {
  if (name == "two.example") return {*net::Address::parse("192.0.2.1"), *net::Address::parse("2001:db8::1")};
  return {};
}

// A small configuration: lines that begin with "acl" and lines of one access directive.
struct Configuration {
  AclSet acls{resolve};
  Rules rules;
  config::Problems problems;

  explicit Configuration(const std::string& text, size_t skip = 0) {
    std::vector<config::Statement> access;
    std::istringstream in(text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      config::Statement s = statement(line, ++number);
      if (s.name == "acl") acls.add(s, problems);
      else if (!s.name.empty()) access.push_back(std::move(s));
    }
    acls.finish(problems);
    rules = Rules::compile(access, acls, problems, skip);
  }
  bool clean() const { return problems.list().empty(); }
};

// Facts of a plain GET with a reply; the strings live here.
struct Sample {
  Facts facts;
  std::unique_ptr<http::Head> request_head = std::make_unique<http::Head>(), reply_head = std::make_unique<http::Head>();
  std::string request_text, reply_text;
  std::vector<net::Address> destinations;

  Sample() {
    facts.client = *net::Address::parse("10.1.2.3", 50000);
    facts.local = *net::Address::parse("10.0.0.1", 3128);
    facts.port_name = "office";
    facts.client_connections = 5;
    facts.now = 1690000000;
    facts.method = http::Method::get;
    facts.method_text = "GET";
    facts.scheme = "http";
    facts.host = "www.example.com";
    facts.port = 80;
    facts.url = "http://www.example.com/Path/file.EXE?q=1";
    facts.path = "/Path/file.EXE?q=1";
    facts.peer_name = "parent1";
    facts.hierarchy = "HIER_FIRSTUP_PARENT";
    request("GET /Path/file.EXE?q=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (Test)\r\nReferer: http://from.example/\r\n"
            "Content-Type: text/plain\r\nX-Custom: One\r\nX-Custom: Two\r\n\r\n");
    reply("HTTP/1.1 404 Not Found\r\nContent-Type: image/png\r\nServer: Apache/2\r\n\r\n");
    destinations = {*net::Address::parse("203.0.113.7"), *net::Address::parse("2001:db8::7")};
    facts.destinations = destinations.data();
    facts.destination_count = unsigned(destinations.size());
    facts.destinations_known = true;
  }
  void request(std::string text) {
    request_text = std::move(text);
    request_head->parse_request(request_text.data(), request_text.size(), {});
    facts.request = request_head.get();
    facts.request_bytes = request_text.data();
  }
  void reply(std::string text) {
    reply_text = std::move(text);
    reply_head->parse_response(reply_text.data(), reply_text.size(), {});
    facts.reply = reply_head.get();
    facts.reply_bytes = reply_text.data();
    facts.status = reply_head->status();
  }
  void no_reply() { facts.reply = nullptr, facts.status = 0; }
};

}  // namespace loligo::access::test
