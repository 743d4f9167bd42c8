// The reply as it comes from a server: interim heads, the head, the body.
#include <fmt/format.h>

#include "base/text.h"
#include "http/conditional.h"
#include "http/hop_by_hop.h"
#include "server/fetch.h"

namespace loligo::server {

namespace {
constexpr int kReadsPerTurn = 8;   // then others get their turn
constexpr uint64_t kRechargeStep = 64 * 1024;   // what a growing body may hold beyond what cache_mem knows of
constexpr unsigned kMaxInterim = 64;   // 1xx heads before the answer

// Answers that another destination may better (Squid's list: some only with retry_on_error).
bool reforwardable(int status, bool retry_on_error) {
  switch (status) {
    case 502: case 504: return true;
    case 403: case 500: case 501: case 503: return retry_on_error;
    default: return false;
  }
}
}  // namespace

void Fetch::read_some() {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    if (!connection_ || state_ == State::done) return;
    size_t want = upstream_.scratch.size();
    if (state_ == State::body && !owner_ && unwanted()) return fail(FetchError::read, ECANCELED);
    if (state_ == State::body && response_ && source_ == Source::fresh) {
      uint64_t room = response_->body->room();
      if (room == 0) {
        // Once only: a server that dribbles must not put off the look at who holds us up.
        if (!std::exchange(paused_, true)) loop_.arm(timer_, base::Milliseconds(1000));
        return;
      }
      want = std::min<uint64_t>(want, std::max<uint64_t>(room, 4096));
    }
    loop_.counters().sock_reads.add();
    net::IoResult r = connection_->stream->read(upstream_.scratch.data(), want);
    if (r.status == net::IoStatus::again) return;
    if (r.status == net::IoStatus::ok) {
      loop_.counters().server_bytes_in.add(r.bytes);
      loop_.arm(timer_, request_.routing->settings.read_timeout);
      drained_ = r.bytes < want && connection_->stream->short_read_drains();
      if (!process({upstream_.scratch.data(), r.bytes})) return;
      if (drained_ && connection_ && !connection_->peer_closed) return;
      continue;
    }
    // The end of the connection: the end of the body where nothing else tells it.
    // (Under TLS only an orderly close does: RFC 9112 section 9.8.)
    if (state_ == State::body && framing_.kind == http::BodyKind::to_close && r.status == net::IoStatus::closed && !connection_->stream->truncated())
      return body_ended({}, false);
    if (r.status == net::IoStatus::closed && !reply_begun_)
      return connection_lost(input_.empty() ? FetchError::zero_reply : FetchError::bad_reply, ECONNRESET);
    return connection_lost(FetchError::read, r.error ? r.error : ECONNRESET);
  }
  if (std::exchange(read_deferred_, true)) return;   // one such call at a time, however many events come
  loop_.defer([self = self_] {
    if (!*self) return;
    (*self)->read_deferred_ = false;
    if (!(*self)->paused_) (*self)->read_some();
  });
}

bool Fetch::process(std::string_view input) {
  while (!input.empty() || state_ == State::body) {
    if (state_ == State::exchanging) {
      if (!process_head(input)) return false;
    } else if (state_ == State::body) {
      bool more = process_body(input);
      if (!more || input.empty()) break;
    } else {
      return false;
    }
  }
  if (response_ && !delivered_) deliver();
  return state_ == State::exchanging || state_ == State::body;
}

// Consumes one head (interim or final), or keeps the beginning of one. False: ended.
bool Fetch::process_head(std::string_view& input) {
  http::HeadLimits limits;
  limits.max_bytes = uint32_t(std::clamp<int64_t>(request_.routing->settings.reply_header_max_size, 1024, 1 << 24));
  limits.max_fields = http::kMaxFields;
  std::string_view text = input;
  if (!input_.empty()) {
    input_.append(input);
    text = input_;
  }
  http::Head head;
  switch (head.parse_response(text.data(), text.size(), limits)) {
    case http::ParseState::incomplete:
      if (input_.empty()) input_.assign(input);
      input = {};
      return true;   // the rest may wait already: go on reading
    case http::ParseState::failed: {
      loop_.counters().bad_replies.add();
      bool large = head.error() == http::HeadError::too_large || head.error() == http::HeadError::too_many_fields;
      release_connection(false);
      fail(large ? FetchError::reply_too_large : FetchError::bad_reply, 0, std::string(http::describe(head.error()).text));
      return false;
    }
    case http::ParseState::complete: break;
  }
  size_t used_of_input = head.size() - (input_.empty() ? 0 : input_.size() - input.size());
  std::string kept = std::move(input_);   // `text` may lie in it
  input_.clear();
  if (!kept.empty()) text = kept;
  bool go_on = reply_head(head, text.substr(0, head.size()), input.substr(std::min(used_of_input, input.size())));
  if (go_on || state_ == State::done || !connection_) input.remove_prefix(std::min(used_of_input, input.size()));
  if (state_ == State::done || !connection_) return false;
  return go_on;
}

