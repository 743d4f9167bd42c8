#define BOOST_TEST_DYN_LINK
#include "cache/stored_form.h"

#include <boost/test/unit_test.hpp>

using namespace loligo;
using namespace loligo::cache;

namespace {

base::Ref<store::Body> body_of(std::string_view bytes) {
  auto body = base::make_ref<store::Body>(bytes.size(), true, 0);
  body->append(bytes);
  body->complete();
  return body;
}

const store::Key kKey{7, 9};

base::Ref<Response> sample() {
  auto r = base::make_ref<Response>(kKey, body_of("hello"));
  r->url = "http://a.example/x";
  r->head = "HTTP/1.1 203 Fine\r\nETag: \"e\"\r\nDate: Mon, 30 Nov 2026 10:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n";
  index_head(*r);
  r->by_http10 = r->negative = true;
  r->content_length = 5;
  r->lifetimes = {1'700'000'000, 1'699'999'990, 11, 3600, true, false, true, false, 30, 86400};
  r->vary_names = {"accept-language", "user-agent"};
  r->selecting_key = "accept-language:de\nuser-agent:\n";
  return r;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_kept_comes_back) {
  auto r = sample();
  std::string form = stored_form(*r);
  auto back = read_stored_form(kKey, form, body_of("hello"));
  BOOST_TEST_REQUIRE(bool(back));
  BOOST_TEST((back->key == kKey));
  BOOST_TEST(back->url == r->url);
  BOOST_TEST(back->head == r->head);
  BOOST_TEST(back->status == 203);
  BOOST_TEST(back->etag == "\"e\"");
  BOOST_TEST(back->content_type == "text/plain");
  BOOST_TEST(back->has_date);
  BOOST_TEST(back->by_http10);
  BOOST_TEST(back->negative);
  BOOST_TEST(back->stored);
  BOOST_TEST(back->content_length == 5u);
  BOOST_TEST((back->vary_names == r->vary_names));
  BOOST_TEST(back->selecting_key == r->selecting_key);
  const http::Lifetimes &a = back->lifetimes, &b = r->lifetimes;
  BOOST_TEST((a.response_time == b.response_time && a.date == b.date && a.initial_age == b.initial_age && a.freshness == b.freshness));
  BOOST_TEST((a.explicit_lifetime && !a.heuristic && a.must_revalidate && !a.no_cache));
  BOOST_TEST((a.stale_while_revalidate == 30 && a.stale_if_error == 86400));
  StoredSelection s;
  BOOST_TEST(read_selection(form, s));
  BOOST_TEST(s.url == r->url);
  BOOST_TEST((s.vary_names == r->vary_names));
  BOOST_TEST(s.selecting_key == r->selecting_key);
}

BOOST_AUTO_TEST_CASE(a_form_that_is_cut_or_altered_is_no_response_or_a_harmless_one) {
  const std::string form = stored_form(*sample());
  for (size_t n = 0; n < form.size(); ++n) {
    StoredSelection s;
    BOOST_TEST(!read_selection(form.substr(0, n), s));
    BOOST_TEST(!read_stored_form(kKey, form.substr(0, n), body_of("hello")));
    for (unsigned char bit : {1, 0x80, 0xff}) {
      std::string other = form;
      other[n] = char(other[n] ^ bit);
      read_stored_form(kKey, other, body_of("hello"));   // whatever it is, within its bounds
    }
  }
  BOOST_TEST(!read_stored_form(kKey, form + "x", body_of("hello")));
  BOOST_TEST(!read_stored_form(kKey, form, body_of("hell")));   // not the length that the head promises
  BOOST_TEST(!read_stored_form(kKey, {}, body_of("hello")));
}

BOOST_AUTO_TEST_CASE(variants_are_told_apart) {
  auto r = sample(), other = sample(), plain = sample();
  other->selecting_key = "accept-language:fr\nuser-agent:\n";
  plain->vary_names.clear();
  BOOST_TEST(variant_of(*r).family == variant_of(*other).family);
  BOOST_TEST(variant_of(*r).variant != variant_of(*other).variant);
  BOOST_TEST(variant_of(*plain).family == 0);
  BOOST_TEST(variant_of(*r).family != 0);
}
