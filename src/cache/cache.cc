#include "cache/cache.h"

#include <xxhash.h>

#include "cache/selector.h"
#include "cache/stored_form.h"
#include "http/cache_groups.h"
#include "http/conditional.h"
#include "http/targeted.h"
#include "http/uri.h"
#include "http/vary.h"

namespace loligo::cache {

Policy Policy::compile(const Settings& settings, const access::AclSet& acls, config::Problems& problems) {
  Policy p;
  p.settings = settings;
  p.refresh_patterns = RefreshPatterns::compile(settings.refresh_pattern, problems);
  p.cache = access::Rules::compile(settings.cache, acls, problems);
  p.send_hit = access::Rules::compile(settings.send_hit, acls, problems);
  p.store_miss = access::Rules::compile(settings.store_miss, acls, problems);
  p.collapsed_forwarding_access = access::Rules::compile(settings.collapsed_forwarding_access, acls, problems);
  p.collapsed_forwarding = settings.collapsed_forwarding;
  for (const RangeOffsetLimit& l : settings.range_offset_limit)
    p.range_limits.push_back({l.bytes, access::Rules::compile_conditions(l.statement, l.first_acl, acls, problems)});
  return p;
}

int64_t Policy::range_offset_limit(const access::Facts& facts) const {
  for (const RangeLimit& l : range_limits)
    if (l.condition.check_fast(facts, true).allowed) return l.bytes;
  return 0;
}

store::Key key_of(std::string_view url) {
  XXH128_hash_t h = XXH3_128bits(url.data(), url.size());
  return {h.high64, h.low64};
}

Cache::Cache(const store::MemoryLimits& limits, unsigned workers) : memory_(limits, workers) { memory_.set_observer(&events_); }
Cache::~Cache() = default;

void Cache::use_disk(std::unique_ptr<store::Disk> disk) {
  keep_records(true);
  disk_ = std::move(disk);
  if (disk_) ban_keeper_.use_disk(*disk_);
}

Found Cache::lookup(const Question& q) {
  Selector selector{q, bans_};
  Found found;
  found.response = ResponseRef(static_cast<Response*>(memory_.find(q.key, [&](const store::Object& o) { return selector(o); }).get()));
  if (selector.banned) remove_banned(q.key);
  if (!found.response && !arriving_.empty()) join_arriving(found, q, selector);
  found.other_variant = selector.other_variant;
  found.purged = selector.banned;
  if (found.response) judge(found, q);
  return found;
}

// Only as a hit: there is nothing yet that could be validated.
template <class Select> void Cache::join_arriving(Found& found, const Question& q, Select& select) {
  ResponseRef response = arriving_.find(q.key);
  if (!response || response->body->state() == store::Body::State::failed || !select.matches(*response)) return;
  Found one{.response = response};
  judge(one, q);
  if (one.finding == Finding::hit) found.response = std::move(response);
}

void Cache::remove_banned(const store::Key& key) {
  std::vector<uint64_t> on_disk;
  memory_.erase_if(key, [&](const store::Object& o) {
    auto& r = static_cast<const Response&>(o);
    if (bans_.allows(r, true)) return false;
    if (r.disk_id) on_disk.push_back(r.disk_id);
    return true;
  });
  for (uint64_t id : on_disk) disk_->erase(key, id);
}

// Of what was asked for before bans that have ended nobody can say it.
bool Cache::banned_meanwhile(const Response& r) const {
  return bans_.newest() != r.moment && (r.moment < bans_.ended() || !bans_.allows(r));
}

http::FreshnessLimits Cache::limits(const Policy& policy, bool ignore_client_reload, bool if_modified_since) const {
  http::FreshnessLimits limits;
  limits.max_stale = policy.settings.max_stale.count() / 1000;
  limits.offline = offline();
  limits.reload_into_ims = policy.settings.reload_into_ims;
  limits.ignore_client_reload = ignore_client_reload;
  limits.if_modified_since = if_modified_since;
  limits.refresh_all_ims = policy.settings.refresh_all_ims;
  return limits;
}

void Cache::judge(Found& found, const Question& q) {
  const Response& r = *found.response;
  found.age = http::current_age(r.lifetimes, q.now);
  const bool soft = r.stale_since.load(std::memory_order_relaxed) != 0;
  const http::Judgement judgement = http::judge(soft ? r.current_lifetimes() : r.lifetimes, q.control, r.rule, q.limits, q.now);
  found.why = judgement.why;
  if (soft && http::describe(found.why).family == http::ReasonFamily::stale && r.lifetimes.freshness > found.age) found.why = http::CacheReason::softly_purged;
  switch (judgement.verdict) {
    case http::FreshnessVerdict::fresh:
    case http::FreshnessVerdict::stale_allowed: found.finding = Finding::hit; break;
    case http::FreshnessVerdict::stale_revalidate: found.finding = Finding::hit_revalidate; break;
    case http::FreshnessVerdict::stale: found.finding = Finding::stale; break;
  }
}

namespace {
constexpr uint64_t kLargestRead = 1 << 20;      // larger ones are sent from their file

// One question to the disk, and what its heads showed. The judging of heads and the answer follow each other.
struct Asked {
  explicit Asked(std::string_view u) : url(u) {}
  const std::string url;
  bool other_variant = false, purged = false;
  OnDisk tell(OnDisk answer) const {
    answer.other_variant = !answer.response && other_variant;
    answer.purged = answer.purged || (!answer.response && purged);
    return answer;
  }
};
}  // namespace

bool Cache::find_on_disk(const Question& q, std::shared_ptr<const void> owner, std::shared_ptr<const Policy> policy, OnDisk& now,
                         std::function<void(OnDisk)> later) {
  const uint64_t seen = purges_.now();
  auto asked = std::make_shared<Asked>(q.url);
  auto match = [this, key = q.key, asked, owner = std::move(owner), request = q.request, bytes = q.bytes](std::string_view form) {
    StoredSelection s;
    if (!read_selection(form, s) || s.url != asked->url) return false;
    if (!s.vary_names.empty() && http::selecting_key(s.vary_names, *request, bytes) != s.selecting_key) {
      asked->other_variant = true;
      return false;
    }
    if (s.moment >= bans_.newest()) return true;
    auto head = read_stored_head(key, form);
    const bool allowed = head && bans_.allows(*head);
    if (!allowed) asked->purged = true;
    return allowed;
  };
  const bool keeps = policy->memory_enabled && policy->keep_disk;
  const uint64_t limit = keeps ? std::min(max_object(*policy), kLargestRead) : 0;
  store::Disk::Found found;
  auto answer = [this, key = q.key, asked, policy, seen, later = std::move(later)](store::Disk::Found f) {
    later(asked->tell(promote(std::move(f), key, asked->url, *policy, seen)));
  };
  if (!disk_->find(q.key, limit, std::move(match), found, std::move(answer))) return false;
  now = asked->tell(promote(std::move(found), q.key, q.url, *policy, seen));
  return true;
}

// What came from the disk goes to memory, unless memory has got one meanwhile, or it was purged while it was read.
OnDisk Cache::promote(store::Disk::Found&& found, const store::Key& key, std::string_view url, const Policy& policy, uint64_t purges_seen,
                      const store::Key* whole) {
  OnDisk answer;
  const store::Key& purged_as = whole ? *whole : key;
  if (!found) return answer;
  if (purges_.purged_since(purges_seen, purged_as)) return {{}, false, true};
  answer.response = read_stored_form(key, found.head, std::move(found.body));
  if (!answer.response) return answer;
  if (!bans_.allows(*answer.response)) return {{}, false, true};
  Response& r = *answer.response;
  r.disk_id = found.id;
  r.rule = policy.refresh_patterns.match(url);
  if (r.body->source() || !policy.memory_enabled || !policy.keep_disk || r.body->length() > max_object(policy)) return answer;
  auto same = [&](const store::Object& o) {
    return o.usable() && same_selection(static_cast<const Response&>(o), r);
  };
  if (auto other = memory_.add_unless(answer.response, same)) answer.response = ResponseRef(static_cast<Response*>(other.get()));
  // A purge notes, then removes; we add, then look: one of the two sees the other.
  if (purges_.purged_since(purges_seen, purged_as) || !bans_.allows(*answer.response)) {
    memory_.erase(*answer.response);
    return {{}, false, true};
  }
  return answer;
}

// Clients have seen something newer than what is stored, though it may not be stored itself: the old one goes (as
// Squid removes it). Not by answers to a part or for one user, nor by failures.
static bool outdates(int status, const http::StoreQuestion& q, const Arrival& a) {
  if (a.method != http::Method::get || a.refusal != http::kStore || q.request_has_range || q.request_has_authorization || q.request.no_store) return false;
  switch (status) {
    case 200: case 203: case 300: case 301: case 302: case 303: case 307: case 308: case 404: case 410: return true;
    default: return false;
  }
}

http::ResponseCacheControl control_of(const http::Head& head, const char* bytes, bool accelerated, const Policy& policy) {
  if (accelerated && head.has(http::FieldId::cdn_cache_control))
    if (auto control = http::targeted_cache_control(head, bytes)) return *control;
  if (accelerated && head.has(http::FieldId::surrogate_control))
    if (auto control = http::surrogate_cache_control(head, bytes, policy.surrogate)) return *control;
  return http::response_cache_control(head, bytes);
}

// RFC 9110 section 9.3.3: this answer to POST is what a GET would get.
static bool names_target(const http::Head& head, const char* bytes, const Arrival& a) {
  if (head.status() != 200 || head.occurrences(http::FieldId::content_location) != 1) return false;
  auto named = http::resolve_reference(a.url, head.value(http::FieldId::content_location, bytes));
  return named && *named == a.url;
}

static bool keeps_cookies(const Policy& policy) { return policy.settings.stored_set_cookie == StoredCookies::keep; }

static bool is_stale(const Response& r, base::WallSeconds now) {
  const http::Lifetimes lifetimes = r.current_lifetimes();
  return http::current_age(lifetimes, now) >= lifetimes.freshness;
}

ResponseRef Cache::admit(const http::Head& head, const char* bytes, const Arrival& a, const Policy& policy) {
  http::ResponseCacheControl control = control_of(head, bytes, a.accelerated, policy);
  const http::RefreshRule& rule = policy.refresh_patterns.match(a.url);
  http::Lifetimes lifetimes = http::lifetimes(head, bytes, control, rule, a.request_time, a.response_time, policy.settings.vary_ignore_expire);

  const int64_t negative_ttl = policy.settings.negative_ttl.count() / 1000;
  http::apply_negative_ttl(lifetimes, head.status(), negative_ttl);

  http::StoreQuestion question;
  question.request_method = a.method;
  question.request_has_authorization = a.authorized || a.request->has(http::FieldId::authorization);
  question.request_has_range = a.request->has(http::FieldId::range);
  question.request = http::request_cache_control(*a.request, a.request_bytes);
  question.negative_ttl = negative_ttl;
  question.minimum_expiry_time = policy.settings.minimum_expiry_time.count() / 1000;
  question.refuses_cookies = policy.settings.stored_set_cookie == StoredCookies::no_store;
  question.content_location_is_target = a.method == http::Method::post && names_target(head, bytes, a);
  const std::optional<http::KnownPart> part = head.status() == 206 ? understood_part(head, bytes, a, lifetimes) : std::nullopt;
  question.understands_part = part.has_value();
  http::StoreVerdict verdict = a.refusal;
  if (verdict == http::kStore && !policy.memory_enabled && !disk_) verdict = http::StoreVerdict::caching_off;
  if (verdict == http::kStore && purges_.purged_since(a.purges_seen, a.key)) verdict = http::StoreVerdict::purged_meanwhile;
  if (verdict == http::kStore) verdict = http::may_store(head, bytes, control, lifetimes, rule, question);
  bool negative = negative_ttl > 0 && head.status() >= 400 && !lifetimes.explicit_lifetime;

  auto vary = http::vary_names(head, bytes);
  if (!vary && verdict == http::kStore) verdict = http::StoreVerdict::vary_star;
  bool fits_memory = policy.memory_enabled && (policy.keep_network || disk_) &&
                     (a.length == store::kUnknownLength || a.length <= max_object(policy));
  if (verdict == http::kStore && a.length != store::kUnknownLength) {
    const uint64_t whole = part ? part->complete : a.length;
    if ((!fits_memory && !disk_) || whole > policy.max_object) verdict = http::StoreVerdict::too_large;
    else if (whole < policy.min_object) verdict = http::StoreVerdict::too_small;
  }
  PartPlace place;
  if (part) place = place_part(head, bytes, *part, a, lifetimes, verdict == http::kStore);
  if (part && !place.number && verdict == http::kStore) verdict = http::StoreVerdict::partial_content;   // it brings nothing new
  bool store = verdict == http::kStore;

  auto body = base::make_ref<store::Body>(a.length, store && fits_memory, policy.read_ahead_gap);
  auto response = base::make_ref<Response>(store && part ? Sparse::part_key(a.key, place.epoch, place.number) : a.key, body);
  response->fits_gap = place.fits_gap;
  if (store && part) response->part = {a.key, place.epoch, place.number, part->first, part->end, part->complete};
  response->url = a.url;
  response->method = a.method;
  write_stored_head(head, bytes, a.length, Apart(control, rule, keeps_cookies(policy)), response->head, response->first_only);
  index_head(*response);
  response->set_moment(a.moment);
  response->by_http10 = head.minor_version() == 0;
  response->content_length = a.length;
  response->lifetimes = lifetimes;
  response->rule = rule;
  response->verdict = verdict;
  response->negative = negative;
  if (vary && !vary->empty()) {
    response->vary_names = std::move(*vary);
    response->selecting_key = http::selecting_key(response->vary_names, *a.request, a.request_bytes);
  }
  if (store) {
    bool disk_busy = false;
    if (a.refreshed && !a.refreshed->partly && !part && a.refreshed->stored && is_stale(*a.refreshed, a.response_time)) response->before = a.refreshed, response->before_purges = a.purges_seen;
    if (disk_) response->disk_id = disk_->store(response->key, variant_of(*response), stored_form(*response), body, a.length, bool(response->before), &disk_busy);
    if (disk_ && !response->disk_id) events_.refused(*response);
    response->stored = true;
    response->passing = !policy.keep_network;
    auto replaces = [&](const store::Object& o) {
      auto& old = static_cast<const Response&>(o);
      return old.vary_names != response->vary_names || old.selecting_key == response->selecting_key;
    };
    if (!fits_memory || !memory_.insert(response, replaces)) {
      memory_.erase_if(response->key, replaces);
      response->stored = response->disk_id != 0;
      if (!response->stored) response->verdict = disk_busy ? http::StoreVerdict::disk_busy : http::StoreVerdict::too_large;
      body->stop_retaining();
      arrive(response);
    }
    if (part) keep_part(response, place, head, bytes, a, policy);
    else end_parts_of(*response);
    // As in promote(): purged between the verdict and here.
    if (response->stored && (purges_.purged_since(a.purges_seen, a.key) || banned_meanwhile(*response))) {
      drop(*response);
      response->verdict = http::StoreVerdict::purged_meanwhile;
    }
  } else if (outdates(head.status(), question, a) && may_have(a.key)) {
    purge(a.url);
  }
  return response;
}

// May it stay, with what a 304 has changed? A new Vary makes another variant of it, which only a whole answer can be.
static http::StoreVerdict stays(const http::Head& head, const char* bytes, const http::ResponseCacheControl& control, const Response& old, const Response& fresh) {
  if (control.no_store && !control.must_understand && !fresh.rule.ignore_no_store) return http::StoreVerdict::response_no_store;
  if (control.private_ && !fresh.rule.ignore_private) return http::StoreVerdict::response_private;
  auto vary = http::vary_names(head, bytes);
  if (!vary) return http::StoreVerdict::vary_star;
  return *vary == old.vary_names ? http::kStore : http::StoreVerdict::vary_changed;
}

ResponseRef Cache::freshen(const Response& old, const http::Head& update, const char* bytes, const Arrival& a, const Policy& policy) {
  auto fresh = base::make_ref<Response>(old.key, old.body);
  fresh->url = old.url;
  fresh->rule = policy.refresh_patterns.match(a.url);
  fresh->head = freshened_head(old.head, update, bytes, Apart(keeps_cookies(policy)));
  std::string text = fresh->head;   // and the age of the 304, which is not stored but counts (RFC 9111 section 4.2.3)
  if (update.has(http::FieldId::age)) text.append("Age: ").append(update.value(http::FieldId::age, bytes)).append("\r\n");
  text += "\r\n";
  http::Head head;
  fresh->verdict = http::StoreVerdict::too_large;   // together more fields than a head may have
  if (head.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) == http::ParseState::complete) {
    http::ResponseCacheControl control = control_of(head, text.data(), a.accelerated, policy);
    // What the directives of now keep apart, those of then among them.
    if (!control.no_cache_fields.empty() || !control.private_fields.empty())
      fresh->head = freshened_head(old.head, update, bytes, Apart(control, fresh->rule, keeps_cookies(policy)));
    fresh->verdict = stays(head, text.data(), control, old, *fresh);
    fresh->lifetimes = http::lifetimes(head, text.data(), control, fresh->rule, a.request_time, a.response_time, policy.settings.vary_ignore_expire);
    http::apply_negative_ttl(fresh->lifetimes, old.status, policy.settings.negative_ttl.count() / 1000);
  }
  index_head(*fresh);
  fresh->set_moment(a.moment);
  fresh->by_http10 = update.minor_version() == 0;
  fresh->content_length = old.content_length;
  fresh->vary_names = old.vary_names;
  fresh->selecting_key = old.selecting_key;
  fresh->negative = old.negative;
  fresh->disk_id = old.disk_id;
  // Purged while it was validated: it stays out, of memory and of the disk.
  fresh->memory_only.store(old.memory_only.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // Of an answer to a request with no-store nothing is stored (RFC 9111 section 5.2.1.5).
  if (http::request_cache_control(*a.request, a.request_bytes).no_store) {
    fresh->verdict = http::StoreVerdict::request_no_store;
    return fresh;
  }
  if (old.partly) return freshen_parts(old, fresh, fresh->verdict == http::kStore);
  auto same_body = [&](const store::Object& o) { return static_cast<const Response&>(o).body == old.body; };
  if (fresh->verdict != http::kStore) {
    memory_.erase_if(old.key, same_body);
    if (disk_ && old.disk_id) disk_->erase(old.key, old.disk_id);
    return fresh;
  }
  fresh->stored = memory_.replace(fresh, same_body);
  if (disk_ && fresh->disk_id && disk_->rehead(old.key, fresh->disk_id, stored_form(*fresh))) fresh->stored = true;
  const bool banned = fresh->stored && banned_meanwhile(*fresh);
  if (banned) drop(*fresh);
  if (banned || purges_.purged_since(a.purges_seen, old.key)) fresh->verdict = http::StoreVerdict::purged_meanwhile;
  return fresh;
}

void Cache::compare(const Response& known, const http::Head& head, const char* bytes, const Arrival& a, const Policy& policy) {
  if (known.status != 200 || head.status() != 200 || a.refusal != http::kStore || a.authorized || a.request->has(http::FieldId::range)) return;
  const http::StoredValidators validators{known.etag, known.last_modified, known.status, known.lifetimes.date};
  const uint64_t size = known.content_length == store::kUnknownLength && known.body->state() == store::Body::State::complete ? known.body->length() : known.content_length;
  const std::string length = size == store::kUnknownLength ? std::string() : std::to_string(size);
  if (http::describes(head, bytes, validators, length)) {
    freshen(known, head, bytes, a, policy);
    return;
  }
  memory_.erase_if(known.key, [&](const store::Object& o) { return static_cast<const Response&>(o).body == known.body; });
  if (disk_ && known.disk_id) disk_->erase(known.key, known.disk_id);
}

// The disk alone follows it now. A reply of unknown length is chunked, and cannot be sent from files.
void Cache::arrive(const ResponseRef& response) {
  if (response->part.epoch) return;   // who needs it finds it by its Sparse
  if (response->disk_id && response->content_length != store::kUnknownLength) arriving_.add(response);
}

void Cache::settled(Response& response) {
  ResponseRef before = std::move(response.before);
  if (response.part.epoch) part_settled(response);
  if (!response.stored) return events_.passed(response);
  if (response.body->state() == store::Body::State::failed) arriving_.erase(response.key);
  if (response.passing || response.body->state() == store::Body::State::failed) memory_.erase(response);
  else memory_.recharge(response);
  if (!before || response.body->state() != store::Body::State::failed || !before->usable() || before->body->source()) return;
  memory_.add_unless(before, [&](const store::Object& o) { return same_selection(static_cast<const Response&>(o), *before); });
  // A purge notes, then removes; we add, then look.
  if (purges_.purged_since(response.before_purges, before->key)) drop(*before);
}

void Cache::drop(Response& response) {
  if (!response.stored) events_.passed(response);
  memory_.erase(response);
  arriving_.erase(response.key);
  if (disk_ && response.disk_id) disk_->erase(response.key, response.disk_id);
  if (response.part.epoch)
    if (SparseRef sparse = sparses_.find(response.part.whole, response.part.epoch)) sparse->forget(response.part.number);
}

void Cache::outgrown(Response& response, const Policy& policy) {
  memory_.erase(response);
  response.body->stop_retaining();
  if (response.body->length() > policy.max_object) drop(response);
}

unsigned Cache::invalidate(const http::Head& response, const char* bytes, Arrival& a) {
  using http::Method;
  // What we do not know may change anything, so it counts as unsafe.
  bool safe = a.method == Method::get || a.method == Method::head || a.method == Method::options || a.method == Method::trace;
  if (safe || response.status() < 200 || response.status() >= 400) return 0;
  const uint64_t before = purges_.now();
  const bool purged = purges_.purged_since(a.purges_seen, a.key);
  uint64_t own = 1;
  unsigned gone = purge(a.url);
  for (http::FieldId id : {http::FieldId::location, http::FieldId::content_location}) {
    if (!response.has(id)) continue;
    // Another origin's objects are not this one's to remove: it would be a way to empty the cache.
    auto named = http::resolve_reference(a.url, response.value(id, bytes));
    if (named && *named != a.url && http::same_origin(a.url, *named)) gone += purge(*named), ++own;
  }
  if (response.has(http::FieldId::cache_group_invalidation)) {
    std::vector<BanRequest> bans;
    for (const std::string& group : http::cache_groups(response, bytes, http::FieldId::cache_group_invalidation))
      bans.push_back({BanKind::tag, false, group_tag(a.url, group)});
    ban_keeper_.enforce(std::move(bans));
  }
  // Our own purges are not against the answer that causes them.
  if (const uint64_t now = purges_.now(); !purged && now == before + own) a.purges_seen = now;
  return gone;
}

unsigned Cache::purge(std::string_view url, store::Disk::Erased done) {
  store::Key key = key_of(url);
  purges_.note(key);
  arriving_.erase(key);
  const unsigned gone = memory_.erase_all(key);
  unsigned partly = 0;
  for (const SparseRef& sparse : sparses_.take(key, [](const Response&) { return true; })) end_parts(*sparse), ++partly;
  if (!done) {
    if (disk_) disk_->erase(key), disk_->erase(Sparse::record_key(key));   // also what is only on its way there
  } else if (!disk_) {
    done(gone + partly);
  } else {
    erase(key, Sparse::record_key(key), gone, partly, std::move(done));
  }
  return gone + partly;
}

// Most of what is in memory is on disk too.
void Cache::erase(const store::Key& key, const store::Key& record, unsigned objects, unsigned partly, store::Disk::Erased done) {
  struct Both {
    std::atomic<int> open{2};
    std::atomic<bool> lasts{true};
    std::atomic<unsigned> gone{0};
    store::Disk::Erased done;
    void add(unsigned in_memory, std::optional<unsigned> on_disk) {
      if (on_disk) gone += std::max(in_memory, *on_disk);
      else lasts = false;
      if (--open == 0) done(lasts ? std::optional<unsigned>(gone) : std::nullopt);
    }
  };
  auto both = std::make_shared<Both>();
  both->done = std::move(done);
  disk_->erase(key, [both, objects](std::optional<unsigned> n) { both->add(objects, n); });
  disk_->erase(record, [both, partly](std::optional<unsigned> n) { both->add(partly, n); });
}

}  // namespace loligo::cache
