// Ranges from what is known of a representation in parts (cache/sparse.h).
#include <algorithm>
#include <string>

#include "client/transaction.h"
#include "http/conditional.h"

namespace loligo::client {

using http::CacheReason;
using http::FieldId;
using http::Method;
using log::ResultTag;

namespace {
constexpr unsigned kMaxTries = 2;   // representations that turned out to be others; then the request is forwarded as it is
}

bool Transaction::takes_parts(const cache::Response& r, http::Ranges& ranges) {
  if (!head.has(FieldId::range)) {   // all of it
    ranges = {http::RangeVerdict::satisfiable, {{0, r.content_length - 1}}};
    return true;
  }
  const http::StoredValidators validators{r.etag, r.last_modified, r.status, r.lifetimes.date};
  if (!http::if_range_holds(head, bytes_, validators, worker_->loop.wall_seconds())) return false;
  ranges = http::parse_ranges(head.value(FieldId::range, bytes_), r.content_length);
  return ranges.verdict != http::RangeVerdict::ignore;
}

// True: the request is answered from parts, or will be.
bool Transaction::answer_from_parts() {
  if (head.method() != Method::get || parts_tries_ >= kMaxTries) return false;
  const bool whole = !head.has(FieldId::range);
  cache::Cache& cache = worker_->cache;
  cache::Found found;
  http::Ranges ranges;
  sparse_ = cache.lookup_parts(question(), found);
  if (!sparse_ && !whole && !parts_asked_ && cache.may_have_record(key_)) {
    if (!load_parts()) return true;
    sparse_ = cache.lookup_parts(question(), found);
  }
  if (!sparse_) return false;
  if (!takes_parts(*found.response, ranges)) return sparse_.reset(), false;
  bool on_disk = false;
  const bool covered = std::all_of(ranges.list.begin(), ranges.list.end(), [&](auto& r) { return cache.covers(*sparse_, r.first, r.last + 1, &on_disk); });
  // Who wants the whole gets it of one piece unless it is there; so does range_offset_limit.
  if ((whole && (!covered || found.finding == cache::Finding::stale)) || (!covered && wants_whole_for_range())) return sparse_.reset(), false;
  wanted_ = std::move(ranges.list);
  switch (found.finding) {
    case cache::Finding::hit_revalidate:
      revalidate_in_background(found.response);
      [[fallthrough]];
    case cache::Finding::hit:
      if (!covered && control_.only_if_cached) return not_cached(), true;
      if (covered) {
        if (!collapsed_) reason_ = CacheReason::none;
        found_ = collapsed_ ? FoundWord::miss : FoundWord::hit;
        tag_ = collapsed_ ? ResultTag::miss : on_disk ? ResultTag::hit : ResultTag::mem_hit;
        if (!collapsed_) (on_disk ? worker_->loop.counters().client_disk_hits : worker_->loop.counters().client_memory_hits).add();
        worker_->loop.counters().ranges_joined.add();
      } else {
        collapsed_ = false;
        reason_ = CacheReason::partial;
        found_ = FoundWord::hit;
        tag_ = ResultTag::miss;
        worker_->loop.counters().ranges_completed.add();
      }
      served_ = found.why;
      serve_parts(found.response);
      return true;
    case cache::Finding::stale: break;
    case cache::Finding::miss: return false;
  }
  if (control_.only_if_cached) return not_cached(), true;
  const bool reload = control_.no_cache;
  if (reload && !snapshot_->policy->settings.reload_into_ims && !found.response->rule.reload_into_ims) return sparse_.reset(), false;
  reason_ = found.why;
  found_ = FoundWord::hit;
  begin_fetch(std::move(found.response), false);
  return true;
}

// What is on disk, once. False: the answer comes later.
bool Transaction::load_parts() {
  parts_asked_ = true;
  keep();
  if (!token_) token_ = std::make_shared<Transaction*>(this);
  cache::Question q = question();
  q.request = &kept_->head;
  auto later = [token = token_, &loop = worker_->loop] { loop.post([token] { if (*token) (*token)->run_again(Step::lookup); }); };
  if (worker_->cache.load_parts(q, kept_, snapshot_->policy, std::move(later))) return true;
  step_ = Step::following;
  return false;
}

// `head_of_whole`: fresh, or good enough.
void Transaction::serve_parts(cache::ResponseRef head_of_whole) {
  const cache::Response& r = *head_of_whole;
  facts_.status = r.status;
  if (snapshot_->judges_replies && !reply_passes(r)) return;
  response_ = std::move(head_of_whole);
  const int64_t age = http::current_age(r.lifetimes, worker_->loop.wall_seconds());
  if (answer_condition(r, age)) return;
  if (wanted_.empty()) {   // past the end
    answer_range(response_, true, age);
    return;
  }
  keep();
  ++parts_tries_;
  step_ = Step::fetching;
  auto request = [this] {
    server::FetchRequest r = fetch_request({});
    r.upgrade.clear();
    r.body.reset();
    return r;
  };
  feed_ = std::make_unique<server::RangeFeed>(worker_->upstream, sparse_, wanted_, snapshot_->policy, std::move(request),
                                              static_cast<server::RangeFeedOwner*>(this));
  feed_->begin();
}

void Transaction::drop_feed() {
  if (!feed_) return;
  feed_->close();
  worker_->loop.delete_later(std::move(feed_));
}

void Transaction::note_fetch(const server::FetchFacts& facts) {
  if (facts.attempts == 0) return;
  fetch_facts_ = facts;
  code_ = facts.server.valid() ? facts.code : log::HierarchyCode::none;
}

void Transaction::feed_ready() {
  note_fetch(feed_->facts());
  // What has just come may have made it fresher.
  response_ = sparse_->head();
  const int64_t age = http::current_age(response_->lifetimes, worker_->loop.wall_seconds());
  if (head.has(FieldId::range)) {
    range_body_ = base::make_ref<cache::Response>(key_, feed_->body());
    answer_range(response_, true, age);
  } else {
    answer(whole_of_parts(), true, age);
  }
  if (done()) connection_->transaction_ended_late();
}

// The head of the whole over what the feed makes.
cache::ResponseRef Transaction::whole_of_parts() const {
  const cache::Response& r = *response_;
  auto whole = base::make_ref<cache::Response>(key_, feed_->body());
  whole->url = r.url;
  whole->head = r.head + "Content-Length: " + std::to_string(r.content_length) + "\r\n";
  cache::index_head(*whole);
  whole->by_http10 = r.by_http10;
  whole->content_length = r.content_length;
  whole->lifetimes = r.lifetimes;
  whole->rule = r.rule;
  whole->stored = true;
  return whole;
}

void Transaction::feed_changed(cache::ResponseRef response, server::Fetch* fetch, const server::FetchFacts& facts) {
  note_fetch(facts);
  drop_feed();
  sparse_.reset();
  response_.reset();
  fetch_ = fetch;
  if (fetch_) fetch_->change_owner(this);
  const bool of_use = response->status != 206 && response->status != 304 && response->status != 416;
  if (of_use) {
    whole_for_range_ = true;
    answer(response, false, 0);
    if (done()) connection_->transaction_ended_late();
    return;
  }
  // It answers what we asked, not what the client did.
  if (fetch_) std::exchange(fetch_, nullptr)->abandon();
  tag_ = ResultTag::none;
  run_again(Step::lookup);
}

void Transaction::feed_failed(server::FetchError failure, const server::FetchFacts& facts) {
  note_fetch(facts);
  const std::string detail = facts.detail;
  const int system_error = facts.system_error;
  drop_feed();
  failure_page(failure, detail, system_error);
  if (done()) connection_->transaction_ended_late();
}

void Transaction::feed_interim(int status, std::string_view text) { fetch_interim(status, text); }

}  // namespace loligo::client