bool Fetch::reply_head(const http::Head& head, std::string_view text, std::string_view rest) {
  const char* bytes = text.data();
  int status = head.status();
  if (status >= 100 && status < 200 && status != 101) {
    if (++interim_heads_ > kMaxInterim) {
      loop_.counters().bad_replies.add();
      fail(FetchError::bad_reply, 0, "too many interim answers");
      return false;
    }
    std::string lines, dropped;
    cache::write_stored_head(head, bytes, store::kUnknownLength, cache::Apart(), lines, dropped);
    if (owner_) owner_->fetch_interim(status, lines + "\r\n");
    return connection_ != nullptr;
  }
  framing_ = http::response_framing(head, bytes, request_.method);
  if (framing_.error != http::FramingError::none || (status == 101 && request_.upgrade.empty())) {
    loop_.counters().bad_replies.add();
    release_connection(false);
    fail(FetchError::bad_reply, 0, std::string(http::describe(framing_.error).text));
    return false;
  }
  if (more_destinations() && may_retry() &&
      reforwardable(status, request_.routing->settings.retry_on_error)) {
    release_connection(false);
    try_next();
    return false;
  }
  if (status == 304 && !concerns_us(head, bytes)) {
    release_connection(framing_.keep_alive && request_sent() && rest.empty());
    ask_without_conditions();
    return false;
  }
  reply_begun_ = true;
  if (destination_.peer && framing_.keep_alive && request_.routing->settings.server_persistent_connections)
    destination_.peer->state->keepalives_granted.fetch_add(1, std::memory_order_relaxed);
  facts_.server_status = status;
  facts_.peer_us = (loop_.now_ms() - first_write_ms_) * 1000;

  cache::Arrival arrival{request_.key, request_.url, &request_.original->head, request_.original->bytes.data(), request_.method,
                         request_time_, loop_.wall_seconds()};
  arrival.accelerated = request_.accelerated;
  arrival.authorized = sends_credentials(request_, destination_.peer);
  arrival.refusal = request_.refusal;
  if (arrival.refusal == http::kStore && destination_.peer && destination_.peer->config.proxy_only) arrival.refusal = http::StoreVerdict::proxy_only;
  arrival.purges_seen = purges_seen_;
  arrival.moment = moment_;
  arrival.refreshed = request_.fallback;
  if (request_.gap.sparse) arrival.gap = &request_.gap;
  if (framing_.kind == http::BodyKind::length) arrival.length = framing_.length;
  else if (framing_.kind == http::BodyKind::none && status != 204 && status != 101) {
    if (head.has(http::FieldId::content_length))
      arrival.length = base::parse_decimal<uint64_t>(head.value(http::FieldId::content_length, bytes)).value_or(store::kUnknownLength);
  }
  if (request_.stale && status == 304) {
    source_ = Source::unmodified;
    response_ = upstream_.cache.freshen(*request_.stale, head, bytes, arrival, *request_.policy);
  } else if (request_.fallback && status >= 500 && source_ == Source::fresh && may_serve_stale()) {
    source_ = Source::failed_old;
    response_ = request_.fallback;
  }
  if (unsigned gone = upstream_.cache.invalidate(head, bytes, arrival)) loop_.counters().purged_objects.add(gone);
  if (!response_) {
    response_ = upstream_.cache.admit(head, bytes, arrival, *request_.policy);
    response_->body->attach_writer(this);
    (response_->stored ? loop_.counters().stored_objects : loop_.counters().refused_objects).add();
  }
  if (source_ != Source::failed_old) not_kept(response_->verdict);
  if (request_.known && source_ == Source::fresh) upstream_.cache.compare(*request_.known, head, bytes, arrival, *request_.policy);
  // An old answer that stands in for a failure would only send the waiters into the same failure, one by one.
  // One that goes to the disk alone cannot be joined while it comes.
  const bool joinable = response_->body->retained() || response_->part.epoch;
  land(response_->stored && joinable && source_ != Source::failed_old ? cache::Landing::stored : cache::Landing::not_stored);
  state_ = State::body;
  if (status == 101) {
    switch_protocols(rest);
    return false;
  }
  body_left_ = framing_.kind == http::BodyKind::length ? framing_.length : 0;
  if (framing_.kind == http::BodyKind::none || (framing_.kind == http::BodyKind::length && framing_.length == 0)) {
    body_done_ = true;
  }
  return true;
}

