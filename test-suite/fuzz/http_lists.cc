// sources: src/http/*.cc
// The fields that are lists (Cache-Control, CDN-Cache-Control, Range, Vary, entity tags): numbers stay in their bounds, ranges inside the
// representation, and a verdict never grows with the client's strictness.
#include <string>

#include "http/cache_control.h"
#include "http/conditional.h"
#include "http/freshness.h"
#include "http/range.h"
#include "http/surrogate.h"
#include "http/targeted.h"
#include "http/vary.h"
#include "test-suite/fuzz/check.h"

using namespace loligo::http;

namespace {

constexpr int64_t kNow = 1700000000;

void check_seconds(int64_t seconds) { FUZZ_CHECK(seconds >= kAbsent && seconds <= kDeltaMax); }

void check_caching(const Head& request, const Head& response, const char* request_bytes, const char* response_bytes) {
  RequestCacheControl rc = request_cache_control(request, request_bytes);
  ResponseCacheControl cc = response_cache_control(response, response_bytes);
  for (int64_t s : {rc.max_age, rc.max_stale, rc.min_fresh, rc.stale_if_error, cc.max_age, cc.s_maxage, cc.stale_while_revalidate, cc.stale_if_error})
    check_seconds(s);
  FUZZ_CHECK(cc.no_cache_fields.size() <= 64 && cc.private_fields.size() <= 64);
  Lifetimes l = lifetimes(response, response_bytes, cc, {}, kNow - 1, kNow);
  check_seconds(l.freshness);
  check_seconds(l.initial_age);
  FUZZ_CHECK(l.initial_age >= 1);
  StoreVerdict verdict = may_store(response, response_bytes, cc, l, {}, {});
  if (verdict == kStore) FUZZ_CHECK((!cc.no_store || cc.must_understand) && !cc.private_);
  if (auto sc = surrogate_cache_control(response, response_bytes, {"front", true})) {
    check_seconds(sc->max_age);
    check_seconds(sc->stale_while_revalidate);
    FUZZ_CHECK(sc->no_store || sc->max_age != kAbsent);
  }
  if (auto tc = targeted_cache_control(response, response_bytes)) {
    for (int64_t s : {tc->max_age, tc->s_maxage, tc->stale_while_revalidate, tc->stale_if_error}) check_seconds(s);
    FUZZ_CHECK(tc->targeted && !tc->has_invalid_max_age && tc->no_cache_fields.size() <= 64 && tc->private_fields.size() <= 64);
    for (auto* list : {&tc->no_cache_fields, &tc->private_fields})
      for (std::string_view name : *list) FUZZ_CHECK(name.data() >= response_bytes && name.data() + name.size() <= response_bytes + response.size());
  }
  for (int64_t later : {int64_t(0), int64_t(60), kDeltaMax}) {
    FreshnessVerdict strict = judge(l, rc, {}, {}, kNow + later).verdict, plain = judge(l, {}, {}, {}, kNow + later).verdict;
    if (strict == FreshnessVerdict::fresh) FUZZ_CHECK(plain == FreshnessVerdict::fresh);
    if (l.no_cache || (l.must_revalidate && current_age(l, kNow + later) >= l.freshness)) FUZZ_CHECK(strict == FreshnessVerdict::stale);
    if (may_serve_on_error(l, rc, {}, {}, kNow + later)) FUZZ_CHECK(!l.no_cache);
  }
}

void check_ranges(std::string_view value, uint64_t size) {
  Ranges r = parse_ranges(value, size);
  FUZZ_CHECK((r.verdict == RangeVerdict::satisfiable) == !r.list.empty());
  FUZZ_CHECK(r.list.size() <= kMaxRanges);
  uint64_t left = size;
  for (const ByteRange& range : r.list) {
    FUZZ_CHECK(range.first <= range.last && range.last < size);
    FUZZ_CHECK(range.last - range.first < left);
    left -= range.last - range.first + 1;
  }
  if (std::optional<ContentRange> c = parse_content_range(value)) FUZZ_CHECK(c->first <= c->last && (!c->complete || c->last < *c->complete));
}

void check_tags(std::string_view list, std::string_view tag) {
  FUZZ_CHECK(!strong_match(list, tag) || weak_match(list, tag));
  FUZZ_CHECK(!list_matches(list, tag, true) || list_matches(list, tag, false));
  FUZZ_CHECK(weak_match(list, tag) == weak_match(tag, list));
  if (weak_match(tag, tag)) FUZZ_CHECK(list_matches(tag, tag, false));
}

void check_vary(const Head& request, const Head& response, const char* request_bytes, const char* response_bytes) {
  std::optional<std::vector<std::string>> names = vary_names(response, response_bytes);
  if (!names) return;
  for (size_t i = 1; i < names->size(); ++i) FUZZ_CHECK((*names)[i - 1] < (*names)[i]);
  std::string key = selecting_key(*names, request, request_bytes);
  size_t lines = 0;
  for (char c : key) lines += c == '\n';
  FUZZ_CHECK(lines == names->size());
}

}  // namespace

// The input is the field lines of a request and of a response alike; its first line's value also stands alone.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string fields(reinterpret_cast<const char*>(data), size);
  std::string request_text = "GET / HTTP/1.1\r\n" + fields + "\r\n\r\n", response_text = "HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n";
  Head request, response;
  if (request.parse_request(request_text.data(), request_text.size(), {}) != ParseState::complete) return 0;
  if (response.parse_response(response_text.data(), response_text.size(), {}) != ParseState::complete) return 0;
  check_caching(request, response, request_text.data(), response_text.data());
  check_vary(request, response, request_text.data(), response_text.data());
  StoredValidators stored{response.value(FieldId::etag, response_text.data()), response.value(FieldId::last_modified, response_text.data())};
  // A response is what its own head describes.
  FUZZ_CHECK(selects(response, response_text.data(), stored));
  evaluate(request, request_text.data(), stored, kNow);
  if_range_holds(request, request_text.data(), stored, kNow);
  for (const Field& field : request) {
    std::string value(field.value.in(request_text.data()));
    for (uint64_t total : {uint64_t(0), uint64_t(1), uint64_t(1000), ~uint64_t(0)}) check_ranges(value, total);
    check_tags(value, stored.etag);
  }
  return 0;
}
