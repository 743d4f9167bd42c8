// A worker with its connections and transactions, between socket pairs for
// clients and scripted origins: what no machine shows alone.
#define BOOST_TEST_DYN_LINK
#include "client/worker.h"

#include <boost/test/unit_test.hpp>
#include <list>

#include "access/test_support.h"
#include "client/connection.h"
#include "client/transaction.h"
#include "server/test_support.h"

using namespace loligo;
using namespace loligo::client;
using namespace loligo::server::test;
using base::Milliseconds;
using namespace std::string_literals;

namespace {

net::DnsSettings no_dns() {
  net::DnsSettings s;
  s.dns_nameservers = {"127.0.0.1:9"};
  s.hosts_file = "none";
  return s;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

struct Setup {
  net::Loop loop;
  net::Resolver resolver{loop, no_dns(), net::HostsFile::parse("")};
  cache::Cache cache{{64 << 20, 1 << 20, "lru"}, 1};
  server::Upstream upstream{loop, resolver, cache};
  log::Writer writer;
  log::WorkerLog log{writer, std::make_shared<log::LogPlan>()};
  ConnectionCounts counts;
  access::test::Configuration access{"http_access allow all\n"};
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  std::shared_ptr<server::Routing> routing = std::make_shared<server::Routing>();
  std::shared_ptr<cache::Policy> policy = std::make_shared<cache::Policy>();
  std::shared_ptr<PortContext> port = std::make_shared<PortContext>();
  std::unique_ptr<Worker> worker;

  Setup() {
    std::vector<std::string> problems;
    snapshot->error_pages = std::make_shared<ErrorPages>(ErrorPageSettings{}, problems);
    snapshot->hostname = snapshot->unique_name = "proxy.test";
    snapshot->via_value = "proxy.test (loligo)";
    snapshot->http_access = access.rules;
    snapshot->routing = routing;
    snapshot->policy = policy;
    port->config.port = 3128;
    fill_port_fields(*port, *snapshot);
    snapshot->ports = {port};
    worker = std::make_unique<Worker>(loop, resolver, upstream, cache, log, counts);
    worker->snapshot = snapshot;
  }
  // What a reload does: settings that are changed afterwards reach what begins from now on.
  Settings& settings() { return snapshot->settings; }
};

// A client of that worker; what it has received so far is in `text`.
struct Client {
  Setup& setup;
  int fd = -1;
  std::string text;
  bool closed = false;
  size_t limit = ~size_t(0);   // read no more than this

  explicit Client(Setup& s, std::string_view first = {}) : setup(s) {
    int fds[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    fd = fds[1];
    send(first);
    auto address = *net::Address::parse("127.0.0.1", 40000), local = *net::Address::parse("127.0.0.1", 3128);
    Connection::accept(*s.worker, std::make_unique<net::PlainStream>(fds[0]), address, local, s.port);
  }
  ~Client() { leave(); }
  void leave() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void send(std::string_view bytes) { send_all(fd, bytes); }
  void pull() {
    char buffer[65536];
    while (fd >= 0 && !closed && text.size() < limit) {
      ssize_t n = ::recv(fd, buffer, std::min(sizeof buffer, limit - text.size()), 0);
      if (n == 0 || (n < 0 && errno == ECONNRESET)) closed = true;
      if (n <= 0) return;
      text.append(buffer, size_t(n));
    }
  }
  bool wait(const std::function<bool()>& done, int ms = 5000) {
    return run_until(setup.loop, [&] { pull(); return done(); }, ms);
  }
  bool wait_for(std::string_view part, int ms = 5000) { return wait([&] { return has(text, part); }, ms); }
  bool wait_closed(int ms = 5000) { return wait([&] { return closed; }, ms); }
  size_t count(std::string_view part) const {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
    return n;
  }
};

std::string get(uint16_t port, std::string path = "/x", std::string fields = {}) {
  std::string host = "127.0.0.1:" + std::to_string(port);
  return "GET http://" + host + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}
std::string post(uint16_t port, std::string fields) {
  std::string host = "127.0.0.1:" + std::to_string(port);
  return "POST http://" + host + "/p HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}
const std::string kOk = "HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nContent-Length: 5\r\n\r\nhello";

Origin::Script always(std::string reply) {
  return [reply](int fd, int) {
    while (!read_head(fd).empty()) send_all(fd, reply);
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(worker)

BOOST_AUTO_TEST_CASE(a_miss_then_hits_on_one_connection) {
  Origin origin(always(kOk));
  Setup s;
  Client c(s, get(origin.port()));
  BOOST_TEST(c.wait_for("hello"));
  BOOST_TEST(has(c.text, "X-Cache: MISS from proxy.test"));
  c.send(get(origin.port()) + get(origin.port()));   // pipelined
  BOOST_TEST(c.wait([&] { return c.count("hello") == 3; }));
  BOOST_TEST(c.count("X-Cache: HIT from proxy.test") == 2u);
  BOOST_TEST(s.worker->connections->idle());
  BOOST_TEST(s.loop.counters().client_requests.get() == 3u);
  BOOST_TEST(s.loop.counters().client_hits.get() == 2u);
  BOOST_TEST(s.loop.counters().server_errors.get() == 0u);
  c.leave();
  BOOST_TEST(run_until(s.loop, [&] { return s.worker->connection_count == 0; }));
}

// The second request comes in the very event that lets the first reply go on.
BOOST_AUTO_TEST_CASE(a_request_behind_a_long_reply_is_not_lost) {
  const std::string long_body(3 << 20, 'x');
  Origin origin(always("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: " + std::to_string(long_body.size()) + "\r\n\r\n" + long_body));
  Origin other(always(kOk));
  Setup s;
  for (int i = 0; i < 3; ++i) {
    Client c(s, get(origin.port()));
    c.limit = 100'000;
    BOOST_TEST(c.wait([&] { return c.text.size() >= 100'000; }));
    run_for(s.loop, 50);
    c.send(get(other.port()));
    c.limit = ~size_t(0);
    BOOST_TEST(c.wait_for("hello"));
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_takes_its_fetch_along) {
  Origin origin([](int fd, int) {
    read_head(fd);
    send_all(fd, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\r\n");
    std::string block(64 * 1024, 'x');
    for (int i = 0; i < 2000; ++i)
      if (::send(fd, block.data(), block.size(), MSG_NOSIGNAL) <= 0) return;
  });
  Setup s;
  Client c(s, get(origin.port()));
  BOOST_TEST(c.wait([&] { return c.text.size() > 200'000; }));
  c.leave();
  BOOST_TEST(run_until(s.loop, [&] { return s.worker->connection_count == 0 && s.upstream.fetches() == 0; }));
  BOOST_TEST(s.loop.counters().server_bytes_in.get() < 30u << 20);
  BOOST_TEST(s.loop.counters().aborted_requests.get() == 1u);
}

BOOST_AUTO_TEST_CASE(a_body_that_may_not_be_ends_the_connection) {
  Origin origin([](int fd, int) { read_head(fd), read_head(fd); });
  struct Row { const char* what; std::string fields, body, status; };
  const Row rows[] = {
      {"announced too large", "Content-Length: 5000\r\n", "", "HTTP/1.1 413 "},
      {"becomes too large", "Transfer-Encoding: chunked\r\n", "3e9\r\n" + std::string(1001, 'x') + "\r\n", "HTTP/1.1 413 "},
      {"malformed chunks", "Transfer-Encoding: chunked\r\n", "5\r\nhelloXX\r\n", "HTTP/1.1 400 "},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.what) {
      Setup s;
      s.settings().request_body_max_size = 1000;
      Client c(s, post(origin.port(), row.fields));
      run_for(s.loop, 30);
      c.send(row.body);
      BOOST_TEST(c.wait_closed());
      BOOST_TEST(c.text.starts_with(row.status), c.text.substr(0, 40));
      BOOST_TEST(has(c.text, "Connection: close\r\n"));
      c.leave();
      BOOST_TEST(run_until(s.loop, [&] { return s.worker->connection_count == 0 && s.upstream.fetches() == 0; }));
    }
  }
}

// The server resets while the body is on its way: the transaction ends under the very call that passes bytes on.
BOOST_AUTO_TEST_CASE(a_server_that_vanishes_during_an_upload) {
  for (std::string framing : {"Content-Length: 1000000\r\n"s, "Transfer-Encoding: chunked\r\n"s}) {
    Origin origin([](int fd, int) {
      read_head(fd);
      struct ::linger hard{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    });
    Setup s;
    Client c(s, post(origin.port(), framing));
    std::string piece = framing.starts_with("C") ? std::string(1000, 'x') : "3e8\r\n" + std::string(1000, 'x') + "\r\n";
    BOOST_TEST(c.wait([&] {
      if (!c.closed && c.text.empty()) c.send(piece);
      return c.closed || has(c.text, "\r\n\r\n");
    }));
    BOOST_TEST(c.text.starts_with("HTTP/1.1 502 "), c.text.substr(0, 40));
    c.leave();
    BOOST_TEST(run_until(s.loop, [&] { return s.worker->connection_count == 0; }));
  }
}

BOOST_AUTO_TEST_CASE(an_error_of_ours_keeps_the_connection_where_it_can) {
  uint16_t dead = 0;
  ::close(listen_on("127.0.0.1", dead));
  Origin origin(always(kOk));
  Setup s;
  Client c(s, get(dead));
  BOOST_TEST(c.wait_for("</html>"));
  BOOST_TEST(c.text.starts_with("HTTP/1.1 503 "));
  c.text.clear();
  c.send(get(origin.port()));
  BOOST_TEST(c.wait_for("hello"));
  c.text.clear();
  c.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + get(origin.port()));   // nothing behind it is trusted
  BOOST_TEST(c.wait_closed());
  BOOST_TEST(c.text.starts_with("HTTP/1.1 400 "));
  BOOST_TEST(c.count("HTTP/1.1 ") == 1u);
}

BOOST_AUTO_TEST_CASE(a_head_has_one_deadline_however_it_dribbles) {
  Setup s;
  s.settings().request_timeout = Milliseconds(200);
  Client c(s, "GET http://a.example/ HTTP/1.1\r\n");
  BOOST_TEST(c.wait([&] {
    if (!c.closed && c.text.empty()) c.send("X");
    return c.closed;
  }));
  BOOST_TEST(c.text.starts_with("HTTP/1.1 408 "));
}

BOOST_AUTO_TEST_CASE(interim_answers_come_before_the_answer) {
  Origin origin(always("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + kOk));
  Setup s;
  Client c(s, get(origin.port()));
  BOOST_TEST(c.wait_for("hello"));
  BOOST_TEST(c.text.starts_with("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n"));
  Client old(s, "GET http://127.0.0.1:" + std::to_string(origin.port()) + "/y HTTP/1.0\r\n\r\n");
  BOOST_TEST(old.wait_for("hello"));
  BOOST_TEST(old.text.starts_with("HTTP/1.1 200 "));
}

BOOST_AUTO_TEST_CASE(a_tunnel_both_ways) {
  Origin origin([](int fd, int) {
    send_all(fd, "220 ready\r\n");
    std::string line = read_to(fd, "\n");
    send_all(fd, "echo " + line);
    read_head(fd);   // to the end
  });
  Setup s;
  std::string authority = "127.0.0.1:" + std::to_string(origin.port());
  Client c(s, "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\nearly\n");
  BOOST_TEST(c.wait_for("echo early\n"));
  BOOST_TEST(c.text == "HTTP/1.1 200 Connection established\r\n\r\n220 ready\r\necho early\n");
  ::shutdown(c.fd, SHUT_WR);
  BOOST_TEST(c.wait_closed());
  BOOST_TEST(run_until(s.loop, [&] { return s.worker->connection_count == 0; }));
}

BOOST_AUTO_TEST_CASE(many_ask_at_once_and_one_fetches) {
  std::atomic<bool> go_on{false};
  std::atomic<int> asked{0};
  Origin origin([&](int fd, int) {
    while (!read_head(fd).empty()) {
      ++asked;
      while (!go_on) ::usleep(1000);
      send_all(fd, kOk);
    }
  });
  Setup s;
  s.policy->collapsed_forwarding = cache::Collapse::on;
  std::list<Client> clients;
  for (int i = 0; i < 5; ++i) clients.emplace_back(s, get(origin.port()));
  BOOST_TEST(run_until(s.loop, [&] { return asked == 1; }));
  BOOST_TEST(s.loop.counters().collapsed_requests.get() == 4u);
  clients.back().leave();    // a follower may go
  clients.pop_back();
  run_for(s.loop, 20);
  go_on = true;
  for (Client& c : clients) BOOST_TEST(c.wait_for("hello"));
  BOOST_TEST(asked == 1);
}

BOOST_AUTO_TEST_CASE(when_the_leader_leaves_another_leads) {
  std::atomic<int> asked{0};
  Origin origin([&](int fd, int number) {
    while (!read_head(fd).empty()) {
      ++asked;
      if (number == 1) {
        read_head(fd);   // never answers the first
        return;
      }
      send_all(fd, kOk);
    }
  });
  Setup s;
  s.policy->collapsed_forwarding = cache::Collapse::on;
  Client leader(s, get(origin.port()));
  BOOST_TEST(run_until(s.loop, [&] { return asked == 1; }));
  Client a(s, get(origin.port())), b(s, get(origin.port()));
  run_for(s.loop, 20);
  leader.leave();
  BOOST_TEST(a.wait_for("hello"));
  BOOST_TEST(b.wait_for("hello"));
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(a_stale_hit_is_served_and_validated_behind_the_scenes) {
  std::atomic<int> asked{0};
  Origin origin([&](int fd, int) {
    while (!read_head(fd).empty()) {
      ++asked;
      send_all(fd, "HTTP/1.1 200 OK\r\nCache-Control: max-age=0, stale-while-revalidate=100\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nhello");
    }
  });
  Setup s;
  Client c(s, get(origin.port()));
  BOOST_TEST(c.wait_for("hello"));
  c.text.clear();
  c.send(get(origin.port()));
  BOOST_TEST(c.wait_for("hello"));
  BOOST_TEST(has(c.text, "X-Cache: HIT"));
  BOOST_TEST(run_until(s.loop, [&] { return asked == 2 && s.upstream.fetches() == 0; }));
}

BOOST_AUTO_TEST_CASE(clients_beyond_the_limit_share_a_row_without_a_name) {
  ClientTable table(2);
  auto row = [&](const char* address) -> ClientRow& { return table.row(*net::Address::parse(address)); };
  row("192.0.2.1").requests.add();
  row("192.0.2.2").requests.add(2);
  ClientRow& others = row("192.0.2.3");
  others.requests.add(4);
  BOOST_TEST(&row("2001:db8::1") == &others);
  BOOST_TEST(!others.address.valid());
  BOOST_TEST(row("192.0.2.1").requests.get() == 1u);
  BOOST_TEST(row("192.0.2.2").address.host() == "192.0.2.2");
  BOOST_TEST(table.size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
