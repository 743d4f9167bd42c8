#define BOOST_TEST_DYN_LINK
#include "http/cache_reason.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "http/freshness.h"
#include "http/test_head.h"

using namespace loligo;
using namespace loligo::http;

BOOST_AUTO_TEST_SUITE(cache_reason)

BOOST_AUTO_TEST_CASE(every_row_has_a_word_of_its_own) {
  std::set<std::string_view> words, meanings;
  for (unsigned i = 0; i < kCacheReasons; ++i) {
    const CacheReasonRow& row = kCacheReasonRows[i];
    BOOST_TEST(!row.word.empty());
    BOOST_TEST(!row.meaning.empty(), row.word);
    BOOST_TEST(words.insert(row.word).second, row.word << " twice");
    BOOST_TEST(meanings.insert(row.meaning).second, row.meaning << " twice");
    // A token of a structured field, so that Cache-Status may carry it, and nothing that a comma-separated log field splits.
    if (i > 0) BOOST_TEST(row.word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-.") == row.word.npos, row.word);
  }
}

BOOST_AUTO_TEST_CASE(words_begin_with_their_family_and_rows_stand_by_family) {
  constexpr std::string_view kFamilies[] = {"-", "miss.", "bypass.", "request.", "stale.", "served-stale.", "not-stored.", "not-served."};
  ReasonFamily last = ReasonFamily::none;
  for (const CacheReasonRow& row : kCacheReasonRows) {
    BOOST_TEST(row.word.starts_with(kFamilies[unsigned(row.family)]), row.word);
    BOOST_TEST((row.family >= last), row.word);
    last = row.family;
  }
}

// RFC 9211 section 2.2: the values that there are; and each reason for a forward has one.
BOOST_AUTO_TEST_CASE(forwards_are_registered_values) {
  const std::set<std::string_view> kValues{"bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"};
  for (const CacheReasonRow& row : kCacheReasonRows) {
    const bool forwarded = row.family >= ReasonFamily::miss && row.family <= ReasonFamily::stale;
    BOOST_TEST(row.forward.empty() == !forwarded, row.word);
    if (forwarded) BOOST_TEST(kValues.contains(row.forward), row.word);
    if (row.family == ReasonFamily::request) BOOST_TEST(row.forward == "request");
    if (row.family == ReasonFamily::stale) BOOST_TEST(row.forward == "stale");
  }
}

BOOST_AUTO_TEST_CASE(counts) {
  ReasonCounts counts;
  counts.add(CacheReason::none);
  counts.add(CacheReason::expired);
  counts.add(CacheReason::expired);
  for (unsigned i = 0; i < kCacheReasons; ++i) BOOST_TEST(counts.of[i].get() == (CacheReason(i) == CacheReason::expired ? 2u : 0u));
}

// ---- why a stored response is not simply fresh ---------------------------------

constexpr base::WallSeconds kNow = 1700000000;

struct JudgedRow {
  std::string_view response, request;   // directives; a request that begins with "Pragma" is a field of its own
  int later;                            // seconds after it was stored
  std::string_view why;
  FreshnessVerdict verdict;
};
constexpr auto kFresh = FreshnessVerdict::fresh, kStale = FreshnessVerdict::stale, kAllowed = FreshnessVerdict::stale_allowed,
               kRevalidate = FreshnessVerdict::stale_revalidate;
const JudgedRow kJudged[] = {
    {"max-age=60", "", 0, "-", kFresh},
    {"max-age=60", "no-cache", 0, "request.no-cache", kStale},
    {"max-age=60", "Pragma: no-cache", 0, "request.pragma", kStale},
    {"max-age=60", "max-age=0", 0, "request.max-age", kStale},
    {"max-age=60", "max-age=5", 6, "request.max-age", kStale},
    {"max-age=60", "max-age=5", 5, "-", kFresh},
    {"max-age=60", "min-fresh=61", 0, "request.min-fresh", kStale},
    {"max-age=60", "min-fresh=60", 0, "-", kFresh},
    {"max-age=60", "", 60, "stale.expired", kStale},
    {"max-age=0", "", 0, "stale.expired", kStale},
    // Stale first: the client's wish has cost nothing.
    {"max-age=60", "no-cache", 60, "stale.expired", kStale},
    {"max-age=60", "min-fresh=1", 60, "stale.expired", kStale},
    {"max-age=60, no-cache", "", 0, "stale.no-cache", kStale},
    {"max-age=60, no-cache", "max-stale", 90, "stale.no-cache", kStale},
    {"max-age=60", "max-stale=10", 70, "served-stale.max-stale", kAllowed},
    {"max-age=60", "max-stale", 9999, "served-stale.max-stale", kAllowed},
    {"max-age=60", "max-stale=10", 71, "stale.max-stale", kStale},
    {"max-age=60, stale-while-revalidate=10", "", 69, "served-stale.while-revalidate", kRevalidate},
    {"max-age=60, stale-while-revalidate=10", "", 70, "stale.expired", kStale},
    {"max-age=60, stale-while-revalidate=10", "max-stale=5", 69, "served-stale.while-revalidate", kRevalidate},
    // What must be validated, only where something would have let it be served.
    {"max-age=60, must-revalidate", "", 60, "stale.expired", kStale},
    {"max-age=60, must-revalidate", "max-stale", 60, "stale.must-revalidate", kStale},
    {"max-age=60, proxy-revalidate", "max-stale=10", 65, "stale.must-revalidate", kStale},
    {"s-maxage=60", "max-stale=10", 65, "stale.must-revalidate", kStale},
    {"s-maxage=60, stale-while-revalidate=10", "", 65, "stale.must-revalidate", kStale},
    {"s-maxage=60, stale-while-revalidate=10", "", 75, "stale.expired", kStale},
};

Lifetimes lifetimes_of(std::string_view directives) {
  TestHead r = response_with("Cache-Control: " + std::string(directives) + "\r\n");
  return lifetimes(r.head, r.bytes(), response_cache_control(r.head, r.bytes()), {}, kNow, kNow);
}

RequestCacheControl request_of(std::string_view text) {
  TestHead r = request_with(text.empty() ? "" : (text.starts_with("Pragma") ? "" : "Cache-Control: ") + std::string(text) + "\r\n");
  return request_cache_control(r.head, r.bytes());
}

BOOST_AUTO_TEST_CASE(judged) {
  for (const JudgedRow& row : kJudged) {
    Judgement j = judge(lifetimes_of(row.response), request_of(row.request), {}, {}, kNow + row.later);
    BOOST_TEST(text(j.why) == row.why, "[" << row.response << "] [" << row.request << "] after " << row.later);
    BOOST_TEST((j.verdict == row.verdict), "[" << row.response << "] [" << row.request << "] after " << row.later);
    // A plain hit has no reason, one that is served in spite of its age has one of that family, another names a forward.
    const CacheReasonRow& reason = describe(j.why);
    BOOST_TEST(reason.forward.empty() == (j.verdict != kStale));
    BOOST_TEST((j.verdict == kFresh) == (j.why == CacheReason::none));
  }
}

BOOST_AUTO_TEST_CASE(judged_with_the_administrator) {
  FreshnessLimits offline;
  offline.offline = true;
  BOOST_TEST(text(judge(lifetimes_of("max-age=60"), {}, {}, offline, kNow + 60).why) == "served-stale.offline");
  BOOST_TEST(text(judge(lifetimes_of("max-age=60"), {}, {}, offline, kNow).why) == "-");
  FreshnessLimits ims;
  ims.if_modified_since = ims.refresh_all_ims = true;
  BOOST_TEST(text(judge(lifetimes_of("max-age=60"), {}, {}, ims, kNow).why) == "request.if-modified-since");
  BOOST_TEST(text(judge(lifetimes_of("max-age=60"), {}, {}, ims, kNow + 60).why) == "stale.expired");
  RequestCacheControl both = request_of("no-cache");   // as browsers reload
  both.pragma_no_cache = true;
  BOOST_TEST(text(judge(lifetimes_of("max-age=60"), both, {}, {}, kNow).why) == "request.no-cache");
}

BOOST_AUTO_TEST_CASE(forbidden_on_error) {
  struct Row { std::string_view response, request; int later; std::string_view why; };
  const Row kRows[] = {
      {"max-age=60", "", 60, "-"},
      {"max-age=60, no-cache", "", 0, "not-served.no-cache"},
      {"max-age=60", "no-cache", 90, "not-served.reload"},
      {"max-age=60", "max-age=0", 0, "-"},
      {"max-age=60, must-revalidate", "", 60, "not-served.must-revalidate"},
      {"s-maxage=60", "", 60, "not-served.must-revalidate"},
      {"s-maxage=60", "max-age=0", 0, "-"},
      {"max-age=60, stale-if-error=10", "", 70, "-"},
      {"max-age=60, stale-if-error=10", "", 71, "not-served.too-stale"},
      {"max-age=60", "", 61 + 7 * 86400, "not-served.too-stale"},
  };
  for (const Row& row : kRows)
    BOOST_TEST(text(forbids_on_error(lifetimes_of(row.response), request_of(row.request), {}, {}, kNow + row.later)) == row.why,
               "[" << row.response << "] [" << row.request << "] after " << row.later);
}

BOOST_AUTO_TEST_SUITE_END()
