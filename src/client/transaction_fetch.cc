// Looking things up, and fetching what is not there.
#include <fmt/format.h>

#include <algorithm>

#include "base/event_log.h"
#include "base/text.h"
#include "client/transaction.h"
#include "client/transaction_flight.h"
#include "http/hop_by_hop.h"
#include "http/range.h"
#include "server/base64.h"

namespace loligo::client {

using http::CacheReason;
using http::FieldId;
using http::Method;
using log::ResultTag;

namespace {
// Conditions that validate what is stored: both (RFC 9111 section 4.3.1).
std::string stored_validators(const cache::ResponseRef& stale) {
  std::string out;
  if (stale && !stale->etag.empty()) out += fmt::format("If-None-Match: {}\r\n", stale->etag);
  if (stale && !stale->last_modified.empty()) out += fmt::format("If-Modified-Since: {}\r\n", stale->last_modified);
  return out;
}
}  // namespace

void Transaction::look_up() {
  const cache::Policy& policy = *snapshot_->policy;
  Method method = head.method();
  bool ignore_cc = connection_->port().config.ignore_cc;
  control_ = ignore_cc ? http::RequestCacheControl{} : http::request_cache_control(head, bytes_);
  cacheable_request_ = (method == Method::get || method == Method::head) && framing_.kind == http::BodyKind::none &&
                       target_.kind == TargetKind::resource && policy.cache.check_fast(facts_, true).allowed;
  if (!cacheable_request_) {
    reason_ = method != Method::get && method != Method::head ? CacheReason::method
              : framing_.kind != http::BodyKind::none        ? CacheReason::request_body
                                                             : CacheReason::cache_rule;
    if (control_.only_if_cached) return not_cached();
    // Its answer may be kept for later GETs (RFC 9110 section 9.3.3).
    keeps_post_ = method == Method::post && target_.kind == TargetKind::resource && policy.cache.check_fast(facts_, true).allowed;
    if (keeps_post_) key_ = cache::key_of(target_.url);
    return begin_fetch({}, false);
  }

  key_ = cache::key_of(target_.url);
  cache::Found found;
  bool from_disk = false;
  if (!disk_asked_) found = worker_->cache.lookup(question());
  if (!found.response && (disk_asked_ || worker_->cache.may_be_on_disk(key_))) {
    if (!look_on_disk(found)) return;
    from_disk = bool(found.response);
    // Nothing there: but memory may have got one while the disk was asked.
    if (!from_disk && !found.other_variant) found = worker_->cache.lookup(question());
  }
  disk_asked_ = false;
  found_ = found.response ? FoundWord::hit : FoundWord::miss;
  bool withheld = found.response && !policy.send_hit.empty() && !policy.send_hit.check_fast(facts_, true).allowed;
  if (withheld) found = {};
  bool arriving = found.response && !joins(found.response);
  if (arriving) found = {}, found_ = FoundWord::miss;
  switch (found.finding) {
    case cache::Finding::hit_revalidate:
      revalidate_in_background(found.response);
      [[fallthrough]];
    case cache::Finding::hit:
      return serve_hit(found, from_disk ? ResultTag::hit : ResultTag::mem_hit);
    case cache::Finding::stale:
    case cache::Finding::miss: break;
  }
  if (!found.response && !withheld && answer_from_parts()) return;
  reason_ = withheld              ? CacheReason::send_hit_rule
            : arriving            ? CacheReason::arriving
            : found.response      ? found.why
            : found.other_variant ? CacheReason::other_variant
            : found.purged        ? CacheReason::purged
                                  : CacheReason::absent;
  if (control_.only_if_cached) return not_cached();
  // A reload asks for a new copy, not for a comparison, unless an administrator says so (Squid's reload-into-ims).
  bool reload = control_.no_cache;
  bool into_ims = policy.settings.reload_into_ims || (found.response && found.response->rule.reload_into_ims);
  if (method == Method::head) known_ = found.response;
  if (found.response && reload && !into_ims) found.response.reset();
  whole_for_range_ = wants_whole_for_range();
  // Requests for parts wait for each other; what they wait for makes known what there is to have parts of.
  const bool part = head.has(FieldId::range) && !whole_for_range_;
  flight_key_ = part ? cache::Sparse::flight_key(key_) : key_;
  bool may_wait = may_collapse() && !no_collapse_ && method == Method::get && !reload && !(part && found.response) &&
                  policy.collapsed_forwarding_access.check_fast(facts_, true).allowed;
  bool leads = false;
  if (may_wait) {
    keep();
    auto cell = std::make_shared<FlightCell>(worker_->loop, this, worker_->cache.flights(), flight_key_);
    leads = worker_->cache.flights().lead_or_follow(flight_key_, cell.get());
    if (!leads) {
      flight_ = std::move(cell);
      step_ = Step::following;
      worker_->loop.counters().collapsed_requests.add();
      return;
    }
  }
  begin_fetch(std::move(found.response), leads);
}

bool Transaction::may_collapse() const {
  const cache::Collapse when = snapshot_->policy->collapsed_forwarding;
  return when == cache::Collapse::on || (when == cache::Collapse::accel && connection_->port().config.mode == Port::Mode::accel);
}

void Transaction::not_cached() {
  tag_ = ResultTag::miss;
  served_ = CacheReason::only_if_cached;
  error(ErrorId::only_if_cached_miss, 504);
}

// What memory does not keep whole has to be read from now on, or not at all.
bool Transaction::joins(const cache::ResponseRef& response) {
  const store::Body& body = *response->body;
  if (body.retained() || body.source() || head.method() == Method::head) return true;
  return !head.has(FieldId::range) && connection_->join(response);
}

cache::Question Transaction::question() {
  return {key_, target_.url, &head, bytes_, control_,
          worker_->cache.limits(*snapshot_->policy, connection_->port().config.ignore_cc, head.has(FieldId::if_modified_since)), worker_->loop.wall_seconds()};
}

// The disk, after memory: at once where its bytes are in the page cache.
bool Transaction::look_on_disk(cache::Found& found) {
  if (!std::exchange(disk_asked_, true)) {
    keep();
    if (!token_) token_ = std::make_shared<Transaction*>(this);
    cache::Question q = question();
    q.request = &kept_->head;
    auto later = [token = token_, &loop = worker_->loop](cache::OnDisk answer) {
      loop.post([token, answer = std::move(answer)] { if (*token) (*token)->disk_answered(answer); });
    };
    if (!worker_->cache.find_on_disk(q, kept_, snapshot_->policy, on_disk_, std::move(later))) {
      step_ = Step::following;
      return false;
    }
  }
  found.response = std::exchange(on_disk_.response, {});
  found.other_variant = found.other_variant || on_disk_.other_variant;
  found.purged = found.purged || on_disk_.purged;
  if (found.response) cache::Cache::judge(found, question());
  return true;
}

void Transaction::disk_answered(cache::OnDisk answer) {
  on_disk_ = std::move(answer);
  run_again(Step::lookup);
}

void Transaction::flight_over(cache::Landing how) {
  flight_.reset();
  collapsed_ = how == cache::Landing::stored;
  // Two waits are enough: else the last of many would wait for all before it, one after the other, where the server fails
  // or each gets a variant of its own.
  no_collapse_ = how == cache::Landing::not_stored || ++flights_followed_ >= 2;
  run_again(Step::lookup);
}

// A part of what is not here: range_offset_limit may have the whole fetched and kept, and the part answered from it.
bool Transaction::wants_whole_for_range() const {
  if (!head.has(FieldId::range) || head.method() != Method::get || control_.no_store) return false;
  int64_t limit = snapshot_->policy->range_offset_limit(facts_);
  if (limit == 0) return false;
  // Of an object whose size is not known a suffix lies infinitely far away.
  http::Ranges ranges = http::parse_ranges(head.value(FieldId::range, bytes_), store::kUnknownLength >> 1);
  if (ranges.verdict != http::RangeVerdict::satisfiable) return false;
  return limit < 0 || std::all_of(ranges.list.begin(), ranges.list.end(), [&](auto& r) { return r.first <= uint64_t(limit); });
}

void Transaction::serve_hit(cache::Found& found, ResultTag tag) {
  cache::ResponseRef response = std::move(found.response);
  if (collapsed_) {
    // One that waited for another's fetch was not there when it asked: it counts as a miss (TCP_CF_MISS), though it asked
    // nobody. Its reason is what it was before it waited.
    found_ = FoundWord::miss;
    tag_ = ResultTag::miss;
  } else {
    reason_ = CacheReason::none;
    tag_ = response->negative ? ResultTag::negative_hit : tag;
    (tag == ResultTag::hit ? worker_->loop.counters().client_disk_hits : worker_->loop.counters().client_memory_hits).add();
  }
  served_ = found.why;
  answer(response, true, found.age);
}

void Transaction::revalidate_in_background(cache::ResponseRef stale) {
  cache::Flights& flights = worker_->cache.flights();
  // A follower that never listens: only the first of many stale hits validates.
  const store::Key key = stale->partly ? cache::Sparse::flight_key(key_) : key_;
  if (!flights.lead_or_follow(key, nullptr)) return;
  keep();
  server::FetchRequest request = fetch_request(std::move(stale));
  request.leads_flight = request.always_finish = true;
  request.flight = key;
  // Its answer is for the cache: what this client alone asked for stays out.
  request.upgrade.clear();
  request.validators = stored_validators(request.stale);
  if (request.stale && request.stale->partly) append_range(request.validators);
  if (head.method() == Method::head) request.known = request.fallback;
  if (request.destinations.empty()) return flights.land(key, cache::Landing::failed);
  worker_->upstream.start(std::move(request), nullptr);
}

void Transaction::begin_fetch(cache::ResponseRef stale, bool leads) {
  keep();
  collapsed_ = false;   // it waited in vain
  if (tag_ == ResultTag::none) tag_ = ResultTag::miss;
  auto refuse = [&](ErrorId id, int status, CacheReason why) {
    served_ = why;
    if (leads) worker_->cache.flights().land(flight_key_, cache::Landing::failed);
    error(id, status);
  };
  if (!snapshot_->miss_access.empty() && !snapshot_->miss_access.check_fast(facts_, true).allowed) return refuse(ErrorId::forwarding_denied, 403, CacheReason::miss_access);
  server::FetchRequest request = fetch_request(stale);
  request.leads_flight = leads;
  request.flight = flight_key_;
  request.known = std::exchange(known_, {});
  if (request.destinations.empty()) return refuse(ErrorId::cannot_forward, 503, CacheReason::no_path);
  // To validate what is stored the range stays here; should a new whole come instead, it is answered from that.
  if (request.stale && !request.stale->partly && head.has(FieldId::range)) whole_for_range_ = true;
  stale_ = std::move(stale);
  step_ = Step::fetching;
  fetch_ = worker_->upstream.start(std::move(request), this);
}

// Why the reply may not be stored, whatever it will say.
http::StoreVerdict Transaction::refusal() const {
  if (!cacheable_request_ && !keeps_post_) {
    switch (reason_) {
      case CacheReason::cache_rule: return http::StoreVerdict::denied_by_cache_rule;
      case CacheReason::request_body: return http::StoreVerdict::request_with_body;
      default: return http::StoreVerdict::request_method;
    }
  }
  if (control_.no_store) return http::StoreVerdict::request_no_store;
  const access::Rules& rules = snapshot_->policy->store_miss;
  return rules.empty() || rules.check_fast(facts_, true).allowed ? http::kStore : http::StoreVerdict::denied_by_store_miss;
}

// The client's own conditions, for its server to judge: those that only an origin may, always (RFC 9111 section 4.3.2).
bool Transaction::passes_condition(FieldId id, bool validates) const {
  switch (id) {
    case FieldId::if_match: case FieldId::if_unmodified_since: return true;
    case FieldId::if_none_match: case FieldId::if_modified_since:
      return !validates && (!cacheable_request_ || snapshot_->policy->settings.cache_miss_revalidate);
    case FieldId::range: case FieldId::if_range: return !validates && !whole_for_range_;
    default: return false;
  }
}

// Should what is validated in parts have changed, the part that is wanted comes of the new one (RFC 9110 section 13.2.2:
// conditions come first).
void Transaction::append_range(std::string& out) const {
  for (const http::Field& f : head)
    if (f.id == FieldId::range || f.id == FieldId::if_range) out.append(f.name.in(bytes_)).append(": ").append(f.value.in(bytes_)).append("\r\n");
}

server::FetchRequest Transaction::fetch_request(cache::ResponseRef stale) {
  const Port& port = connection_->port().config;
  const server::Routing& routing = *snapshot_->routing;
  server::FetchRequest r;
  r.original = kept_;
  r.method = head.method();
  r.method_text = head.method_text().in(bytes_);
  r.url = target_.url;
  r.scheme = target_.scheme;
  r.host = target_.host;
  r.port = target_.port;
  r.ipv6_literal = target_.ipv6_literal;
  r.path_query = target_.path_query;
  r.host_field = target_.host_field;
  r.key = key_;
  r.stale = std::move(stale);
  r.refusal = refusal();
  r.accelerated = port.mode == Port::Mode::accel;
  r.ignores_cc = port.ignore_cc;
  r.always_finish = whole_for_range_ && snapshot_->policy->range_offset_limit(facts_) < 0;
  r.authorization = head.value(FieldId::authorization, bytes_);
  if (r.authorization.empty() && !target_.userinfo.empty())
    if (auto decoded = http::percent_decode(target_.userinfo)) r.authorization = "Basic " + server::base64(*decoded);
  r.proxy_authorization = head.value(FieldId::proxy_authorization, bytes_);
  r.upgrade = upgrade_allowed();
  r.body = connection_->request_body();
  r.expect_continue = r.body && head.has(FieldId::expect);
  request_fields(r.fields);

  r.fallback = r.stale;
  r.validators = stored_validators(r.stale);
  if (r.validators.empty()) r.stale.reset();
  for (const http::Field& f : head)
    if (passes_condition(f.id, bool(r.stale))) r.validators.append(f.name.in(bytes_)).append(": ").append(f.value.in(bytes_)).append("\r\n");
  if (r.stale && r.stale->partly) append_range(r.validators);

  r.destinations = icp::select(routing.peers, routing.selection(facts_, r.accelerated, port.allow_direct));
  r.routing = snapshot_->routing;
  r.policy = snapshot_->policy;
  if (!routing.outgoing_addresses.empty())
    for (const icp::Destination& d : r.destinations) r.outgoing.push_back(routing.outgoing(facts_, d));
  r.pool_for_nonretriable = !routing.pconn_for_nonretriable.empty() && routing.pconn_for_nonretriable.check_fast(facts_, false).allowed;
  return r;
}

namespace {

// Written by the fetch itself, or decided elsewhere.
bool handled_elsewhere(FieldId id) {
  switch (id) {
    case FieldId::host: case FieldId::content_length: case FieldId::transfer_encoding: case FieldId::expect:
    case FieldId::authorization: case FieldId::proxy_authorization: case FieldId::via: case FieldId::x_forwarded_for:
    case FieldId::if_none_match: case FieldId::if_modified_since: case FieldId::if_match: case FieldId::if_unmodified_since:
    case FieldId::if_range: case FieldId::range: case FieldId::max_forwards: case FieldId::surrogate_capability:
      return true;
    default: return http::is_hop_by_hop(id);
  }
}

void line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

std::string joined(const http::Head& head, FieldId id, const char* bytes) {
  std::string all;
  http::for_each_value(head, id, bytes, [&](std::string_view v) {
    if (!all.empty() && !v.empty()) all += ", ";
    all += v;
  });
  return all;
}

}  // namespace

// The end-to-end fields as they go on, with Via and X-Forwarded-For as configured.
void Transaction::request_fields(std::string& out) {
  http::ConnectionOptions options(head, bytes_);
  const HeaderRules& rules = snapshot_->request_headers;
  out.reserve(head.size() + 128);
  for (const http::Field& f : head) {
    if (handled_elsewhere(f.id) || options.nominated(f, bytes_)) continue;
    std::string_view name = f.name.in(bytes_), value = f.value.in(bytes_);
    const std::string* replacement = nullptr;
    if (!rules.empty() && !rules.passes(f.id, name, facts_, &replacement)) {
      if (replacement) line(out, name, *replacement);
      continue;
    }
    line(out, name, value);
  }
  if (head.has(FieldId::max_forwards)) {
    auto left = base::parse_decimal<uint64_t>(head.value(FieldId::max_forwards, bytes_));
    if (left && *left > 0 && (head.method() == Method::trace || head.method() == Method::options)) line(out, "Max-Forwards", fmt::to_string(*left - 1));
    else line(out, "Max-Forwards", head.value(FieldId::max_forwards, bytes_));
  }
  auto guarded = [&](FieldId id, std::string_view name, const std::string& value) {
    const std::string* replacement = nullptr;
    if (rules.empty() || rules.passes(id, name, facts_, &replacement)) line(out, name, value);
    else if (replacement) line(out, name, *replacement);
  };
  const Settings& s = snapshot_->settings;
  std::string via = joined(head, FieldId::via, bytes_);
  if (s.via) {
    if (!via.empty()) via += ", ";
    via.append(head.minor_version() == 0 ? "1.0 " : "1.1 ").append(snapshot_->via_value);
  }
  if (!via.empty()) guarded(FieldId::via, "Via", via);
  std::string surrogates = joined(head, FieldId::surrogate_capability, bytes_);
  if (connection_->port().config.mode == Port::Mode::accel)
    surrogates.append(surrogates.empty() ? "" : ", ").append(snapshot_->policy->surrogate.id).append("=\"Surrogate/1.0\"");
  if (!surrogates.empty()) guarded(FieldId::surrogate_capability, "Surrogate-Capability", surrogates);
  std::string forwarded = joined(head, FieldId::x_forwarded_for, bytes_);
  std::string client = connection_->client().host();
  switch (s.forwarded_for) {
    case ForwardedFor::on: forwarded += (forwarded.empty() ? "" : ", ") + client; break;
    case ForwardedFor::off: forwarded += forwarded.empty() ? "unknown" : ", unknown"; break;
    case ForwardedFor::transparent: break;
    case ForwardedFor::remove: forwarded.clear(); break;
    case ForwardedFor::truncate: forwarded = client; break;
  }
  if (!forwarded.empty()) guarded(FieldId::x_forwarded_for, "X-Forwarded-For", forwarded);
  rules.append_additions(facts_, out, [this](log::Record& record) { describe_for_fields(record); });
}

// The protocols of the client's Upgrade that http_upgrade_request_protocols lets through. By default none.
std::string Transaction::upgrade_allowed() const {
  if (!head.has(FieldId::upgrade) || snapshot_->upgrades.empty() || head.minor_version() == 0) return {};
  if (!http::ConnectionOptions(head, bytes_).upgrade()) return {};
  std::string allowed;
  http::for_each_value(head, FieldId::upgrade, bytes_, [&](std::string_view value) {
    http::for_each_list_member(value, [&](std::string_view protocol) {
      std::string_view name = protocol.substr(0, protocol.find('/'));
      for (auto& u : snapshot_->upgrades) {
        if (u.protocol != "OTHER" && !base::iequals(u.protocol, protocol) && !base::iequals(u.protocol, name)) continue;
        if (u.rules.check_fast(facts_, false).allowed) allowed.append(allowed.empty() ? "" : ", ").append(protocol);
        return;
      }
    });
  });
  return allowed;
}

// ---- what the fetch tells ----------------------------------------------------

void Transaction::fetch_interim(int, std::string_view text) {
  if (head.minor_version() >= 1 && connection_) connection_->send_interim(text);   // 1.0 clients know no 1xx (RFC 9110 15.2)
}

void Transaction::fetch_response(cache::ResponseRef response, server::Source source, const server::FetchFacts& facts) {
  fetch_facts_ = facts;
  code_ = facts.code;
  bool from_cache = source != server::Source::fresh;
  served_ = source == server::Source::fresh ? facts.not_served : source != server::Source::failed_old ? CacheReason::none
            : worker_->cache.offline()      ? CacheReason::offline
                                            : CacheReason::if_error;
  if (source == server::Source::unmodified) tag_ = ResultTag::refresh_unmodified;
  else if (source == server::Source::failed_old) tag_ = ResultTag::refresh_fail_old;
  else if (stale_) tag_ = response->status >= 500 ? ResultTag::refresh_fail_err : ResultTag::refresh_modified;
  if (from_cache && response->partly) {
    serve_parts(std::move(response));
    if (done()) connection_->transaction_ended_late();
    return;
  }
  int64_t age = from_cache ? http::current_age(response->lifetimes, worker_->loop.wall_seconds()) : 0;
  answer(response, from_cache, age);
  if (done()) connection_->transaction_ended_late();
}

// What a client sees when no server could be reached, for a fetch or a tunnel.
void Transaction::failure_page(server::FetchError failure, std::string_view detail, int system_error) {
  using server::FetchError;
  struct Row { FetchError failure; ErrorId page; int status; };
  static constexpr Row kRows[] = {
      {FetchError::cannot_forward, ErrorId::cannot_forward, 503}, {FetchError::dns, ErrorId::dns_fail, 502},
      {FetchError::connect, ErrorId::connect_fail, 503},          {FetchError::connect_timeout, ErrorId::connect_fail, 504},
      {FetchError::tls, ErrorId::secure_connect_fail, 503},       {FetchError::no_sockets, ErrorId::socket_failure, 500},
      {FetchError::write, ErrorId::write_error, 502},             {FetchError::read, ErrorId::read_error, 502},
      {FetchError::read_timeout, ErrorId::read_timeout, 504},     {FetchError::zero_reply, ErrorId::zero_size_object, 502},
      {FetchError::bad_reply, ErrorId::invalid_resp, 502},        {FetchError::reply_too_large, ErrorId::too_big, 502},
      {FetchError::forward_timeout, ErrorId::gateway_failure, 504}, {FetchError::gateway_loop, ErrorId::forwarding_denied, 403},
  };
  const Row* row = &kRows[0];
  for (auto& r : kRows) if (r.failure == failure) row = &r;
  error(row->page, row->status, detail, system_error);
}

void Transaction::fetch_failed(server::FetchError failure, const server::FetchFacts& facts) {
  fetch_ = nullptr;
  fetch_facts_ = facts;
  code_ = facts.attempts && facts.server.valid() ? facts.code : log::HierarchyCode::none;
  if (stale_) tag_ = ResultTag::refresh_fail_err;
  served_ = facts.not_served;
  failure_page(failure, facts.detail, facts.system_error);
  if (done()) connection_->transaction_ended_late();
}

}  // namespace loligo::client
