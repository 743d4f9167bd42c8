#define BOOST_TEST_DYN_LINK
#include "cache/sparse.h"

#include <boost/test/unit_test.hpp>

#include "cache/cache.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::cache;
using http::TestHead;
using What = Sparse::Place::What;

namespace {

constexpr base::WallSeconds kNow = 1'700'000'000;
constexpr std::string_view kUrl = "http://a.example/x";
const std::string kTag = "ETag: \"a\"\r\n";

ResponseRef head_of(uint64_t length) {
  auto r = base::make_ref<Response>(store::Key{1, 2}, base::make_ref<store::Body>(0, false, 0));
  r->head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n";
  index_head(*r);
  r->content_length = length;
  return r;
}

ResponseRef part_of(const Sparse& s, uint64_t number, uint64_t first, uint64_t end) {
  auto r = base::make_ref<Response>(s.part_key(number), base::make_ref<store::Body>(end - first, true, 0));
  r->part = {s.whole, s.epoch, number, first, end, s.length};
  return r;
}

// What a 206 becomes, and what a lookup finds then.
struct Setup {
  Cache cache{{1 << 20, 64 << 10, "lru"}, 1};
  Policy policy;
  base::WallSeconds now = kNow;

  ResponseRef fetch(uint64_t first, std::string_view body, uint64_t complete, const std::string& fields = kTag, const Gap* gap = nullptr,
                    const std::string& request_fields = "Range: bytes=0-\r\n") {
    TestHead request = http::request_with(request_fields);
    TestHead reply = http::response_with("Cache-Control: max-age=100\r\nContent-Range: bytes " + std::to_string(first) + "-" + std::to_string(first + body.size() - 1) +
                                             "/" + std::to_string(complete) + "\r\n" + fields, "HTTP/1.1 206 Partial Content");
    Arrival a{key_of(kUrl), kUrl, &request.head, request.bytes(), http::Method::get, now, now};
    a.purges_seen = cache.purges_seen();
    a.length = body.size();
    a.gap = gap;
    ResponseRef r = cache.admit(reply.head, reply.bytes(), a, policy);
    r->body->append(body);
    r->body->complete();
    cache.settled(*r);
    return r;
  }
  SparseRef find(Found* found = nullptr, const std::string& request_fields = {}) {
    TestHead request = http::request_with(request_fields);
    Question q{key_of(kUrl), kUrl, &request.head, request.bytes(), http::request_cache_control(request.head, request.bytes()), {}, now};
    Found f;
    SparseRef s = cache.lookup_parts(q, f);
    if (found) *found = f;
    return s;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sparse)

BOOST_AUTO_TEST_CASE(a_gap_is_one_callers_and_the_others_follow) {
  auto budget = std::make_shared<store::Budget>(10);
  auto s = base::make_ref<Sparse>(store::Key{1, 2}, 7, head_of(1000), budget);
  int woken = 0;
  auto mine = s->next(100, 300, {});
  BOOST_TEST((mine.what == What::gap && mine.part == 1 && mine.first == 100 && mine.end == 300));
  auto other = s->next(50, 200, {});   // what lies before is another gap
  BOOST_TEST((other.what == What::gap && other.part == 2 && other.end == 100));
  auto waits = s->next(150, 400, [&] { ++woken; });
  BOOST_TEST((waits.what == What::awaited && waits.end == 300));
  BOOST_TEST(!s->covers(100, 300, [](auto&) { return true; }));
  ResponseRef response = part_of(*s, 1, 100, 300);
  s->arrived(1, response);
  BOOST_TEST(woken == 1);
  auto follows = s->next(150, 400, {});
  BOOST_TEST((follows.what == What::arriving && follows.response == response && follows.skip == 50 && follows.end == 300));
  BOOST_TEST(s->covers(100, 300, [](auto&) { return false; }));
  s->ended(1, 200);
  BOOST_TEST(s->let_go(1, true));
  BOOST_TEST((s->next(150, 400, {}).what == What::part));
  BOOST_TEST(!s->covers(100, 300, [](auto&) { return false; }));   // the store has lost it
  BOOST_TEST((s->next(150, 400, {}).what == What::gap));
}

BOOST_AUTO_TEST_CASE(what_broke_off_and_what_failed) {
  auto budget = std::make_shared<store::Budget>(10);
  auto s = base::make_ref<Sparse>(store::Key{1, 2}, 7, head_of(1000), budget);
  int woken = 0;
  s->next(0, 100, {});
  s->next(50, 60, [&] { ++woken; });
  s->arrived(1, part_of(*s, 1, 0, 80));           // less comes than was asked for
  BOOST_TEST(woken == 1);
  auto rest = s->next(80, 100, {});
  BOOST_TEST((rest.what == What::gap && rest.part == 2));
  s->ended(1, 30);
  BOOST_TEST((s->next(30, 80, {}).what == What::gap));
  BOOST_TEST((s->next(29, 80, {}).end == 30u));
  s->forget(2);
  s->forget(2);
  BOOST_TEST((s->next(80, 100, {}).what == What::gap));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_what_is_far_behind) {
  auto s = base::make_ref<Sparse>(store::Key{1, 2}, 7, head_of(1ull << 40), std::make_shared<store::Budget>(10));
  uint64_t part = s->begin(0, 1ull << 40);
  ResponseRef response = part_of(*s, part, 0, 1 << 20);
  response->part.end = 1ull << 40;
  s->arrived(part, response);
  BOOST_TEST((s->next(Sparse::kFarthest, Sparse::kFarthest + 10, {}).what == What::arriving));
  auto far = s->next(1ull << 39, (1ull << 39) + 100, {});
  BOOST_TEST((far.what == What::gap && far.part == 2 && far.end == (1ull << 39) + 100));
  BOOST_TEST((s->next((1ull << 39) + 50, 1ull << 40, [] {}).what == What::awaited));
  auto large = s->next(1ull << 38, 1ull << 40, {});
  BOOST_TEST((large.what == What::gap && large.end - large.first == Sparse::kLargestGap));
}

BOOST_AUTO_TEST_CASE(parts_are_bounded_and_given_back) {
  auto budget = std::make_shared<store::Budget>(2);
  {
    auto s = base::make_ref<Sparse>(store::Key{1, 2}, 7, head_of(1000), budget);
    BOOST_TEST(s->next(0, 10, {}).part == 1u);
    BOOST_TEST(s->next(10, 20, {}).part == 2u);
    BOOST_TEST(s->next(20, 30, {}).part == 0u);   // fetched, and not kept
    s->forget(1);
    BOOST_TEST(s->next(20, 30, {}).part == 3u);
    BOOST_TEST(s->end().size() == 2u);
    BOOST_TEST(budget->used() == 0u);
    BOOST_TEST(s->next(0, 10, {}).part == 0u);    // it is over
    BOOST_TEST(s->begin(0, 2000) == 0u);          // beyond its end
  }
  BOOST_TEST(budget->used() == 0u);
}

BOOST_AUTO_TEST_CASE(the_longest_unused_goes) {
  Sparses all;
  auto none = [](const Response&) { return false; };
  for (uint64_t n = 0; n < Sparses::kMost; ++n) BOOST_TEST(all.add(all.make({n, n}, 1, head_of(10)), none).empty());
  BOOST_TEST(bool(all.find({0, 0}, [](const Response&) { return true; })));
  auto gone = all.add(all.make({5000, 1}, 1, head_of(10)), none);
  BOOST_TEST_REQUIRE(gone.size() == 1u);
  BOOST_TEST((gone[0]->whole == store::Key{1, 1}));
  for (uint64_t n = 0; n < Sparses::kMostVariants + 5; ++n) all.add(all.make({7777, 1}, n + 1, head_of(10)), none);
  BOOST_TEST(all.take({7777, 1}, [](const Response&) { return true; }).size() == Sparses::kMostVariants);
  BOOST_TEST(!all.has({7777, 1}));
}

BOOST_AUTO_TEST_CASE(which_206_is_kept) {
  struct Row { const char* what; std::string fields, request; uint64_t complete; bool stored; };
  const std::string range = "Range: bytes=0-4\r\n", modified = "Last-Modified: Mon, 13 Nov 2023 00:00:00 GMT\r\n", date = "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n";
  const Row rows[] = {
      {"a strong tag", kTag, range, 9, true},
      {"a weak tag", "ETag: W/\"a\"\r\n", range, 9, false},
      {"a weak tag and a date", "ETag: W/\"a\"\r\n" + modified + date, range, 9, false},   // RFC 9110 13.1.5
      {"a strong date", modified + date, range, 9, true},
      {"a date without Date", modified, range, 9, false},
      {"the date of sending", "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n" + date, range, 9, false},
      {"no validator", "", range, 9, false},
      {"not asked for", kTag, "", 9, false},
      {"beyond the end", kTag, range, 4, false},
      {"private", kTag + "Cache-Control: private\r\n", range, 9, false},
      {"credentials", kTag, range + "Authorization: Basic eDp5\r\n", 9, false},
      {"no-store asked", kTag, range + "Cache-Control: no-store\r\n", 9, false},
      {"two tags", kTag + "ETag: \"b\"\r\n", range, 9, false},
      {"a type in If-Range's answer", kTag + "Content-Type: text/plain\r\n", range + "If-Range: \"a\"\r\n", 9, true},
      {"no type in If-Range's answer", kTag, range + "If-Range: \"a\"\r\n", 9, false},   // RFC 9110 15.3.7
  };
  for (const Row& row : rows) {
    Setup s;
    ResponseRef r = s.fetch(0, "hello", row.complete, row.fields, nullptr, row.request);
    BOOST_TEST(r->stored == row.stored, row.what);
    BOOST_TEST(bool(s.find()) == row.stored, row.what);
    BOOST_TEST(s.cache.memory().totals().objects == unsigned(row.stored), row.what);
  }
}

BOOST_AUTO_TEST_CASE(parts_of_one_representation_come_together) {
  Setup s;
  s.fetch(0, "hello", 11);
  s.fetch(5, " worl", 11);
  Found found;
  SparseRef sparse = s.find(&found);
  BOOST_TEST_REQUIRE(bool(sparse));
  BOOST_TEST((found.finding == Finding::hit));
  BOOST_TEST(found.response->status == 200);
  BOOST_TEST(found.response->content_length == 11u);
  BOOST_TEST(found.response->head.find("Content-Range") == std::string::npos);
  BOOST_TEST(s.cache.covers(*sparse, 0, 10));
  BOOST_TEST(!s.cache.covers(*sparse, 0, 11));
  BOOST_TEST(!s.fetch(1, "ell", 11)->stored);   // nothing new
  s.now += 200;
  s.find(&found);
  BOOST_TEST((found.finding == Finding::stale));
  s.fetch(10, "d", 11);                         // what came with it holds for all
  s.find(&found);
  BOOST_TEST((found.finding == Finding::hit));
  s.fetch(0, "HELLO", 11, "ETag: \"b\"\r\n");   // another version
  SparseRef other = s.find();
  BOOST_TEST(other->epoch != sparse->epoch);
  BOOST_TEST(!s.cache.covers(*other, 0, 10));
  BOOST_TEST(sparse->over());
  BOOST_TEST(s.cache.memory().totals().objects == 1u);
  s.fetch(5, " worl", 12, "ETag: \"b\"\r\n");   // the same tag, another length: another one
  BOOST_TEST(other->over());
  BOOST_TEST(s.cache.purge(kUrl) == 1u);
  BOOST_TEST(!s.find());
  BOOST_TEST(s.cache.memory().totals().objects == 0u);
}

BOOST_AUTO_TEST_CASE(what_fits_a_gap) {
  struct Row { uint64_t first; std::string_view body; uint64_t complete; std::string fields; bool fits; };
  const Row rows[] = {
      {5, "56789", 100, kTag, true},   {5, "567", 100, kTag, true},     {5, "567890", 100, kTag, false},       {6, "6789", 100, kTag, false},
      {5, "56789", 101, kTag, false},  {5, "56789", 100, "", false},    {5, "56789", 100, "ETag: \"b\"\r\n", false}, {5, "56789", 100, "ETag: W/\"a\"\r\n", false},
      {5, "56789", 100, kTag + "Cache-Control: no-store\r\n", true},    // right for this client, and not kept
  };
  for (const Row& row : rows) {
    Setup s;
    s.fetch(0, "01234", 100);
    SparseRef sparse = s.find();
    auto place = sparse->next(5, 10, {});
    Gap gap{sparse, place.part, place.first, place.end};
    ResponseRef r = s.fetch(row.first, row.body, row.complete, row.fields, &gap);
    BOOST_TEST(r->fits_gap == row.fits, row.first << " " << row.body << " " << row.complete << " " << row.fields);
    if (row.fits && r->stored) BOOST_TEST(s.cache.covers(*sparse, 0, 5 + row.body.size()));
  }
}

BOOST_AUTO_TEST_CASE(the_whole_ends_the_parts) {
  Setup s;
  s.fetch(0, "hello", 11);
  TestHead request = http::request_with(""), reply = http::response_with("Cache-Control: max-age=100\r\n");
  Arrival a{key_of(kUrl), kUrl, &request.head, request.bytes(), http::Method::get, s.now, s.now};
  a.purges_seen = s.cache.purges_seen();
  a.length = 11;
  BOOST_TEST(s.cache.admit(reply.head, reply.bytes(), a, s.policy)->stored);
  BOOST_TEST(!s.find());
  BOOST_TEST(s.cache.memory().totals().objects == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
