// The course of a fetch: destinations, connections, ends. The request's bytes
// are in fetch_request.cc, the reply's in fetch_reply.cc.
#include "server/fetch.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include "base/event_log.h"
#include "http/freshness.h"
#include "net/tls.h"

namespace loligo::server {

using base::Milliseconds;

namespace {
constexpr uint64_t kMaxIgnoredBody = 64 * 1024;
}

FetchError fetch_error(ConnectError error) {
  static constexpr FetchError kErrors[] = {FetchError::none, FetchError::dns, FetchError::connect, FetchError::connect_timeout,
                                           FetchError::tls, FetchError::no_sockets};
  return kErrors[unsigned(error)];
}

Fetch* Upstream::start(FetchRequest request, FetchOwner* owner) {
  fetches_.push_back(std::make_unique<Fetch>(*this, std::move(request), owner));
  Fetch* fetch = fetches_.back().get();
  fetch->begin();
  return fetch;
}

void Upstream::ended(Fetch* fetch) {
  for (auto it = fetches_.begin(); it != fetches_.end(); ++it)
    if (it->get() == fetch) {
      loop.delete_later(std::move(*it));
      fetches_.erase(it);
      return;
    }
}

Fetch::Fetch(Upstream& upstream, FetchRequest request, FetchOwner* owner)
    : upstream_(upstream), loop_(upstream.loop), request_(std::move(request)), owner_(owner),
      self_(std::make_shared<Fetch*>(this)) {
  timer_.call = [this] { timed_out(); };
  if (request_.flight == store::Key()) request_.flight = request_.key;
  if (request_.body) request_.body->consumer = this;
}

Fetch::~Fetch() {
  *self_ = nullptr;
  if (request_.body) request_.body->consumer = nullptr;
  if (connection_) connection_->user = nullptr;
  // Readers on other workers may outlive us at the end of the process.
  if (response_ && source_ == Source::fresh) {
    response_->body->detach_writer();
    response_->body->fail();
  }
}

// The owner must never be called from within start().
void Fetch::begin() {
  started_ms_ = loop_.now_ms();
  started_us_ = loop_.wall_us();
  // Straight to a pooled connection where there is one: the common miss takes no detour.
  if (!request_.destinations.empty() && request_.routing->settings.forward_timeout.count() > 0) {
    try_next();
    return;
  }
  loop_.defer([self = self_] { if (*self) (*self)->try_next(); });
}

void Fetch::try_next() {
  if (state_ == State::done) return;
  connector_.reset();
  if (loop_.now_ms() - started_ms_ >= request_.routing->settings.forward_timeout.count()) return fail(FetchError::forward_timeout, ETIMEDOUT);
  if (!more_destinations()) {
    if (facts_.attempts == 0) return fail(FetchError::cannot_forward);
    return fail(FetchError::connect, facts_.system_error, facts_.detail);
  }
  allow_pool_ = true;
  connect(request_.destinations[next_destination_++]);
}

// What a connection may be reused for: the same peer, or the same origin from the same address of ours.
std::string Fetch::pool_key(const icp::Destination& d) const {
  std::string key;
  if (d.peer) key = d.peer->pool_key;
  else key.append(request_.scheme == "https" ? "s|" : "p|").append(request_.host).append(":").append(std::to_string(request_.port));
  if (request_.outgoing.empty()) return key;
  OutgoingAddresses from = outgoing();
  for (const net::Address& a : {from.v4, from.v6})
    if (a.valid()) key.append("|").append(a.host());
  return key;
}

ConnectTarget Fetch::target_of(const icp::Destination& d) const {
  const Routing& routing = *request_.routing;
  ConnectTarget t = routing.connect_target(d, routing.settings.forward_timeout - Milliseconds(loop_.now_ms() - started_ms_));
  t.max_attempts = std::max(unsigned(routing.settings.forward_max_tries) - tries_, 1u);
  t.local = outgoing();
  if (!d.peer) {
    t.host = request_.host;
    t.port = request_.port;
    if (request_.scheme == "https") t.tls = routing.outgoing_tls, t.tls_name = request_.host;
  }
  return t;
}

bool Fetch::more_destinations() const {
  return next_destination_ < request_.destinations.size() && tries_ < unsigned(request_.routing->settings.forward_max_tries);
}

namespace {
bool retriable(http::Method m) {
  using enum http::Method;
  return m == get || m == head || m == options || m == trace || m == put || m == delete_;
}
}  // namespace

// A pooled connection may die under the request; so it takes only what can be sent twice (RFC 9112 section 9.3.1).
void Fetch::connect(const icp::Destination& d) {
  destination_ = d;
  facts_.code = d.code;
  facts_.peer_host = d.peer ? d.peer->config.name : request_.host;
  ++facts_.attempts;
  state_ = State::connecting;
  bool repeatable = retriable(request_.method) && !request_.body;
  if (allow_pool_ && (repeatable || request_.pool_for_nonretriable) && request_.upgrade.empty()) {
    if (ServerConnectionPtr pooled = upstream_.pool.take(pool_key(d))) return ++tries_, connected(std::move(pooled), true);
  }
  ConnectTarget target = target_of(d);
  bool wants_tls = d.peer ? d.peer->config.tls : request_.scheme == "https";
  if (wants_tls && !target.tls) {   // tls_outgoing_options disable: never in the clear instead
    loop_.defer([self = self_] { if (*self) (*self)->fail(FetchError::tls, 0, "TLS to servers is switched off"); });
    return;
  }
  connector_ = std::make_unique<Connector>(loop_, upstream_.resolver);
  connector_->start(std::move(target), [this](ConnectResult result) {
    if (state_ == State::done) return;   // given up earlier in this turn
    if (result.dns_us >= 0) facts_.dns_us = result.dns_us;
    tries_ += std::max(result.attempts, 1u);
    if (result.connection) return connected(std::move(result.connection), false);
    if (result.last_address.valid()) facts_.server = result.last_address;
    facts_.system_error = result.system_error;
    facts_.detail = result.detail;
    if (more_destinations()) {
      // From a fresh stack: the connector is still below us.
      loop_.defer([self = self_] { if (*self) (*self)->try_next(); });
      return;
    }
    fail(fetch_error(result.error), result.system_error, result.detail);
  });
}

void Fetch::connected(ServerConnectionPtr connection, bool reused) {
  connection_ = std::move(connection);
  connection_->user = this;
  ++connection_->requests;
  reused_ = facts_.reused_connection = reused;
  facts_.server = connection_->address;
  facts_.local = connection_->local;
  if (destination_.peer) {
    icp::PeerState& peer = *destination_.peer->state;
    peer.fetches.fetch_add(1, std::memory_order_relaxed);
    if (request_.routing->settings.server_persistent_connections) peer.keepalives_asked.fetch_add(1, std::memory_order_relaxed);
  }
  auto& counters = loop_.counters();
  counters.server_requests.add();
  if (reused) counters.server_connections_reused.add();
  state_ = State::exchanging;
  request_time_ = loop_.wall_seconds();
  purges_seen_ = upstream_.cache.purges_seen();
  moment_ = upstream_.cache.moment();
  first_write_ms_ = loop_.now_ms();
  input_.clear();
  compose(destination_);
  loop_.arm(timer_, request_.routing->settings.read_timeout);
  // A server that spoke first: its event went to the connector, and no other tells of those bytes.
  if (std::exchange(connection_->input_waiting, false))
    loop_.defer([self = self_] { if (*self && (*self)->connection_) (*self)->read_some(); });
  flush();
}

void Fetch::on_event(uint32_t events) {
  if (!connection_) return;
  // Under TLS a write may have waited for something to read.
  if (((events & EPOLLOUT) || connection_->stream->is_tls()) && !request_sent()) flush();
  if (connection_ && (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) read_some();
}

void Fetch::timed_out() {
  if (state_ == State::body && paused_) return check_reader();
  if (reply_begun_ || state_ == State::body) return connection_lost(FetchError::read_timeout, ETIMEDOUT);
  fail(write_blocked_ ? FetchError::write : FetchError::read_timeout, ETIMEDOUT);
}

// The body has no room: whom do we wait for? Nobody, or one that holds the others back?
void Fetch::check_reader() {
  auto& body = *response_->body;
  if (unwanted()) return connection_lost(FetchError::read, ECANCELED);
  if (unsigned cut = body.cut_laggards(loop_.now_ms())) loop_.counters().laggards_cut.add(cut);
  loop_.arm(timer_, Milliseconds(1000));
}

void Fetch::writer_woken() {
  loop_.hand_over([self = self_] {
    Fetch* f = *self;
    if (!f || f->state_ == State::done) return;
    if (f->unwanted()) return f->fail(FetchError::read, ECANCELED);
    if (f->paused_) {
      f->paused_ = false;
      f->loop_.arm(f->timer_, f->request_.routing->settings.read_timeout);
      f->read_some();
    }
  });
}

bool Fetch::may_retry() const {
  if (reply_begun_ || delivered_) return false;
  if (request_.body && !request_.body->untouched()) return false;
  return retriable(request_.method);   // never twice what changes something (RFC 9110 section 9.2.2)
}

// The connection broke, or ended where it must not.
void Fetch::connection_lost(FetchError error, int system_error) {
  bool again = state_ == State::exchanging && may_retry();
  facts_.system_error = system_error;
  release_connection(false);
  if (again && reused_) {
    loop_.counters().server_retries.add();
    allow_pool_ = false;
    --facts_.attempts;
    return connect(destination_);
  }
  if (again && more_destinations()) return try_next();
  fail(error, system_error);
}

void Fetch::fail(FetchError error, int system_error, std::string detail) {
  facts_.system_error = system_error;
  if (!detail.empty()) facts_.detail = std::move(detail);
  facts_.total_us = loop_.wall_us() - started_us_;
  if (system_error != ECANCELED) loop_.counters().server_errors.add();
  connector_ ? loop_.delete_later(std::move(connector_)) : void();
  release_connection(false);
  if (response_ && source_ == Source::fresh) {
    // Before those who read it hear of the end. What has come of a part is one.
    if (!upstream_.cache.shorten(*response_)) {
      if (response_->stored) not_kept(system_error == ECANCELED ? http::CacheReason::abandoned : http::CacheReason::body_cut);
      response_->body->fail();
    }
    upstream_.cache.settled(*response_);
  }
  land(cache::Landing::failed);
  if (!delivered_ && request_.fallback && may_serve_stale()) {
    response_ = request_.fallback;
    source_ = Source::failed_old;
    deliver();
    return finish();
  }
  if (FetchOwner* owner = delivered_ ? nullptr : std::exchange(owner_, nullptr)) owner->fetch_failed(error, facts_);
  finish();
}

// RFC 9111 4.2.4 and RFC 5861: an old answer beats none, where nothing forbids it.
bool Fetch::may_serve_stale() {
  http::FreshnessLimits limits;
  limits.max_stale = request_.policy->settings.max_stale.count() / 1000;
  limits.offline = upstream_.cache.offline();
  limits.ignore_client_reload = request_.ignores_cc;
  auto control = http::request_cache_control(request_.original->head, request_.original->bytes.data());
  facts_.not_served = http::forbids_on_error(request_.fallback->current_lifetimes(), control, request_.fallback->rule, limits, loop_.wall_seconds());
  return facts_.not_served == http::CacheReason::none;
}

// Each reply counts once, with what was known first.
void Fetch::not_kept(http::CacheReason why) {
  if (facts_.not_stored != http::CacheReason::none) return;
  facts_.not_stored = why;
  upstream_.reasons.add(why);
}

void Fetch::land(cache::Landing how) {
  if (!std::exchange(request_.leads_flight, false)) return;
  upstream_.cache.flights().land(request_.flight, how);
}

void Fetch::deliver() {
  if (delivered_) return;
  delivered_ = true;
  facts_.total_us = loop_.wall_us() - started_us_;
  if (owner_) owner_->fetch_response(response_, source_, facts_);
  if (response_) response_->body->release_start();   // whoever wanted it reads now
}

// quick_abort_*: is what is left worth fetching for the cache alone? Little is (min), much is not (max), and between
// the two it is when most has come (pct). Of a body of unknown length nobody knows, so only min -1 finishes it.
bool Fetch::may_finish_for_cache() const {
  if (!may_finish_ || !response_->stored || !(response_->body->retained() || response_->disk_id)) return false;
  const Settings& s = request_.routing->settings;
  if (s.quick_abort_min < 0 || request_.always_finish) return true;
  if (framing_.kind != http::BodyKind::length) return false;
  uint64_t total = framing_.length, got = total - body_left_;
  if (body_left_ < uint64_t(s.quick_abort_min)) return true;
  if (s.quick_abort_max >= 0 && body_left_ > uint64_t(s.quick_abort_max)) return false;
  return total > 0 && got * 100 / total > uint64_t(s.quick_abort_pct);
}

// The one who asked has left, nobody else reads, and it is not worth going on for the cache. A reply that is only
// compared (a 304, a 5xx beside a usable old answer) needs no reader, but its own body must end soon.
bool Fetch::unwanted() const {
  if (owner_ || state_ == State::done || body_done_) return false;
  if (!response_) return true;
  if (source_ != Source::fresh) return facts_.body_bytes > kMaxIgnoredBody;
  return response_->body->reader_count() == 0 && !may_finish_for_cache();
}

void Fetch::abandon(bool may_finish) {
  owner_ = nullptr;
  may_finish_ = may_finish;
  if (state_ == State::done || body_done_) return;   // ended, or about to
  if (request_.body) {
    request_.body->consumer = nullptr;
    if (!request_sent()) return fail(FetchError::write, ECANCELED);
  }
  if (unwanted()) fail(FetchError::read, ECANCELED);
}

void Fetch::release_connection(bool reusable) {
  timer_.cancel();
  if (!connection_) return;
  connection_->user = nullptr;
  const Settings& s = request_.routing->settings;
  reusable = reusable && s.server_persistent_connections && !connection_->peer_closed;
  // Nothing may wait behind the reply: it would be the answer to another's request, and no event would tell of it.
  if (char extra; reusable && !drained_) reusable = connection_->stream->read(&extra, 1).status == net::IoStatus::again;
  if (reusable) {
    if (connection_->pool_key.empty()) connection_->pool_key = pool_key(destination_);
    upstream_.pool.put(std::move(connection_), s.server_idle_pconn_timeout, s.pconn_lifetime);
  } else {
    upstream_.pool.ended(*connection_);
  }
  if (connection_) loop_.delete_later(std::move(connection_));
}

void Fetch::finish() {
  if (state_ == State::done) return;
  state_ = State::done;
  if (FetchOwner* owner = std::exchange(owner_, nullptr)) owner->fetch_ended(facts_);
  if (request_.body) {
    request_.body->consumer = nullptr;
    request_.body->discard();
  }
  upstream_.ended(this);
}

}  // namespace loligo::server
