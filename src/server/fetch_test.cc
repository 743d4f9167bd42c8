#define BOOST_TEST_DYN_LINK
#include "server/fetch.h"

#include <boost/test/unit_test.hpp>

#include "server/test_support.h"

using namespace loligo;
using namespace loligo::server;
using namespace loligo::server::test;
using base::Milliseconds;
using namespace std::string_literals;

namespace {

// Hears what a fetch tells, and reads the body as a client connection would.
struct Owner final : FetchOwner, store::Reader {
  net::Loop* loop = nullptr;
  std::vector<std::string> interim;
  cache::ResponseRef response, switched;
  ServerConnectionPtr switched_connection;
  std::string early, body;
  Source source = Source::fresh;
  FetchError error = FetchError::none;
  FetchFacts facts;
  Fetch* fetch = nullptr;
  int told = 0, ended = 0;
  bool reads = true, leaves_when_told = false, attached = false;

  void fetch_interim(int status, std::string_view head) override { interim.push_back(std::to_string(status) + " " + std::string(head)); }
  void fetch_response(cache::ResponseRef r, Source s, const FetchFacts& f) override {
    ++told;
    response = r, source = s, facts = f;
    if (leaves_when_told) return fetch->abandon();
    attached = r->body->attach(this, 0, loop->now_ms());
    BOOST_TEST(attached);
  }
  void fetch_switched(ServerConnectionPtr c, cache::ResponseRef head, std::string bytes, const FetchFacts& f) override {
    ++told;
    switched_connection = std::move(c), switched = head, early = std::move(bytes), facts = f;
  }
  void fetch_failed(FetchError e, const FetchFacts& f) override { ++told, error = e, facts = f; }
  void fetch_ended(const FetchFacts&) override { ++ended; }
  void woken() override {}

  void pull() {
    if (!attached || !reads) return;
    iovec parts[64];
    for (;;) {
      auto view = response->body->view(body.size(), parts, 64, store::kUnknownLength);
      if (!view.bytes) return;
      for (int i = 0; i < view.parts; ++i) body.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
      response->body->advance(this, body.size(), loop->now_ms());
    }
  }
  bool body_ended() const { return response && response->body->state() != store::Body::State::filling; }
  ~Owner() { if (attached) response->body->detach(this); }
};

net::DnsSettings no_dns() {
  net::DnsSettings s;
  s.dns_nameservers = {"127.0.0.1:9"};
  s.hosts_file = "none";
  return s;
}

struct Setup {
  net::Loop loop;
  net::Resolver resolver{loop, no_dns(), net::HostsFile::parse("")};
  cache::Cache cache{{16 << 20, 1 << 20, "lru"}, 1};
  Upstream upstream{loop, resolver, cache};
  std::shared_ptr<Routing> routing = std::make_shared<Routing>();
  std::shared_ptr<cache::Policy> policy = std::make_shared<cache::Policy>();
  uint16_t port = 0;

  explicit Setup(uint16_t port) : port(port) { routing->settings.read_timeout = Milliseconds(5000); }

