// Parts of representations: how they come to be kept, found, and let go.
#include <algorithm>
#include <cstring>

#include "cache/selector.h"
#include "cache/stored_form.h"
#include "http/conditional.h"

namespace loligo::cache {

namespace {

http::StoredValidators validators_of(const Response& r) { return {r.etag, r.last_modified, r.status, r.lifetimes.date}; }

http::StoredValidators validators_of(const http::Head& head, const char* bytes, const http::Lifetimes& l) {
  return {head.value(http::FieldId::etag, bytes), head.value(http::FieldId::last_modified, bytes), head.status(), l.date};
}

// The head of the whole, from that of a part.
std::string head_of_whole(const std::string& part) {
  std::string out = "HTTP/1.1 200 OK\r\n";
  for (size_t at = part.find("\r\n") + 2; at < part.size();) {
    const size_t end = part.find("\r\n", at) + 2;
    const std::string_view line(part.data() + at, end - at);
    const http::FieldId id = http::field_id(line.substr(0, line.find(':')));
    if (id != http::FieldId::content_range && id != http::FieldId::content_length) out.append(line);
    at = end;
  }
  return out;
}

int64_t steady_ms() {
  return std::chrono::duration_cast<base::Milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr uint64_t kLargestRecord = 1 << 20;

// An answer to If-Range need not carry what describes the representation (RFC 9110 section 15.3.7): no head to begin with.
bool may_lack_fields(const http::Head& head, const Arrival& a) {
  return a.request->has(http::FieldId::if_range) && !head.has(http::FieldId::content_type);
}

}  // namespace

std::optional<http::KnownPart> understood_part(const http::Head& head, const char* bytes, const Arrival& a, const http::Lifetimes& lifetimes) {
  if (a.method != http::Method::get || head.occurrences(http::FieldId::content_range) != 1 || head.occurrences(http::FieldId::etag) > 1) return {};
  if (!a.gap && !a.request->has(http::FieldId::range)) return {};
  if (!head.has(http::FieldId::etag) && !head.has(http::FieldId::date)) return {};   // RFC 9110 8.8.2.2 needs the origin's Date
  if (http::strong_validator(validators_of(head, bytes, lifetimes)).empty()) return {};
  return http::known_part(head.value(http::FieldId::content_range, bytes), a.length);
}

Cache::PartPlace Cache::place_part(const http::Head& head, const char* bytes, const http::KnownPart& part, const Arrival& a,
                                   const http::Lifetimes& lifetimes, bool storable) {
  const std::string_view validator = http::strong_validator(validators_of(head, bytes, lifetimes));
  auto same = [&](const Sparse& s) { return s.length == part.complete && http::strong_validator(validators_of(*s.head())) == validator; };
  if (a.gap && same(*a.gap->sparse) && part.first == a.gap->first && part.end <= a.gap->end)
    return {a.gap->sparse, a.gap->sparse->epoch, storable ? a.gap->part : 0, true};
  if (!storable) return {};
  const Question q{a.key, a.url, a.request, a.request_bytes, {}, {}, a.response_time};
  Selector selector{q, bans_};
  SparseRef known = sparses_.find(a.key, [&](const Response& r) { return selector.matches(r); });
  if (known && same(*known)) return {known, known->epoch, known->begin(part.first, part.end)};
  if (may_lack_fields(head, a)) return {};
  return {{}, Sparses::new_epoch(), 1};
}

// It has been stored, or not after all; now it is known, and so is what its head says of the whole.
void Cache::keep_part(const ResponseRef& response, PartPlace& place, const http::Head& head, const char* bytes, const Arrival& a, const Policy& policy) {
  const Response::Part& part = response->part;
  if (!response->stored) {
    if (place.sparse) place.sparse->forget(part.number);
    return;
  }
  if (place.sparse) {
    place.sparse->arrived(part.number, response);
    freshen(*place.sparse->head(), head, bytes, a, policy);
    return;
  }
  auto whole = base::make_ref<Response>(a.key, base::make_ref<store::Body>(0, false, 0));
  whole->url = response->url;
  whole->head = head_of_whole(response->head);
  index_head(*whole);
  whole->set_moment(a.moment);
  whole->method = response->method;
  whole->by_http10 = response->by_http10;
  whole->content_length = part.complete;
  whole->lifetimes = response->lifetimes;
  whole->rule = response->rule;
  whole->vary_names = response->vary_names;
  whole->selecting_key = response->selecting_key;
  whole->stored = whole->partly = true;
  SparseRef sparse = sparses_.make(a.key, part.epoch, whole);
  if (sparse->begin(part.first, part.end) != part.number) return drop(*response);
  sparse->arrived(part.number, response);
  auto replaces = [&](const Response& old) { return old.vary_names != whole->vary_names || old.selecting_key == whole->selecting_key; };
  for (const SparseRef& gone : sparses_.add(sparse, replaces)) {
    // One that only makes room stays on disk.
    if (gone->whole == a.key || !disk_) end_parts(*gone);
    else keep_record(gone, true);
  }
}

SparseRef Cache::lookup_parts(const Question& q, Found& found) {
  if (sparses_.empty()) return {};
  Selector selector{q, bans_};
  SparseRef sparse = sparses_.find(q.key, [&](const Response& r) { return selector.matches(r); });
  if (selector.banned)
    for (const SparseRef& gone : sparses_.take(q.key, [&](const Response& r) { return !bans_.allows(r); })) end_parts(*gone);
  found.other_variant = found.other_variant || selector.other_variant;
  if (!sparse) return {};
  found.response = sparse->head();
  judge(found, q);
  return sparse;
}

bool Cache::covers(Sparse& sparse, uint64_t first, uint64_t end, bool* on_disk) {
  return sparse.covers(first, end, [&](const store::Key& key) {
    if (memory_.has(key)) return true;
    if (on_disk) *on_disk = true;
    return may_be_on_disk(key);
  });
}

bool Cache::is_part(const Response& part, const Sparse& sparse, uint64_t first) {
  http::Head head;
  const std::string text = part.head + "\r\n";
  if (head.parse_response(text.data(), text.size(), {uint32_t(text.size()) + 1, http::kMaxFields}) != http::ParseState::complete) return false;
  auto range = http::parse_content_range(head.value(http::FieldId::content_range, text.data()));
  const ResponseRef whole = sparse.head();
  return range && range->first == first && range->complete == sparse.length && part.body->length() <= range->last - first + 1 &&
         http::strong_validator(validators_of(part)) == http::strong_validator(validators_of(*whole));
}

bool Cache::find_part(const SparseRef& sparse, uint64_t part, std::shared_ptr<const Policy> policy, OnDisk& now, std::function<void(OnDisk)> later) {
  const store::Key key = sparse->part_key(part);
  const ResponseRef head = sparse->head();
  auto ours = [&](const store::Object& o) {
    auto& r = static_cast<const Response&>(o);
    return o.usable() && r.url == head->url && bans_.allows(r);
  };
  now = {};
  now.response = ResponseRef(static_cast<Response*>(memory_.find(key, ours).get()));
  if (now.response || !may_be_on_disk(key)) return true;
  const uint64_t seen = purges_.now();
  auto match = [this, key, head](std::string_view form) {
    StoredSelection s;
    if (!read_selection(form, s) || s.url != head->url) return false;
    auto stored = s.moment >= bans_.newest() ? ResponseRef() : read_stored_head(key, form);
    return s.moment >= bans_.newest() || (stored && bans_.allows(*stored));
  };
  const bool keeps = policy->memory_enabled && policy->keep_disk;
  const uint64_t limit = keeps ? max_object(*policy) : 0;
  store::Disk::Found found;
  auto answer = [this, key, head, policy, seen, later = std::move(later)](store::Disk::Found f) {
    later(promote(std::move(f), key, head->url, *policy, seen, &head->key));
  };
  if (!disk_->find(key, limit, std::move(match), found, std::move(answer))) return false;
  now = promote(std::move(found), key, head->url, *policy, seen, &head->key);
  return true;
}

// A new head for all parts, by a 304 or by what came with one of them.
ResponseRef Cache::freshen_parts(const Response& old, const ResponseRef& fresh, bool keep) {
  fresh->partly = true;
  auto ours = [&](const Response& r) { return same_selection(r, old) && http::strong_validator(validators_of(r)) == http::strong_validator(validators_of(old)); };
  SparseRef sparse = sparses_.find(old.key, ours);
  const bool same = http::strong_validator(validators_of(*fresh)) == http::strong_validator(validators_of(old));
  if (!sparse || sparse->length != old.content_length) return fresh;
  if (!keep || !same || banned_meanwhile(*fresh)) {
    outdate(sparse);
    return fresh;
  }
  fresh->stored = true;
  sparse->set_head(fresh);
  return fresh;
}

void Cache::part_settled(Response& response) {
  SparseRef sparse = sparses_.find(response.part.whole, response.part.epoch);
  if (!sparse) return;
  const bool complete = response.stored && response.body->state() == store::Body::State::complete;
  sparse->ended(response.part.number, complete ? response.body->length() : 0);
  if (complete) sparses_.note_complete(sparse, response.part.number);
}

bool Cache::shorten(Response& response) {
  const uint64_t length = response.body->length();
  if (!response.part.epoch || !response.stored || length == 0) return false;
  if (disk_ && response.disk_id) disk_->rehead(response.key, response.disk_id, stored_form(response, length));
  response.body->complete();
  return true;
}

void Cache::outdate(const SparseRef& sparse) {
  const std::vector<SparseRef> gone = sparses_.take(sparse->whole, [head = sparse->head()](const Response& r) { return &r == head.get(); });
  for (const SparseRef& one : gone) end_parts(*one);
  if (gone.empty()) end_parts(*sparse);
}

void Cache::end_parts(Sparse& sparse) {
  std::vector<store::Key> keys = sparse.end();
  if (const uint64_t record = sparse.record_id) disk_->erase(Sparse::record_key(sparse.whole), record);
  for (const store::Key& key : keys) {
    memory_.erase_all(key);
    if (may_be_on_disk(key)) disk_->erase(key);
  }
}

// All of it is there: the parts have had their time.
void Cache::end_parts_of(const Response& whole) {
  if (may_have_record(whole.key)) disk_->erase(Sparse::record_key(whole.key));
  if (sparses_.empty()) return;
  for (const SparseRef& gone : sparses_.take(whole.key, [&](const Response& r) { return same_selection(r, whole) || r.vary_names != whole.vary_names; }))
    end_parts(*gone);
}

// ---- records -----------------------------------------------------------------------

void Cache::keep_records(bool at_once) {
  if (!disk_ || sparses_.empty()) return;
  for (const SparseRef& sparse : sparses_.all()) keep_record(sparse, at_once);
}

void Cache::keep_record(const SparseRef& sparse, bool at_once) {
  std::string text = sparse->record(steady_ms(), at_once);
  if (text.empty()) return;
  const ResponseRef head = sparse->head();
  auto body = base::make_ref<store::Body>(text.size(), true, 0);
  body->append(text);
  body->complete();
  const store::Key key = Sparse::record_key(sparse->whole);
  const uint64_t id = disk_->store(key, variant_of(*head), stored_form(*head), body, text.size());
  sparse->record_id = id;
  if (!id) sparse->record_again();
  else if (sparse->over()) disk_->erase(key, id);   // ended meanwhile
}

bool Cache::load_parts(const Question& q, std::shared_ptr<const void> owner, std::shared_ptr<const Policy> policy, std::function<void()> later) {
  const store::Key record = Sparse::record_key(q.key);
  const uint64_t seen = purges_.now();
  auto url = std::make_shared<const std::string>(q.url);
  auto match = [this, record, url, owner = std::move(owner), request = q.request, bytes = q.bytes](std::string_view form) {
    StoredSelection s;
    if (!read_selection(form, s) || s.url != *url ||
        (!s.vary_names.empty() && http::selecting_key(s.vary_names, *request, bytes) != s.selecting_key)) return false;
    auto head = s.moment >= bans_.newest() ? ResponseRef() : read_stored_head(record, form);
    return s.moment >= bans_.newest() || (head && bans_.allows(*head));
  };
  store::Disk::Found found;
  auto answer = [this, key = q.key, policy, seen, later = std::move(later)](store::Disk::Found f) {
    take_record(key, std::move(f), *policy, seen);
    later();
  };
  if (!disk_->find(record, kLargestRecord, std::move(match), found, std::move(answer))) return false;
  take_record(q.key, std::move(found), *policy, seen);
  return true;
}

void Cache::take_record(const store::Key& whole, store::Disk::Found&& found, const Policy& policy, uint64_t purges_seen) {
  if (!found || found.body->source() || purges_.purged_since(purges_seen, whole)) return;
  std::string text(found.body->length(), '\0');
  constexpr int kParts = 16;
  iovec parts[kParts];
  size_t copied = 0;
  auto view = found.body->view(0, parts, kParts, text.size());
  for (int i = 0; i < view.parts; copied += parts[i++].iov_len) std::memcpy(text.data() + copied, parts[i].iov_base, parts[i].iov_len);
  ResponseRef head = read_stored_head(whole, found.head);
  if (copied != text.size() || !head || !bans_.allows(*head) || http::strong_validator(validators_of(*head)).empty()) return;
  head->partly = true;
  head->rule = policy.refresh_patterns.match(head->url);
  SparseRef sparse = head->content_length < (uint64_t(1) << 63) ? sparses_.read(whole, head, text) : SparseRef();
  if (!sparse || sparses_.find(whole, sparse->epoch)) return;
  sparse->record_id = found.id;
  for (const SparseRef& gone : sparses_.add(sparse, [&](const Response& old) { return same_selection(old, *head); })) {
    if (gone->whole == whole || gone->epoch == sparse->epoch) continue;
    keep_record(gone, true);
  }
  if (purges_.purged_since(purges_seen, whole)) outdate(sparse);
}

}  // namespace loligo::cache