// Is a 304 about what we hold, or about what the client asked? One that selects another response, or that answers a
// request without conditions, is nothing that anybody could use (RFC 9111 section 4.3.4).
bool Fetch::concerns_us(const http::Head& head, const char* bytes) const {
  if (const cache::Response* r = request_.stale.get()) return http::selects(head, bytes, {r->etag, r->last_modified, r->status, r->lifetimes.date});
  const http::Head& asked = request_.original->head;
  return !request_.validators.empty() && (asked.has(http::FieldId::if_none_match) || asked.has(http::FieldId::if_modified_since));
}

void Fetch::ask_without_conditions() {
  if (!request_.stale || !may_retry()) {
    loop_.counters().bad_replies.add();
    return fail(FetchError::bad_reply, 0, "304 without a condition that it would answer");
  }
  request_.stale.reset();
  request_.validators.clear();
  loop_.counters().server_retries.add();
  --facts_.attempts;
  connect(icp::Destination(destination_));
}

// The connection belongs to the new protocol from here on, with what came behind the head.
void Fetch::switch_protocols(std::string_view early) {
  timer_.cancel();
  response_->body->complete();
  connection_->user = nullptr;
  facts_.total_us = loop_.wall_us() - started_us_;
  delivered_ = true;
  state_ = State::done;
  ServerConnectionPtr connection = std::move(connection_);
  if (FetchOwner* owner = std::exchange(owner_, nullptr)) owner->fetch_switched(std::move(connection), response_, std::string(early), facts_);
  upstream_.ended(this);
}

// Appends what belongs to the body. False when it ended.
bool Fetch::process_body(std::string_view& input) {
  auto sink = [&](std::string_view bytes) {
    facts_.body_bytes += bytes.size();
    if (source_ == Source::fresh) response_->body->append(bytes);
  };
  bool reusable_so_far = framing_.keep_alive && request_sent();
  if (body_done_) {
    body_ended({}, reusable_so_far && input.empty());
    return false;
  }
  switch (framing_.kind) {
    case http::BodyKind::length: {
      std::string_view part = input.substr(0, std::min<uint64_t>(input.size(), body_left_));
      sink(part);
      body_left_ -= part.size();
      input.remove_prefix(part.size());
      if (body_left_ == 0) {
        body_ended({}, reusable_so_far && input.empty());
        return false;
      }
      break;
    }
    case http::BodyKind::chunked:
      while (!input.empty()) {
        auto r = chunked_.feed(input);
        input.remove_prefix(r.consumed);
        if (!r.data.empty()) sink(r.data);
        if (r.state == http::ChunkedDecoder::State::more) break;
        if (r.state == http::ChunkedDecoder::State::failed) {
          loop_.counters().bad_replies.add();
          if (!delivered_) deliver();
          connection_lost(FetchError::bad_reply, 0);
          return false;
        }
        if (r.state == http::ChunkedDecoder::State::end) {
          body_ended(chunked_.trailers(), reusable_so_far && input.empty());
          return false;
        }
      }
      break;
    case http::BodyKind::to_close:
    case http::BodyKind::none:
      sink(input);
      input = {};
      break;
  }
  if (!outgrows() && response_->stored && response_->body->memory() >= charged_ + kRechargeStep) {
    charged_ = response_->body->memory();
    upstream_.cache.grown(*response_);
  }
  return true;
}

// One that outgrows what may be kept is not kept.
bool Fetch::outgrows() {
  const uint64_t length = response_->body->length();
  if (!response_->stored || !response_->body->retained() || length <= upstream_.cache.max_object(*request_.policy)) return false;
  upstream_.cache.outgrown(*response_, *request_.policy);
  if (!response_->disk_id || length > request_.policy->max_object) not_kept(http::CacheReason::too_large);
  return true;
}

void Fetch::body_ended(std::string trailers, bool reusable) {
  body_done_ = true;
  if (source_ == Source::fresh) {
    outgrows();   // also one whose whole body came at once
    response_->body->complete(std::move(trailers));
    if (response_->body->length() < request_.policy->min_object && !response_->part.epoch) {
      not_kept(http::CacheReason::too_small);
      upstream_.cache.drop(*response_);
    } else {
      upstream_.cache.settled(*response_);
    }
  }
  release_connection(reusable);
  facts_.total_us = loop_.wall_us() - started_us_;
  deliver();
  finish();
}

}  // namespace loligo::server