  FetchRequest request(http::Method method = http::Method::get, std::string text = "GET", std::string path = "/x") {
    FetchRequest r;
    r.method = method;
    r.method_text = text;
    r.scheme = "http";
    r.host = "127.0.0.1";
    r.port = port;
    r.path_query = path;
    r.host_field = "127.0.0.1:" + std::to_string(port);
    r.url = "http://" + r.host_field + path;
    r.key = cache::key_of(r.url);
    auto kept = std::make_shared<KeptHead>();
    kept->bytes = text + " " + r.url + " HTTP/1.1\r\nHost: " + r.host_field + "\r\n\r\n";
    BOOST_REQUIRE((kept->head.parse_request(kept->bytes.data(), kept->bytes.size(), {}) == http::ParseState::complete));
    r.original = kept;
    r.fields = "Via: 1.1 test\r\n";
    r.destinations = {{nullptr, log::HierarchyCode::direct}};
    r.routing = routing;
    r.policy = policy;
    return r;
  }
  // Starts, and waits until the fetch has told its outcome and its body has ended.
  void run(Owner& owner, FetchRequest r) {
    owner.loop = &loop;
    int told = owner.told;
    owner.fetch = upstream.start(std::move(r), &owner);
    BOOST_TEST(owner.told == told);   // never from within start()
    BOOST_TEST(run_until(loop, [&] {
      owner.pull();
      return owner.told > told && upstream.fetches() == 0;
    }));
    owner.pull();
  }
  cache::Found find(const FetchRequest& r) {
    cache::Question q{r.key, r.url, &r.original->head, r.original->bytes.data(), {}, {}, loop.wall_seconds()};
    return cache.lookup(q);
  }
};

const std::string kStorable = "HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nETag: \"1\"\r\n";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// An origin that gives the same answer to every request on a connection that it keeps.
Origin::Script always(std::string reply) {
  return [reply](int fd, int) {
    while (!read_head(fd).empty()) send_all(fd, reply);
  };
}
Origin::Script once(std::string reply) {
  return [reply](int fd, int) {
    read_head(fd);
    send_all(fd, reply);
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fetch)

BOOST_AUTO_TEST_CASE(a_body_of_known_length_is_stored_and_the_connection_kept) {
  std::string seen;
  Origin origin([&](int fd, int) {
    for (std::string head; !(head = read_head(fd)).empty();) {
      seen = head;
      send_all(fd, kStorable + "Content-Length: 5\r\n\r\nhello");
    }
  });
  Setup s(origin.port());
  for (int i = 0; i < 3; ++i) {
    Owner owner;
    s.run(owner, s.request());
    BOOST_TEST(owner.body == "hello");
    BOOST_TEST(owner.ended == 1);
    BOOST_TEST(owner.response->stored);
    BOOST_TEST(owner.response->content_length == 5u);
    BOOST_TEST(owner.facts.reused_connection == (i > 0));
    BOOST_TEST(owner.facts.server_status == 200);
  }
  BOOST_TEST(origin.connections() == 1);
  BOOST_TEST(s.upstream.pool.idle() == 1u);
  BOOST_TEST((s.find(s.request()).finding == cache::Finding::hit));
  BOOST_TEST(s.loop.counters().server_errors.get() == 0u);
  BOOST_TEST(s.loop.counters().server_requests.get() == 3u);
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
  BOOST_TEST(seen == "GET /x HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(origin.port()) + "\r\nVia: 1.1 test\r\nConnection: keep-alive\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(each_framing_ends_where_it_should) {
  struct Row { const char* what; std::string reply; std::string body, trailers; bool kept; };
  const Row rows[] = {
      {"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", "", true},
      {"length, nothing", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", "", true},
      {"length, to be closed", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "abc", "", false},
      {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc", "", true},
      {"chunked with a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\n\r\n", "a", "X-T: 1\r\n", true},
      {"no body", "HTTP/1.1 204 No Content\r\n\r\n", "", "", true},
      {"the end of the connection", "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", "", false},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nold", "old", "", false},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.what) {
      bool closes = !row.kept;
      Origin origin(closes ? once(row.reply) : always(row.reply));
      Setup s(origin.port());
      Owner owner;
      s.run(owner, s.request());
      BOOST_TEST(owner.body == row.body);
      BOOST_REQUIRE(bool(owner.response));
      BOOST_TEST((owner.response->body->state() == store::Body::State::complete));
      BOOST_TEST(owner.response->body->trailers() == row.trailers);
      BOOST_TEST(s.upstream.pool.idle() == (row.kept ? 1u : 0u));
      s.upstream.pool.close_all();
      run_for(s.loop, 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one) {
  std::string reply = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
  Origin origin([&](int fd, int) {
    int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof one);
    read_head(fd);
    for (char c : reply) {
      send_all(fd, {&c, 1});
      ::usleep(300);
    }
    read_head(fd);
  });
  Setup s(origin.port());
  Owner owner;
  s.run(owner, s.request());
  BOOST_TEST(owner.body == "ab");
  BOOST_TEST(owner.interim.size() == 1u);
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

// A head may fill one read and go on in the next, without an event between.
BOOST_AUTO_TEST_CASE(a_head_longer_than_a_read) {
  Origin origin(always("HTTP/1.1 200 OK\r\nX-Long: " + std::string(3000, 'x') + "\r\nContent-Length: 2\r\n\r\nok"));
  Setup s(origin.port());
  s.upstream.scratch.resize(500);
  Owner owner;
  s.run(owner, s.request());
  BOOST_TEST(owner.body == "ok");
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

BOOST_AUTO_TEST_CASE(interim_answers_are_passed_on_and_counted) {
  Origin origin(once("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"
                     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  Setup s(origin.port());
  Owner owner;
  s.run(owner, s.request());
  BOOST_REQUIRE(owner.interim.size() == 2u);
  BOOST_TEST(owner.interim[0] == "100 HTTP/1.1 100 Continue\r\n\r\n");
  BOOST_TEST(owner.interim[1] == "103 HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  BOOST_TEST(owner.body == "ok");

  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += "HTTP/1.1 103 Early Hints\r\n\r\n";
  Origin endless(once(flood));
  Setup s2(endless.port());
  Owner owner2;
  s2.run(owner2, s2.request());
  BOOST_TEST((owner2.error == FetchError::bad_reply));
  BOOST_TEST(owner2.interim.size() < 100u);
}

BOOST_AUTO_TEST_CASE(bad_replies) {
  struct Row { const char* what; std::string reply; FetchError error; };
  const Row rows[] = {
      {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", FetchError::bad_reply},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", FetchError::bad_reply},
      {"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", FetchError::bad_reply},
      {"a switch nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", FetchError::bad_reply},
      {"a head too large", "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", FetchError::reply_too_large},
      {"nothing", "", FetchError::zero_reply},
      {"half a head", "HTTP/1.1 200 OK\r\nContent-", FetchError::bad_reply},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.what) {
      Origin origin(once(row.reply));
      Setup s(origin.port());
      Owner owner;
      s.run(owner, s.request());
      BOOST_TEST(int(owner.error) == int(row.error));
      BOOST_TEST(owner.told == 1);
      BOOST_TEST(owner.ended == 0);
      BOOST_TEST(s.upstream.pool.idle() == 0u);
      BOOST_TEST(s.cache.memory().totals().objects == 0u);
      BOOST_TEST(s.loop.counters().server_errors.get() == 1u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cut_body_fails_and_is_not_kept) {
  for (std::string rest : {"Content-Length: 100\r\n\r\nshort"s, "Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"s,
                           "Transfer-Encoding: chunked\r\n\r\n5\r\nshortXX"s}) {
    Origin origin(once(kStorable + rest));
    Setup s(origin.port());
    Owner owner;
    s.run(owner, s.request());
    BOOST_REQUIRE(bool(owner.response));
    BOOST_TEST((owner.response->body->state() == store::Body::State::failed), rest);
    BOOST_TEST(owner.ended == 1);
    BOOST_TEST(!s.find(s.request()).response);
    BOOST_TEST(s.cache.memory().totals().objects == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_pooled_connection_that_dies_is_retried_once_on_a_new_one) {
  // Answers one request a connection and closes at the second.
  Origin origin([](int fd, int) {
    read_head(fd);
    send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    read_head(fd);
  });
  Setup s(origin.port());
  for (int i = 0; i < 2; ++i) {
    Owner owner;
    s.run(owner, s.request());
    BOOST_TEST(owner.body == "ok");
    BOOST_TEST(owner.facts.attempts == 1u);
  }
  BOOST_TEST(origin.connections() == 2);
  BOOST_TEST(s.loop.counters().server_retries.get() == 1u);
  BOOST_TEST(s.loop.counters().server_errors.get() == 0u);
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

BOOST_AUTO_TEST_CASE(a_post_never_takes_a_pooled_connection) {
  Origin origin(always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  Setup s(origin.port());
  Owner get;
  s.run(get, s.request());
  BOOST_TEST(s.upstream.pool.idle() == 1u);
  Owner post;
  s.run(post, s.request(http::Method::post, "POST"));
  BOOST_TEST(!post.facts.reused_connection);
  BOOST_TEST(origin.connections() == 2);
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

// Bytes behind a reply would be taken for the answer to the next request. Those in the same read are seen; those behind a
// read that the reply has filled exactly are not, and raise no event.
BOOST_AUTO_TEST_CASE(extra_bytes_never_reach_the_pool) {
  const std::string honest = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  for (size_t read_size : {size_t(64 * 1024), honest.size()}) {
    Origin origin([&](int fd, int number) {
      read_head(fd);
      send_all(fd, number == 1 ? honest + evil : honest);
      read_head(fd);
    });
    Setup s(origin.port());
    s.upstream.scratch.resize(read_size);
    for (int i = 0; i < 2; ++i) {
      Owner owner;
      s.run(owner, s.request());
      BOOST_TEST(owner.body == "ok");
      BOOST_TEST(s.upstream.pool.idle() == (i == 0 ? 0u : 1u));
    }
    BOOST_TEST(origin.connections() == 2);
    s.upstream.pool.close_all();
    run_for(s.loop, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_304_freshens_what_is_validated) {
  std::string seen;
  Origin origin([&](int fd, int number) {
    while (true) {
      seen = read_head(fd);
      if (seen.empty()) return;
      if (has(seen, "If-None-Match: \"1\"")) send_all(fd, "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=500\r\nContent-Length: 0\r\n\r\n");
      else send_all(fd, kStorable + "Content-Length: 5\r\n\r\nhello");
    }
    (void)number;
  });
  Setup s(origin.port());
  Owner first, second;
  s.run(first, s.request());
  FetchRequest r = s.request();
  r.stale = r.fallback = first.response;
  r.validators = "If-None-Match: \"1\"\r\n";
  s.run(second, std::move(r));
  BOOST_TEST((second.source == Source::unmodified));
  BOOST_TEST((second.response->body == first.response->body));
  BOOST_TEST(second.response->content_length == 5u);
  BOOST_TEST(second.response->lifetimes.freshness == 500);
  BOOST_TEST(second.body == "hello");
  BOOST_TEST(s.upstream.pool.idle() == 1u);
  BOOST_TEST((s.find(s.request()).response == second.response));
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

BOOST_AUTO_TEST_CASE(an_old_answer_beats_an_error) {
  for (bool refused : {false, true}) {
    Origin origin([](int fd, int number) {
      read_head(fd);
      if (number == 1) send_all(fd, kStorable + "Connection: close\r\nContent-Length: 5\r\n\r\nhello");
      else send_all(fd, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbusy");
    });
    Setup s(origin.port());
    Owner first, second;
    s.run(first, s.request());
    FetchRequest r = s.request();
    r.stale = r.fallback = first.response;
    r.validators = "If-None-Match: \"1\"\r\n";
    if (refused) {
      uint16_t dead = 0;
      ::close(listen_on("127.0.0.1", dead));
      r.port = dead;
    }
    s.run(second, std::move(r));
    BOOST_TEST((second.source == Source::failed_old));
    BOOST_TEST((second.response == first.response));
    BOOST_TEST(second.body == "hello");
    BOOST_TEST(second.told == 1);
  }
}

BOOST_AUTO_TEST_CASE(what_an_unsafe_request_changes_is_forgotten) {
  struct Row { http::Method method; const char* text; const char* answer; bool forgotten; };
  const Row rows[] = {
      {http::Method::post, "POST", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true},
      {http::Method::delete_, "DELETE", "HTTP/1.1 204 No Content\r\n\r\n", true},
      {http::Method::put, "PUT", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", false},
      {http::Method::options, "OPTIONS", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
  };
  for (const Row& row : rows) {
    Origin origin([&](int fd, int) {
      for (std::string head; !(head = read_head(fd)).empty();)
        send_all(fd, head.starts_with("GET") ? kStorable + "Content-Length: 5\r\n\r\nhello" : std::string(row.answer));
    });
    Setup s(origin.port());
    Owner get, change;
    s.run(get, s.request());
    BOOST_TEST(bool(s.find(s.request()).response));
    FetchRequest r = s.request(row.method, row.text);
    r.refusal = http::StoreVerdict::denied_by_cache_rule;
    s.run(change, std::move(r));
    BOOST_TEST(!s.find(s.request()).response == row.forgotten, row.text);
    s.upstream.pool.close_all();
    run_for(s.loop, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_request_body_goes_out_as_it_comes) {
  for (bool known : {true, false}) {
    std::string seen;
    Origin origin([&](int fd, int) {
      seen = read_head(fd);
      seen += known ? read_to(fd, "6789") : read_to(fd, "0\r\nX-T: 1\r\n\r\n");
      send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      read_head(fd);
    });
    Setup s(origin.port());
    FetchRequest r = s.request(http::Method::post, "POST");
    auto body = std::make_shared<RequestBody>();
    if (known) body->length = 10;
    r.body = body;
    body->push("01234");
    Owner owner;
    owner.loop = &s.loop;
    owner.fetch = s.upstream.start(std::move(r), &owner);
    run_for(s.loop, 50);
    body->push("56789");
    body->finish(known ? "" : "X-T: 1\r\n");
    BOOST_TEST(run_until(s.loop, [&] { return s.upstream.fetches() == 0; }));
    owner.pull();
    BOOST_TEST(owner.body == "ok");
    BOOST_TEST(s.upstream.pool.idle() == 1u);
    s.upstream.pool.close_all();
    run_for(s.loop, 5);
    if (known) BOOST_TEST(has(seen, "Content-Length: 10\r\nConnection: keep-alive\r\n\r\n0123456789"));
    else BOOST_TEST(has(seen, "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\nX-T: 1\r\n\r\n"));
  }
}

// A server may answer and stop reading; its answer counts more than our broken write.
BOOST_AUTO_TEST_CASE(an_answer_before_the_whole_request_body) {
  Origin origin([](int fd, int) {
    read_head(fd);
    send_all(fd, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo ");
    ::usleep(50'000);
    send_all(fd, "large");
    ::shutdown(fd, SHUT_WR);
    read_to(fd, "\0never"s);   // drains, so that no reset destroys the answer
  });
  Setup s(origin.port());
  FetchRequest r = s.request(http::Method::post, "POST");
  auto body = std::make_shared<RequestBody>();
  body->length = 100'000'000;
  r.body = body;
  Owner owner;
  owner.loop = &s.loop;
  owner.fetch = s.upstream.start(std::move(r), &owner);
  std::string block(16'384, 'x');
  BOOST_TEST(run_until(s.loop, [&] {
    if (body->space() >= block.size()) body->push(block);
    owner.pull();
    return s.upstream.fetches() == 0;
  }));
  BOOST_REQUIRE(bool(owner.response));
  BOOST_TEST(owner.response->status == 413);
  BOOST_TEST(owner.body == "too large");
  BOOST_TEST((owner.response->body->state() == store::Body::State::complete));
  BOOST_TEST(s.upstream.pool.idle() == 0u);   // the request was never whole
}

// Its event goes to the connector, and no other comes.
BOOST_AUTO_TEST_CASE(a_server_that_answers_before_it_is_asked) {
  Origin origin([](int fd, int) {
    send_all(fd, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy");
    read_head(fd);
    ::usleep(300'000);
  });
  Setup s(origin.port());
  s.routing->settings.read_timeout = Milliseconds(2000);
  for (int i = 0; i < 5; ++i) {
    Owner owner;
    s.run(owner, s.request(http::Method::post, "POST"));
    BOOST_TEST(owner.body == "busy");
    s.upstream.pool.close_all();
  }
}

BOOST_AUTO_TEST_CASE(a_silent_server_times_out) {
  Origin origin([](int fd, int) {
    read_head(fd);
    read_head(fd);
  });
  Setup s(origin.port());
  s.routing->settings.read_timeout = Milliseconds(150);
  Owner owner;
  s.run(owner, s.request());
  BOOST_TEST((owner.error == FetchError::read_timeout));
}

BOOST_AUTO_TEST_CASE(the_next_destination_takes_over) {
  Origin origin(once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  Origin unable(once("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"));
  uint16_t dead = 0;
  ::close(listen_on("127.0.0.1", dead));
  for (uint16_t first : {dead, unable.port()}) {
    Setup s(origin.port());
    icp::PeerEntry entry;
    entry.config.host = entry.config.name = "127.0.0.1";
    entry.config.http_port = first;
    entry.state = std::make_shared<icp::PeerState>();
    s.routing->peers.entries.push_back(entry);
    FetchRequest r = s.request();
    r.destinations = {{&s.routing->peers.entries[0], log::HierarchyCode::firstup_parent}, {nullptr, log::HierarchyCode::direct}};
    Owner owner;
    s.run(owner, std::move(r));
    BOOST_TEST(owner.body == "ok");
    BOOST_TEST(owner.facts.attempts == 2u);
    BOOST_TEST((owner.facts.code == log::HierarchyCode::direct));
    s.upstream.pool.close_all();
    run_for(s.loop, 1);
  }
}

BOOST_AUTO_TEST_CASE(nowhere_to_go) {
  Setup s(1);
  FetchRequest r = s.request();
  r.destinations.clear();
  Owner owner;
  s.run(owner, std::move(r));
  BOOST_TEST((owner.error == FetchError::cannot_forward));

  s.routing->settings.forward_timeout = Milliseconds(0);
  Owner late;
  s.run(late, s.request());
  BOOST_TEST((late.error == FetchError::forward_timeout));
}

BOOST_AUTO_TEST_CASE(an_upgrade_hands_over_the_connection_and_what_came_early) {
  Origin origin([](int fd, int) {
    read_head(fd);
    send_all(fd, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\nfirst words");
    read_head(fd);
  });
  Setup s(origin.port());
  FetchRequest r = s.request();
  r.upgrade = "chat";
  Owner owner;
  s.run(owner, std::move(r));
  BOOST_REQUIRE(bool(owner.switched_connection));
  BOOST_TEST(owner.switched->status == 101);
  BOOST_TEST(owner.early == "first words");
  BOOST_TEST(owner.ended == 0);
}

BOOST_AUTO_TEST_CASE(an_owner_that_has_all_it_wants_does_no_harm) {
  Origin origin(always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  Setup s(origin.port());
  Owner owner;
  owner.leaves_when_told = true;
  s.run(owner, s.request());
  BOOST_TEST(s.loop.counters().server_errors.get() == 0u);
  BOOST_TEST(s.upstream.pool.idle() == 1u);
  BOOST_TEST((owner.response->body->state() == store::Body::State::complete));
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

// An endless body that nobody reads: the fetch ends, and little of it is ever held.
BOOST_AUTO_TEST_CASE(a_body_for_nobody_ends) {
  for (bool background : {true, false}) {
    Origin origin([](int fd, int) {
      read_head(fd);
      send_all(fd, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n\r\n");
      std::string block(64 * 1024, 'x');
      for (int i = 0; i < 2000; ++i) {
        ssize_t n = ::send(fd, block.data(), block.size(), MSG_NOSIGNAL);
        if (n <= 0) return;
      }
    });
    Setup s(origin.port());
    Owner owner;
    owner.loop = &s.loop;
    Fetch* fetch = s.upstream.start(s.request(), background ? nullptr : &owner);
    if (!background) {
      BOOST_TEST(run_until(s.loop, [&] {
        owner.pull();
        return owner.body.size() > 1'000'000;
      }));
      // As a connection does that ends: reader first, then the fetch is let go.
      owner.response->body->detach(&owner);
      owner.attached = false;
      fetch->abandon();
    }
    BOOST_TEST(run_until(s.loop, [&] { return s.upstream.fetches() == 0; }));
    BOOST_TEST(s.loop.counters().server_bytes_in.get() < 20u << 20);
  }
}

BOOST_AUTO_TEST_CASE(a_reader_that_does_not_read_holds_the_server_back) {
  constexpr size_t kTotal = 32u << 20;
  Origin origin([](int fd, int) {
    read_head(fd);
    send_all(fd, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: " + std::to_string(kTotal) + "\r\n\r\n");
    std::string block(1 << 20, 'x');
    for (size_t i = 0; i < kTotal / block.size(); ++i) send_all(fd, block);
    read_head(fd);
  });
  Setup s(origin.port());
  Owner owner;
  owner.loop = &s.loop;
  owner.reads = false;
  owner.fetch = s.upstream.start(s.request(), &owner);
  run_for(s.loop, 300);
  BOOST_REQUIRE(bool(owner.response));
  BOOST_TEST(owner.response->body->length() < 512u << 10);
  BOOST_TEST(owner.response->body->memory() < 512u << 10);
  owner.reads = true;
  BOOST_TEST(run_until(s.loop, [&] {
    owner.pull();
    return s.upstream.fetches() == 0;
  }, 20'000));
  owner.pull();
  BOOST_TEST(owner.body.size() == kTotal);
  BOOST_TEST(owner.response->body->memory() < 512u << 10);
  s.upstream.pool.close_all();
  run_for(s.loop, 1);
}

// quick_abort: a client leaves, and the cache may still want the rest.
BOOST_AUTO_TEST_CASE(what_is_nearly_there_is_finished_for_the_cache) {
  for (int64_t min : {int64_t(16384), int64_t(0)}) {
    std::atomic<bool> go_on{false};
    Origin origin([&](int fd, int) {
      read_head(fd);
      send_all(fd, kStorable + "Content-Length: 10000\r\n\r\n" + std::string(2000, 'x'));
      while (!go_on) ::usleep(1000);
      send_all(fd, std::string(8000, 'y'));
      read_head(fd);
    });
    Setup s(origin.port());
    s.routing->settings.quick_abort_min = min;
    s.routing->settings.quick_abort_max = 0;
    Owner owner;
    owner.loop = &s.loop;
    owner.leaves_when_told = true;
    owner.fetch = s.upstream.start(s.request(), &owner);
    BOOST_TEST(run_until(s.loop, [&] { return owner.told == 1; }));
    go_on = true;
    BOOST_TEST(run_until(s.loop, [&] { return s.upstream.fetches() == 0; }));
    BOOST_TEST(bool(s.find(s.request()).response) == (min > 0));
    s.upstream.pool.close_all();
    run_for(s.loop, 1);
  }
}

// Whoever leads a flight lands it exactly once, however the fetch goes.
BOOST_AUTO_TEST_CASE(a_flight_lands_whatever_happens) {
  struct Follower final : cache::Follower {
    std::vector<cache::Landing> heard;
    void landed(cache::Landing how) override { heard.push_back(how); }
  };
  struct Row { const char* what; std::string reply; cache::Landing landing; };
  const Row rows[] = {
      {"stored", kStorable + "Content-Length: 2\r\n\r\nok", cache::Landing::stored},
      {"not stored", "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok", cache::Landing::not_stored},
      {"bad", "nonsense\r\n\r\n", cache::Landing::failed},
      {"nothing", "", cache::Landing::failed},
      {"cut later", kStorable + "Content-Length: 20\r\n\r\nok", cache::Landing::stored},
  };
  for (const Row& row : rows) {
    Origin origin(once(row.reply));
    Setup s(origin.port());
    FetchRequest r = s.request();
    Follower follower;
    BOOST_TEST(s.cache.flights().lead_or_follow(r.key, nullptr));
    BOOST_TEST(!s.cache.flights().lead_or_follow(r.key, &follower));
    r.leads_flight = true;
    Owner owner;
    s.run(owner, std::move(r));
    BOOST_REQUIRE(follower.heard.size() == 1u);
    BOOST_TEST(int(follower.heard[0]) == int(row.landing), row.what);
    s.upstream.pool.close_all();
    run_for(s.loop, 1);
  }
  // Its client leaves before anything came.
  Origin silent([](int fd, int) { read_head(fd), read_head(fd); });
  Setup s(silent.port());
  FetchRequest r = s.request();
  Follower follower;
  s.cache.flights().lead_or_follow(r.key, nullptr);
  s.cache.flights().lead_or_follow(r.key, &follower);
  r.leads_flight = true;
  Owner owner;
  owner.loop = &s.loop;
  Fetch* fetch = s.upstream.start(std::move(r), &owner);
  run_for(s.loop, 30);
  fetch->abandon();
  run_for(s.loop, 5);
  BOOST_TEST(s.upstream.fetches() == 0u);
  BOOST_TEST(owner.told == 0);
  BOOST_REQUIRE(follower.heard.size() == 1u);
  BOOST_TEST(int(follower.heard[0]) == int(cache::Landing::failed));
}

BOOST_AUTO_TEST_CASE(leaving_while_it_connects_sends_nothing) {
  Origin origin(always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  Setup s(origin.port());
  Owner owner;
  owner.loop = &s.loop;
  Fetch* fetch = s.upstream.start(s.request(), &owner);
  fetch->abandon();
  run_for(s.loop, 50);
  BOOST_TEST(s.upstream.fetches() == 0u);
  BOOST_TEST(s.loop.counters().server_requests.get() == 0u);
  BOOST_TEST(owner.told == 0);
}

BOOST_AUTO_TEST_SUITE_END()
