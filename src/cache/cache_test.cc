#define BOOST_TEST_DYN_LINK
#include "cache/cache.h"

#include <atomic>
#include <thread>
#include <vector>

#include "http/test_head.h"

using namespace loligo;
using namespace loligo::cache;
using http::TestHead;

namespace {

constexpr base::WallSeconds kNow = 1'700'000'000;
constexpr std::string_view kUrl = "http://a.example/x";

// A cache, a policy, and the short words for what a transaction does with them.
struct Setup {
  Cache cache{{1 << 20, 64 << 10, "lru"}, 1};
  Policy policy;
  base::WallSeconds now = kNow;

  ResponseRef fetch(const std::string& reply_fields, std::string_view body = "hello", const std::string& request_fields = {},
                    std::string_view reply_line = "HTTP/1.1 200 OK", uint64_t length = store::kUnknownLength) {
    TestHead request = http::request_with(request_fields), reply = http::response_with(reply_fields, reply_line);
    Arrival a = arrival(request);
    a.length = length == store::kUnknownLength ? body.size() : length;
    ResponseRef r = cache.admit(reply.head, reply.bytes(), a, policy);
    if (length != store::kUnknownLength) return r;   // still arriving
    r->body->append(body);
    r->body->complete();
    cache.settled(*r);
    return r;
  }
  Found find(const std::string& request_fields = {}, std::string_view url = kUrl) {
    TestHead request = http::request_with(request_fields);
    Question q{key_of(kUrl), url, &request.head, request.bytes(), http::request_cache_control(request.head, request.bytes()), {}, now};
    return cache.lookup(q);
  }
  ResponseRef not_modified(const Response& old, const std::string& fields, const std::string& request_fields = {}) {
    TestHead request = http::request_with(request_fields), reply = http::response_with(fields, "HTTP/1.1 304 Not Modified");
    return cache.freshen(old, reply.head, reply.bytes(), arrival(request), policy);
  }
  Arrival arrival(const TestHead& request) {
    Arrival a{key_of(kUrl), kUrl, &request.head, request.bytes(), http::Method::get, now, now};
    a.purges_seen = cache.purges_seen();
    return a;
  }
};

std::string body_of(const Response& r) {
  iovec parts[64];
  auto view = r.body->view(0, parts, 64, store::kUnknownLength);
  std::string out;
  for (int i = 0; i < view.parts; ++i) out.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
  return out;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(cache_room)

BOOST_AUTO_TEST_CASE(what_is_stored_and_what_is_not) {
  struct Row { const char* what; const char* request; const char* line; const char* reply; bool stored; };
  const Row rows[] = {
      {"a lifetime", "", "HTTP/1.1 200 OK", "Cache-Control: max-age=100\r\n", true},
      {"a validator", "", "HTTP/1.1 200 OK", "ETag: \"a\"\r\nLast-Modified: Mon, 13 Nov 2023 00:00:00 GMT\r\n", true},
      {"no-store", "", "HTTP/1.1 200 OK", "Cache-Control: no-store, max-age=100\r\n", false},
      {"private", "", "HTTP/1.1 200 OK", "Cache-Control: private, max-age=100\r\n", false},
      {"Vary: *", "", "HTTP/1.1 200 OK", "Cache-Control: max-age=100\r\nVary: *\r\n", false},
      {"a request that forbids", "Cache-Control: no-store\r\n", "HTTP/1.1 200 OK", "Cache-Control: max-age=100\r\n", false},
      {"credentials", "Authorization: Basic eDp5\r\n", "HTTP/1.1 200 OK", "Cache-Control: max-age=100\r\n", false},
      {"credentials, but public", "Authorization: Basic eDp5\r\n", "HTTP/1.1 200 OK", "Cache-Control: public, max-age=100\r\n", true},
      {"a part", "", "HTTP/1.1 206 Partial Content", "Cache-Control: max-age=100\r\nContent-Range: bytes 0-4/9\r\n", false},
      {"a stray 304", "", "HTTP/1.1 304 Not Modified", "Cache-Control: max-age=100\r\nETag: \"a\"\r\n", false},
  };
  for (const Row& row : rows) {
    Setup s;
    ResponseRef r = s.fetch(row.reply, "hello", row.request, row.line);
    BOOST_TEST(r->stored == row.stored, row.what);
    BOOST_TEST(bool(s.find().response) == row.stored, row.what);
    BOOST_TEST((r->verdict == http::kStore) == row.stored, row.what);
  }
}

BOOST_AUTO_TEST_CASE(rules_and_methods_keep_a_response_out) {
  Setup s;
  TestHead request = http::request_with(""), reply = http::response_with("Cache-Control: max-age=100\r\n");
  Arrival a = s.arrival(request);
  a.refusal = http::StoreVerdict::denied_by_store_miss;
  BOOST_TEST(!s.cache.admit(reply.head, reply.bytes(), a, s.policy)->stored);
  a.refusal = http::kStore;
  a.method = http::Method::head;   // its body is not the object's
  BOOST_TEST(!s.cache.admit(reply.head, reply.bytes(), a, s.policy)->stored);
  a.method = http::Method::get;
  s.policy.memory_enabled = false;
  BOOST_TEST(!s.cache.admit(reply.head, reply.bytes(), a, s.policy)->stored);
  BOOST_TEST(s.cache.memory().totals().objects == 0u);
}

BOOST_AUTO_TEST_CASE(too_large_for_memory_is_passed_on_unretained) {
  Setup s;
  ResponseRef r = s.fetch("Cache-Control: max-age=100\r\n", {}, {}, "HTTP/1.1 200 OK", (64 << 10) + 1);
  BOOST_TEST(!r->stored);
  BOOST_TEST(!r->body->retained());
  BOOST_TEST(bool(s.find().response) == false);
}

BOOST_AUTO_TEST_CASE(bounds_of_object_sizes) {
  Setup s;
  s.policy.min_object = 10;
  s.policy.max_object = 1000;
  struct Row { size_t size; bool stored; http::StoreVerdict verdict; };
  for (Row row : {Row{9, false, http::StoreVerdict::too_small}, Row{10, true, http::kStore}, Row{1000, true, http::kStore},
                  Row{1001, false, http::StoreVerdict::too_large}}) {
    ResponseRef r = s.fetch("Cache-Control: max-age=100\r\n", std::string(row.size, 'x'));
    BOOST_TEST(r->stored == row.stored, row.size);
    BOOST_TEST((r->verdict == row.verdict), row.size);
  }
  BOOST_TEST(s.cache.max_object(s.policy) == 1000u);
  s.policy.max_object = store::kUnknownLength;
  BOOST_TEST(s.cache.max_object(s.policy) == 64u << 10);   // the memory's own
}

BOOST_AUTO_TEST_CASE(unsafe_requests_invalidate) {
  struct Row { const char* what; http::Method method; const char* line; const char* reply; bool gone; };
  const Row rows[] = {
      {"the target", http::Method::post, "HTTP/1.1 200 OK", "", true},
      {"an unknown method", http::Method::other, "HTTP/1.1 303 See Other", "Location: /else\r\n", true},
      {"a safe one", http::Method::options, "HTTP/1.1 200 OK", "", false},
      {"an error", http::Method::put, "HTTP/1.1 409 Conflict", "", false},
  };
  for (const Row& row : rows) {
    Setup s;
    s.fetch("Cache-Control: max-age=100\r\n");
    TestHead request = http::request_with(""), reply = http::response_with(row.reply, row.line);
    Arrival a = s.arrival(request);
    a.method = row.method;
    BOOST_TEST(s.cache.invalidate(reply.head, reply.bytes(), a) == unsigned(row.gone), row.what);
    BOOST_TEST(!s.find().response == row.gone, row.what);
  }
  const std::pair<const char*, bool> named[] = {{"Location: /x\r\n", true},
                                                {"Content-Location: http://a.example/x\r\n", true},
                                                {"Content-Location: x\r\n", true},
                                                {"Location: http://b.example/x\r\n", false},
                                                {"Location: https://a.example/x\r\n", false},
                                                {"Location: http://[\r\n", false}};
  for (auto& [field, gone] : named) {
    Setup s;
    s.fetch("Cache-Control: max-age=100\r\n");
    TestHead request = http::request_with(""), reply = http::response_with(field, "HTTP/1.1 201 Created");
    Arrival a = s.arrival(request);
    a.method = http::Method::post;
    a.url = "http://a.example/list";
    BOOST_TEST(s.cache.invalidate(reply.head, reply.bytes(), a) == unsigned(gone), field);
    BOOST_TEST(!s.find().response == gone, field);
  }
}

BOOST_AUTO_TEST_CASE(a_hit_is_judged_by_its_age) {
  Setup s;
  s.fetch("Cache-Control: max-age=100, stale-while-revalidate=50\r\nAge: 10\r\n");
  struct Row { int64_t later; const char* request; Finding finding; int64_t age; };
  const Row rows[] = {
      {0, "", Finding::hit, 10},
      {80, "", Finding::hit, 90},
      {80, "Cache-Control: no-cache\r\n", Finding::stale, 90},
      {80, "Cache-Control: min-fresh=20\r\n", Finding::stale, 90},
      {110, "", Finding::hit_revalidate, 120},
      {200, "", Finding::stale, 210},
      {200, "Cache-Control: max-stale=500\r\n", Finding::hit, 210},
  };
  for (const Row& row : rows) {
    s.now = kNow + row.later;
    Found found = s.find(row.request);
    BOOST_REQUIRE(bool(found.response));
    BOOST_TEST((found.finding == row.finding), "after " << row.later << " s, " << row.request);
    BOOST_TEST(found.age == row.age);
  }
}

BOOST_AUTO_TEST_CASE(the_url_is_compared_whatever_the_key_says) {
  Setup s;
  s.fetch("Cache-Control: max-age=100\r\n");
  BOOST_TEST(!s.find("", "http://b.example/collides").response);
  BOOST_TEST(bool(s.find().response));
}

BOOST_AUTO_TEST_CASE(variants_are_told_apart_by_their_selecting_fields) {
  Setup s;
  const char* vary = "Cache-Control: max-age=100\r\nVary: Accept-Language\r\n";
  s.fetch(vary, "deutsch", "Accept-Language: de\r\n");
  s.fetch(vary, "english", "Accept-Language:   en\r\n");
  BOOST_TEST(body_of(*s.find("Accept-Language: de\r\n").response) == "deutsch");
  BOOST_TEST(body_of(*s.find("Accept-Language: en\r\n").response) == "english");
  Found other = s.find("Accept-Language: fr\r\n");
  BOOST_TEST(bool(other.response) == false);
  BOOST_TEST(other.other_variant);
  s.fetch(vary, "neu", "Accept-Language: de\r\n");   // replaces its own variant alone
  BOOST_TEST(body_of(*s.find("Accept-Language: de\r\n").response) == "neu");
  BOOST_TEST(s.cache.memory().totals().objects == 2u);
  s.fetch("Cache-Control: max-age=100\r\n", "no variants any more");
  BOOST_TEST(s.cache.memory().totals().objects == 1u);
}

BOOST_AUTO_TEST_CASE(the_stored_head_is_for_everybody) {
  Setup s;
  ResponseRef r = s.fetch(
      "Cache-Control: max-age=100\r\nConnection: X-Hop, close\r\nX-Hop: secret\r\nX-Kept: yes\r\nSet-Cookie: id=1\r\nAge: 7\r\n"
      "Keep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\nProxy-Authenticate: Basic realm=x\r\n");
  BOOST_TEST(r->head == "HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\nX-Kept: yes\r\nContent-Length: 5\r\n");
  BOOST_TEST(r->first_only == "Set-Cookie: id=1\r\nAge: 7\r\n");
  BOOST_TEST(!r->has_date);
}

BOOST_AUTO_TEST_CASE(cookies_count_as_memory) {
  Setup s;
  uint64_t before = s.cache.memory().totals().bytes;
  s.fetch("Cache-Control: max-age=100\r\nSet-Cookie: " + std::string(10'000, 'c') + "\r\n");
  BOOST_TEST(s.cache.memory().totals().bytes - before >= 10'000u);
}

BOOST_AUTO_TEST_CASE(a_304_freshens_the_head_over_the_same_body) {
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=10\r\nETag: \"1\"\r\nContent-Type: text/plain\r\nX-A: old\r\nX-B: stays\r\n");
  s.now += 50;
  BOOST_TEST((s.find().finding == Finding::stale));
  ResponseRef fresh = s.not_modified(*old,
      "Cache-Control: max-age=30\r\nContent-Length: 0\r\nContent-Type: text/html\r\nSet-Cookie: other=1\r\nAge: 3\r\n"
      "Connection: X-Hop\r\nX-Hop: secret\r\nX-A: new\r\n");
  BOOST_TEST((fresh->body == old->body));
  BOOST_TEST(fresh->content_length == 5u);
  BOOST_TEST(has(fresh->head, "Content-Length: 5\r\n"));
  BOOST_TEST(!has(fresh->head, "Content-Length: 0"));
  BOOST_TEST(has(fresh->head, "Content-Type: text/html\r\n"));   // RFC 9111 3.2: what the new head says of the same bytes
  BOOST_TEST(has(fresh->head, "X-A: new\r\n"));
  BOOST_TEST(!has(fresh->head, "X-A: old"));
  BOOST_TEST(has(fresh->head, "X-B: stays\r\n"));
  for (const char* gone : {"Set-Cookie", "Age:", "X-Hop", "Connection", "max-age=10"}) BOOST_TEST(!has(fresh->head, gone), gone);
  BOOST_TEST(fresh->etag == "\"1\"");
  BOOST_TEST(fresh->status == 200);
  BOOST_TEST(fresh->stored);

  Found found = s.find();
  BOOST_TEST((found.finding == Finding::hit));
  BOOST_TEST((found.response == fresh));
  BOOST_TEST(found.age == 3);
  BOOST_TEST(s.cache.memory().totals().objects == 1u);   // it took the old one's place
  BOOST_TEST(has(old->head, "X-A: old\r\n"));             // who still sends the old one is not disturbed
}

BOOST_AUTO_TEST_CASE(a_304_without_a_date_is_of_its_arrival) {   // RFC 9110 6.6.1
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=10\r\nETag: \"1\"\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n");
  s.now += 50;
  ResponseRef fresh = s.not_modified(*old, "ETag: \"1\"\r\n");
  BOOST_TEST((s.find().finding == Finding::hit));
  BOOST_TEST(s.find().age == 0);
  BOOST_TEST((!fresh->has_date && fresh->lifetimes.response_time == s.now));
}

BOOST_AUTO_TEST_CASE(what_a_304_keeps_apart_stays_apart) {   // RFC 9111 5.2.2.7: the directive may be that of the stored head
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=10, private=\"X-Secret\"\r\nETag: \"1\"\r\nX-Secret: mine\r\nX-A: old\r\n");
  ResponseRef fresh = s.not_modified(*old, "ETag: \"1\"\r\nX-Secret: yours\r\nX-A: new\r\n");
  BOOST_TEST(!has(fresh->head, "X-Secret: "));
  BOOST_TEST(has(fresh->head, "X-A: new\r\n"));
  fresh = s.not_modified(*fresh, "ETag: \"1\"\r\nCache-Control: no-cache=\"X-A\"\r\nX-Secret: theirs\r\n");
  BOOST_TEST(!has(fresh->head, "X-A: "));
  BOOST_TEST(has(fresh->head, "X-Secret: theirs\r\n"));
}

BOOST_AUTO_TEST_CASE(nothing_of_an_answer_to_no_store_is_stored) {   // RFC 9111 5.2.1.5
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=10\r\nETag: \"1\"\r\nX-A: old\r\n");
  s.now += 50;
  ResponseRef fresh = s.not_modified(*old, "ETag: \"1\"\r\nX-A: new\r\n", "Cache-Control: no-store\r\n");
  BOOST_TEST(has(fresh->head, "X-A: new\r\n"));   // for the client that asked
  BOOST_TEST((s.find().response == old));
  BOOST_TEST((s.find().finding == Finding::stale));
}

BOOST_AUTO_TEST_CASE(a_304_of_one_variant_leaves_the_others) {
  Setup s;
  const char* vary = "Cache-Control: max-age=10\r\nETag: \"1\"\r\nVary: Accept\r\n";
  ResponseRef a = s.fetch(vary, "a", "Accept: a\r\n");
  s.fetch(vary, "b", "Accept: b\r\n");
  s.not_modified(*a, "Cache-Control: max-age=99\r\n");
  BOOST_TEST(body_of(*s.find("Accept: a\r\n").response) == "a");
  BOOST_TEST(body_of(*s.find("Accept: b\r\n").response) == "b");
  BOOST_TEST(s.cache.memory().totals().objects == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_purged_while_it_is_validated_stays_out) {
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=10\r\nETag: \"1\"\r\n");
  s.cache.purge(kUrl);
  ResponseRef fresh = s.not_modified(*old, "Cache-Control: max-age=30\r\n");
  BOOST_TEST(!fresh->stored);
  BOOST_TEST(body_of(*fresh) == "hello");   // who asked is still answered
  BOOST_TEST(bool(s.find().response) == false);
}

BOOST_AUTO_TEST_CASE(a_failed_body_is_found_by_nobody) {
  Setup s;
  ResponseRef r = s.fetch("Cache-Control: max-age=100\r\n", {}, {}, "HTTP/1.1 200 OK", 10);
  r->body->append("12345");
  BOOST_TEST(bool(s.find().response));   // followers join while it grows
  r->body->fail();
  BOOST_TEST(bool(s.find().response) == false);
  s.cache.settled(*r);
  BOOST_TEST(s.cache.memory().totals().objects == 0u);
}

BOOST_AUTO_TEST_CASE(a_body_that_lets_its_beginning_go_is_found_by_nobody) {
  Setup s;
  ResponseRef old = s.fetch("Cache-Control: max-age=1\r\nETag: \"1\"\r\n", {}, {}, "HTTP/1.1 200 OK", 10);
  ResponseRef fresh = s.not_modified(*old, "Cache-Control: max-age=99\r\n");   // a second head over the growing body
  s.cache.drop(*old);
  old->body->stop_retaining();
  BOOST_TEST(bool(s.find().response) == false);
}

BOOST_AUTO_TEST_CASE(a_whole_body_is_charged_when_it_has_ended) {
  Setup s;
  ResponseRef r = s.fetch("Cache-Control: max-age=100\r\n", {}, {}, "HTTP/1.1 200 OK", 30'000);
  uint64_t empty = s.cache.memory().totals().bytes;
  r->body->append(std::string(30'000, 'x'));
  r->body->complete();
  s.cache.settled(*r);
  BOOST_TEST(s.cache.memory().totals().bytes - empty == 30'000u);
}

BOOST_AUTO_TEST_CASE(purge_takes_all_variants) {
  Setup s;
  const char* vary = "Cache-Control: max-age=100\r\nVary: Accept\r\n";
  s.fetch(vary, "a", "Accept: a\r\n");
  s.fetch(vary, "b", "Accept: b\r\n");
  BOOST_TEST(s.cache.purge("http://a.example/other") == 0u);
  BOOST_TEST(s.cache.purge(kUrl) == 2u);
  BOOST_TEST(s.cache.purge(kUrl) == 0u);
  BOOST_TEST(!s.find("Accept: a\r\n").response);
}

BOOST_AUTO_TEST_CASE(negative_answers_live_by_negative_ttl) {
  Setup s;
  BOOST_TEST(!s.fetch("", "gone", {}, "HTTP/1.1 503 Service Unavailable")->stored);
  s.policy.settings.negative_ttl = base::Milliseconds(60'000);
  ResponseRef r = s.fetch("", "gone", {}, "HTTP/1.1 503 Service Unavailable");
  BOOST_TEST(r->stored);
  BOOST_TEST(r->negative);
  BOOST_TEST((s.find().finding == Finding::hit));
  s.now += 61;
  BOOST_TEST((s.find().finding != Finding::hit));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(flights)

struct Counting final : Follower {
  std::atomic<int> stored{0}, not_stored{0}, failed{0};
  void landed(Landing how) override { ++(how == Landing::stored ? stored : how == Landing::not_stored ? not_stored : failed); }
};

BOOST_AUTO_TEST_CASE(the_first_leads_and_the_others_hear) {
  Flights flights;
  store::Key key = key_of("http://a/");
  Counting a, b, gone;
  BOOST_TEST(flights.lead_or_follow(key, &a));
  BOOST_TEST(!flights.lead_or_follow(key, &b));
  BOOST_TEST(!flights.lead_or_follow(key, &gone));
  BOOST_TEST(!flights.lead_or_follow(key, nullptr));   // does not care to hear
  BOOST_TEST(flights.lead_or_follow(key_of("http://b/"), &a));
  flights.leave(key, &gone);
  flights.land(key, Landing::stored);
  BOOST_TEST(b.stored == 1);
  BOOST_TEST(a.stored == 0);
  BOOST_TEST(gone.stored == 0);
  flights.land(key, Landing::failed);   // nobody is left
  BOOST_TEST(b.failed == 0);
  BOOST_TEST(flights.lead_or_follow(key, &b));
}

// Every follower hears exactly one landing, whatever the threads do; and at any time one alone leads.
BOOST_AUTO_TEST_CASE(threads_hear_exactly_once) {
  Flights flights;
  std::atomic<int> led{0}, followed{0}, heard{0}, left{0};
  auto run = [&](unsigned seed) {
    for (int i = 0; i < 5000; ++i) {
      store::Key key = key_of(std::to_string((seed * 7 + unsigned(i)) % 3));
      Counting me;
      if (flights.lead_or_follow(key, &me)) {
        ++led;
        flights.land(key, Landing(i % 3));
        continue;
      }
      ++followed;
      if (i % 5 == 0) {
        flights.leave(key, &me);   // after this nobody calls it any more
        heard += me.stored + me.not_stored + me.failed > 0 ? 1 : 0;
        left += me.stored + me.not_stored + me.failed == 0 ? 1 : 0;
        continue;
      }
      while (me.stored + me.not_stored + me.failed == 0) std::this_thread::yield();
      BOOST_REQUIRE(me.stored + me.not_stored + me.failed == 1);
      ++heard;
      flights.leave(key, &me);   // waits for the lock under which it was called
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) threads.emplace_back(run, t);
  for (auto& t : threads) t.join();
  BOOST_TEST(led + followed == 20'000);
  BOOST_TEST(heard + left == followed);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(recent_purges)

BOOST_AUTO_TEST_CASE(a_purge_after_the_request_went_out_is_noticed) {
  loligo::cache::RecentPurges purges;
  loligo::store::Key a = loligo::cache::key_of("http://h/a"), b = loligo::cache::key_of("http://h/b");
  uint64_t before = purges.now();
  BOOST_TEST(!purges.purged_since(before, a));
  purges.note(b);
  BOOST_TEST(!purges.purged_since(before, a));
  purges.note(a);
  BOOST_TEST(purges.purged_since(before, a));
  BOOST_TEST(!purges.purged_since(purges.now(), a));
  for (size_t i = 0; i < loligo::cache::RecentPurges::kKept; ++i) purges.note(b);
  BOOST_TEST(purges.purged_since(before, a));   // forgotten: taken for purged
}

BOOST_AUTO_TEST_CASE(what_clients_have_seen_replaced_is_not_served_again) {
  Setup s;
  s.fetch("Cache-Control: max-age=60\r\n");
  s.fetch("Cache-Control: no-store\r\n", "newer");
  BOOST_TEST(!s.find().response);
  // But a failure, a part, or one user's page says nothing of it.
  s.fetch("Cache-Control: max-age=60\r\n");
  s.fetch("Cache-Control: no-store\r\n", "broken", "", "HTTP/1.1 503 Busy");
  BOOST_TEST(bool(s.find().response));
  s.fetch("Cache-Control: no-store\r\n", "mine", "Authorization: Basic eA==\r\n");
  BOOST_TEST(bool(s.find().response));
  s.fetch("Cache-Control: no-store\r\n", "part", "Range: bytes=0-3\r\n");
  BOOST_TEST(bool(s.find().response));
}

BOOST_AUTO_TEST_SUITE_END()
