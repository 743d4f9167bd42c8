#include "cache/bans.h"

#define BOOST_TEST_DYN_LINK
#include <boost/test/unit_test.hpp>
#include <condition_variable>

#include "cache/ban_keeper.h"
#include "cache/cache.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::cache;

namespace {

base::Ref<Response> object(const std::string& url, std::vector<std::string> tags = {}, uint64_t moment = 0) {
  auto body = base::make_ref<store::Body>(1, true, 0);
  body->append("x");
  body->complete();
  auto r = base::make_ref<Response>(key_of(url), body);
  r->url = url;
  r->lifetimes.freshness = 100'000'000;
  r->lifetimes.response_time = r->lifetimes.date = 1'700'000'000;
  for (auto& tag : tags) r->tags.hashes.push_back(tag_hash(tag));
  r->set_moment(moment);
  return r;
}

uint64_t add(Bans& bans, BanKind kind, std::string text, bool soft = false) {
  std::string error;
  BanRef ban = bans.add({kind, soft, std::move(text)}, error);
  BOOST_REQUIRE_MESSAGE(ban, error);
  return ban->id;
}

Tags tags_in(const std::string& fields) {
  http::TestHead head = http::response_with(fields);
  return tags_of(head.head, head.bytes(), "http://site.test/page");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cache_bans)

BOOST_AUTO_TEST_CASE(tags_of_the_three_fields) {
  struct Row { const char* fields; std::vector<std::string> tags; };
  const Row rows[] = {
      {"Surrogate-Key: a b\tc\r\n", {"a", "b", "c"}},
      {"surrogate-key:  a   a \r\nXKEY: b,c d,, e\r\n", {"a", "b", "c", "d", "e"}},
      {"Cache-Tag: a b , c,\r\nCache-Tag: d\r\n", {"a b", "c", "d"}},
      {"Surrogate-Keys: a\r\nCache-Tags: b\r\nX-Key: c\r\n", {}},
      {"Surrogate-Key:\r\nxkey: , ,\r\n", {}},
  };
  for (const Row& row : rows) {
    std::vector<uint64_t> expected;
    for (auto& tag : row.tags) expected.push_back(tag_hash(tag));
    std::sort(expected.begin(), expected.end());
    BOOST_TEST((tags_in(row.fields).hashes == expected), row.fields);
  }
  std::string many = "xkey:";
  for (int n = 0; n < 200; ++n) many += " t" + std::to_string(n % 128);
  BOOST_TEST(tags_in(many + "\r\n").hashes.size() == 128u);
  BOOST_TEST(tags_in(many + " u\r\n").too_many);
}

BOOST_AUTO_TEST_CASE(concern_what_is_older) {
  Bans bans;
  auto old = object("http://a/x", {"t"});
  BOOST_TEST(bans.allows(*old));
  const uint64_t first = add(bans, BanKind::pattern, "^http://a/y");
  BOOST_TEST(bans.allows(*old));
  BOOST_TEST(!bans.allows(*object("http://a/y1")));
  BOOST_TEST(bans.allows(*object("http://a/y1", {}, first)));
  const uint64_t second = add(bans, BanKind::tag, "t");
  BOOST_TEST(second > first);
  BOOST_TEST(!bans.allows(*old));
  BOOST_TEST(!bans.allows(*old));   // and goes on being banned
  BOOST_TEST(!bans.allows(*object("http://b/", {"q", "t"}, first)));
  BOOST_TEST(bans.allows(*object("http://b/", {"T"}, first)));
  BOOST_TEST(bans.allows(*object("http://b/", {"t"}, second)));
  auto overfull = object("http://b/", {}, first);
  overfull->tags.too_many = true;
  BOOST_TEST(!bans.allows(*overfull));
  BOOST_TEST(bans.newest() == second);
}

BOOST_AUTO_TEST_CASE(soft_ones_end_freshness_then) {
  Bans bans;
  auto r = object("http://a/x");
  const uint64_t id = add(bans, BanKind::url, "http://a/x", true);
  auto other = object("http://a/y");
  BOOST_TEST(bans.allows(*other));
  BOOST_TEST(other->stale_since.load() == 0);
  BOOST_TEST(bans.allows(*r));
  BOOST_TEST(r->stale_since.load() == int64_t(id / 1'000'000));
  const base::WallSeconds then = base::WallSeconds(id / 1'000'000);
  BOOST_TEST(r->current_lifetimes().freshness == http::current_age(r->lifetimes, then));
  BOOST_TEST(r->current_lifetimes().freshness < 100'000'000);
  add(bans, BanKind::url, "http://a/x");   // a hard one beside it
  BOOST_TEST(!bans.allows(*r));
}

BOOST_AUTO_TEST_CASE(are_bounded_and_the_same_again_is_one) {
  Bans bans;
  std::string error;
  auto old = object("http://a/1");
  for (size_t n = 0; n < Bans::kMostPatterns; ++n) add(bans, BanKind::pattern, "p" + std::to_string(n));
  BOOST_TEST(!bans.add({BanKind::pattern, false, "more"}, error));
  BOOST_TEST(error == "");
  add(bans, BanKind::pattern, "p7");
  for (size_t n = 0; n < Bans::kMostOthers; ++n) add(bans, BanKind::tag, "t" + std::to_string(n));
  BOOST_TEST(!bans.add({BanKind::tag, false, "more"}, error));
  BOOST_TEST(!bans.add({BanKind::url, true, "http://more/"}, error));
  add(bans, BanKind::tag, "t7");
  BOOST_TEST(bans.all().size() == Bans::kMostPatterns + Bans::kMostOthers);
  BOOST_TEST(bans.allows(*old));
  for (const char* wrong : {"", "(", "a\nb", "(a)\\1"}) BOOST_TEST(!bans.add({BanKind::pattern, false, wrong}, error), wrong);
  BOOST_TEST(error != "");
  bans.end(bans.all());
  BOOST_TEST(bans.all().empty());
  add(bans, BanKind::tag, "more");
}

BOOST_AUTO_TEST_CASE(are_kept_and_read_back_whatever_is_read) {
  Bans bans, back, wrong;
  add(bans, BanKind::pattern, "^http://a b/");
  add(bans, BanKind::tag, "a tag");
  add(bans, BanKind::url, "http://a/x", true);
  const std::string text = bans.text();
  BOOST_TEST(back.load(text));
  BOOST_TEST(back.load(text));   // of another directory
  BOOST_TEST(back.text() == text);
  BOOST_TEST(!back.allows(*object("http://q/", {"a tag"})));
  BOOST_TEST(back.newest() == bans.newest());
  BOOST_TEST(wrong.load(""));
  for (size_t n = 1; n < text.size(); ++n) {
    Bans cut;
    BOOST_TEST(cut.load(text.substr(0, n)) == (text[n - 1] == '\n'), n);
  }
  for (const char* bad : {"newest x\n", "1 0 0 a\n", "newest 1\n1 3 0 a\n", "newest 1\n1 0 2 a\n", "newest 1\n1 0 0 \n", "newest 1\n1 0 0 (\n", "newest 1\n\n"})
    BOOST_TEST(!Bans().load(bad), bad);
  wrong.ban_everything();
  BOOST_TEST(!wrong.allows(*object("http://any/")));
}

BOOST_AUTO_TEST_CASE(the_keeper_removes_counts_and_ends) {
  Cache cache({64 << 20, 64 << 10, "lru"}, 1);
  cache.ban_keeper().set_times(0, 0);
  for (int n = 0; n < 1000; ++n) cache.memory().insert(object("http://a/" + std::to_string(n), {n % 2 ? "odd" : "even"}), [](auto&) { return false; });
  std::mutex mutex;
  std::condition_variable changed;
  auto ask = [&](std::vector<BanRequest> what, bool count) {
    std::optional<BanAnswer> got;
    BOOST_REQUIRE(cache.ban_keeper().add(std::move(what), count, [&](const BanAnswer& a) {
      std::lock_guard lock(mutex);
      got = a;
      changed.notify_one();
    }));
    std::unique_lock lock(mutex);
    BOOST_REQUIRE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return got.has_value(); }));
    return *got;
  };
  auto until = [&](auto&& condition) {
    for (int n = 0; n < 2000 && !condition(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  };
  BanAnswer answer = ask({{BanKind::tag, false, "odd"}, {BanKind::tag, false, "none"}}, true);
  BOOST_TEST(answer.taken == 500u);
  BOOST_TEST(answer.complete);
  BOOST_TEST(cache.memory().totals().objects == 500u);
  BOOST_TEST(ask({{BanKind::pattern, false, "/[0-9]$"}}, false).id > answer.id);
  BOOST_TEST(until([&] { return cache.memory().totals().objects == 495u; }));
  BOOST_TEST(until([&] { return cache.bans().all().empty(); }));
  BOOST_TEST(cache.bans().ended() == cache.bans().newest());
  answer = ask({{BanKind::tag, true, "even"}}, true);
  BOOST_TEST(answer.taken == 495u);
  BOOST_TEST(cache.memory().totals().objects == 495u);
  BOOST_TEST(cache.bans().all().size() == 1u);   // as long as one of them is there
  cache.memory().clear();
  BOOST_TEST(until([&] { return cache.bans().all().empty(); }));
  BOOST_TEST(int(ask({{BanKind::pattern, false, "("}}, false).outcome) == int(BanAnswer::Outcome::bad));
}

BOOST_AUTO_TEST_SUITE_END()
