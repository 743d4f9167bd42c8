// Answers: from a response (whole, not modified, a range), or of our own.
#include <fmt/format.h>

#include <utility>

#include "base/event_log.h"
#include "base/text.h"
#include "client/reason.h"
#include "client/transaction.h"
#include "http/conditional.h"
#include "http/date.h"
#include "http/range.h"

namespace loligo::client {

using http::FieldId;
using http::Method;
using log::ResultTag;

namespace {

constexpr std::string_view kServerField = "Server: loligo/0.1.0\r\n";
constexpr std::string_view kServerFieldBare = "Server: loligo\r\n";

void append_number(std::string& out, uint64_t n) {
  char digits[20];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, n);
  out.append(digits, end);
}

bool no_body_status(int status) { return status == 204 || status == 304 || (status >= 100 && status < 200); }

// The fields a 304 made here carries (RFC 9110 section 15.4.5).
bool goes_with_304(FieldId id) {
  switch (id) {
    case FieldId::etag: case FieldId::date: case FieldId::vary: case FieldId::cache_control: case FieldId::expires:
    case FieldId::content_location: case FieldId::last_modified: case FieldId::server:
      return true;
    default: return false;
  }
}

template <class F> void for_each_line(std::string_view lines, F&& f) {
  while (!lines.empty()) {
    size_t end = lines.find("\r\n");
    if (end == lines.npos) return;
    f(lines.substr(0, end));
    lines.remove_prefix(end + 2);
  }
}

std::string_view field_lines(const cache::Response& r) {
  return std::string_view(r.head).substr(r.head.find("\r\n") + 2);
}

}  // namespace

bool Transaction::persist() const {
  const Settings& s = snapshot_->settings;
  return !close_ && framing_.keep_alive && s.client_persistent_connections && !worker_->draining && connection_->request_body_done() &&
         !malformed_;
}

void Transaction::append_connection(std::string& tail) {
  close_ = close_ || !persist();
  tail.append(close_ ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n");
}

// RFC 9211. What was forwarded for no reason of the cache's is bypass; detail says what the log says.
void Transaction::append_cache_status(std::string& out, bool from_cache, const cache::Response* r) const {
  using http::CacheReason;
  out.append(snapshot_->cache_status);
  const bool hit = reason_ == CacheReason::none && from_cache, stored = r && r->stored && r->verdict == http::kStore;
  if (hit) {
    out.append(";hit");
  } else {
    const std::string_view forward = http::describe(reason_).forward;
    out.append(";fwd=").append(forward.empty() ? std::string_view("bypass") : forward);
    if (fetch_facts_.server_status) out.append(";fwd-status="), append_number(out, uint64_t(fetch_facts_.server_status));
    if (stored) out.append(";stored");
    if (collapsed_) out.append(";collapsed");
  }
  if (hit ? bool(r) : stored) {
    out.append(";ttl=");
    out.append(fmt::to_string(r->current_lifetimes().freshness - http::current_age(r->lifetimes, worker_->loop.wall_seconds())));
  }
  if (!hit || served_ != CacheReason::none) {
    std::string_view before = ";detail=";
    for (CacheReason why : {reason_, served_, not_stored()})
      if (why != CacheReason::none) out.append(std::exchange(before, "+")).append(http::text(why));
  }
  out.append("\r\n");
}

// Age, X-Cache, Via and so on: what each answer gets anew.
void Transaction::append_common(std::string& tail, const cache::Response* r, bool from_cache, int64_t age) {
  const PortContext& port = connection_->port();
  if (r && from_cache && !port.config.act_as_origin) {
    tail.append("Age: ");
    append_number(tail, uint64_t(age < 0 ? 0 : age));
    tail.append("\r\n");
  } else if (r && !from_cache) {
    tail.append(r->first_only);
  }
  if (r && !r->has_date) {
    char date[http::kDateLength];
    http::format_date(r->lifetimes.response_time, date);
    tail.append("Date: ").append(date, sizeof date).append("\r\n");
  }
  tail.append(port.outcome_fields(from_cache && !collapsed_ && reason_ != http::CacheReason::partial, found_, r && r->by_http10));
  append_cache_status(tail, from_cache, r);
}

// An accelerator's client that is no surrogate itself gets no Surrogate-Control: it was for us.
bool Transaction::hides_surrogate_control(const cache::Response& r) const {
  return r.has_surrogate_control && connection_->port().config.mode == Port::Mode::accel && !head.has(FieldId::surrogate_capability);
}

bool Transaction::filters(const cache::Response& r) const {
  return !snapshot_->reply_headers.empty() || connection_->port().config.act_as_origin || hides_surrogate_control(r);
}

// Where reply_header_* lines, act-as-origin or Surrogate-Control ask for it, the head is written field by field.
void Transaction::filtered_head(const cache::Response& r, bool from_cache, std::string& out) {
  out.assign(r.head, 0, r.head.find("\r\n") + 2);
  bool origin = connection_->port().config.act_as_origin && from_cache, hides = hides_surrogate_control(r);
  const HeaderRules& rules = snapshot_->reply_headers;
  for_each_line(field_lines(r), [&](std::string_view line) {
    std::string_view name = line.substr(0, line.find(':'));
    FieldId id = http::field_id(name);
    if (origin && (id == FieldId::date || id == FieldId::expires)) return;
    if (hides && id == FieldId::surrogate_control) return;
    const std::string* replacement = nullptr;
    if (rules.passes(id, name, facts_, &replacement)) out.append(line).append("\r\n");
    else if (replacement) out.append(name).append(": ").append(*replacement).append("\r\n");
  });
  if (origin) {
    char date[http::kDateLength];
    base::WallSeconds now = worker_->loop.wall_seconds();
    http::format_date(now, date);
    out.append("Date: ").append(date, sizeof date).append("\r\n");
    int64_t left = r.current_lifetimes().freshness - http::current_age(r.lifetimes, now);
    http::format_date(now + std::max<int64_t>(left, 0), date);
    out.append("Expires: ").append(date, sizeof date).append("\r\n");
  }
  rules.append_additions(facts_, out, [this](log::Record& record) { describe_for_fields(record); });
}

std::string_view Transaction::reply_lines(const cache::Response& r, bool from_cache, std::string& filtered) {
  if (!filters(r)) return field_lines(r);
  filtered_head(r, from_cache, filtered);
  return std::string_view(filtered).substr(filtered.find("\r\n") + 2);
}

void Transaction::answer(const cache::ResponseRef& response, bool from_cache, int64_t age) {
  const cache::Response& r = *response;
  facts_.status = r.status;
  if (snapshot_->judges_replies && !reply_passes(r)) return;
  response_ = response;
  if (from_cache && (r.status == 200 || r.status == 206) && answer_condition(r, age)) return;
  if (head.has(FieldId::range) && r.status == 200 && (from_cache || whole_for_range_) && head.method() == Method::get &&
      answer_range(response, from_cache, age))
    return;

  Reply reply;
  std::string& tail = worker_->text;
  tail.clear();
  status_ = r.status;
  content_type_ = r.content_type;
  append_common(tail, &r, from_cache, age);
  bool has_body = head.method() != Method::head && !no_body_status(r.status);
  if (has_body && r.content_length == store::kUnknownLength) {
    store::Body& body = *r.body;
    if (body.state() == store::Body::State::complete && body.trailers().empty()) {
      tail.append("Content-Length: ");
      append_number(tail, body.length());
      tail.append("\r\n");
      reply.to = body.length();
    } else if (head.minor_version() >= 1) {
      tail.append("Transfer-Encoding: chunked\r\n");
      reply.chunked = true;
    } else {
      close_ = true;   // HTTP/1.0: the end of the connection ends the body
    }
  } else {
    reply.to = r.content_length;
  }
  append_connection(tail);
  std::string filtered;
  reply.head = r.head;
  if (filters(r)) {
    filtered_head(r, from_cache, filtered);
    reply.head = filtered;
  }
  reply.tail = tail;
  if (has_body) reply.response = response;
  reply.limit = reply_limit_;
  send(std::move(reply));
}

bool Transaction::answer_condition(const cache::Response& r, int64_t age) {
  if (!head.has(FieldId::if_none_match) && !head.has(FieldId::if_modified_since)) return false;
  http::StoredValidators validators{r.etag, r.last_modified, r.status, r.lifetimes.date};
  if (http::evaluate(head, bytes_, validators, worker_->loop.wall_seconds()) == http::ConditionVerdict::proceed) return false;
  if (tag_ == ResultTag::mem_hit || tag_ == ResultTag::hit) tag_ = head.has(FieldId::if_none_match) ? ResultTag::inm_hit : ResultTag::ims_hit;
  status_ = 304;
  std::string text = "HTTP/1.1 304 Not Modified\r\n", filtered;
  for_each_line(reply_lines(r, true, filtered), [&](std::string_view line) {
    if (goes_with_304(http::field_id(line.substr(0, line.find(':'))))) text.append(line).append("\r\n");
  });
  std::string& tail = worker_->text;
  tail.clear();
  append_common(tail, &r, true, age);
  append_connection(tail);
  // What a 304 of ours stands for has a type; the log tells it, as Squid's does (but not for one that a server confirmed).
  content_type_ = tag_ == ResultTag::refresh_unmodified ? std::string_view() : std::string_view(r.content_type);
  Reply reply;
  reply.head = text;
  reply.tail = tail;
  send(std::move(reply));
  return true;
}

// Parts of a response whose length is known, complete or still arriving.
bool Transaction::answer_range(const cache::ResponseRef& response, bool from_cache, int64_t age) {
  const cache::Response& r = *response;
  uint64_t size = r.content_length;
  if (size == store::kUnknownLength && r.body->state() == store::Body::State::complete) size = r.body->length();
  if (size == store::kUnknownLength) return false;
  http::StoredValidators validators{r.etag, r.last_modified, r.status, r.lifetimes.date};
  if (!http::if_range_holds(head, bytes_, validators, worker_->loop.wall_seconds())) return false;
  http::Ranges ranges = http::parse_ranges(head.value(FieldId::range, bytes_), size);
  if (ranges.verdict == http::RangeVerdict::ignore) return false;

  bool satisfiable = ranges.verdict == http::RangeVerdict::satisfiable;
  bool several = satisfiable && ranges.list.size() > 1;
  status_ = satisfiable ? 206 : 416;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status_, reason_phrase(status_)), filtered;
  for_each_line(reply_lines(r, from_cache, filtered), [&](std::string_view line) {
    FieldId id = http::field_id(line.substr(0, line.find(':')));
    if (id == FieldId::content_length || (id == FieldId::content_type && (several || !satisfiable))) return;
    text.append(line).append("\r\n");
  });
  std::string& tail = worker_->text;
  tail.clear();
  append_common(tail, &r, from_cache, age);
  Reply reply;
  // Parts are fed one behind the other.
  auto place = [&, next = uint64_t(0)](http::ByteRange range) mutable {
    return range_body_ ? std::exchange(next, next + (range.last - range.first + 1)) : range.first;
  };
  const cache::ResponseRef& source = range_body_ ? range_body_ : response;
  std::string boundary;
  content_type_ = satisfiable ? r.content_type : std::string_view();
  if (!satisfiable) {
    tail.append(fmt::format("Content-Range: bytes */{}\r\nContent-Length: 0\r\n", size));
  } else if (!several) {
    auto [first, last] = ranges.list[0];
    tail.append(fmt::format("Content-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n", first, last, size, last - first + 1));
    reply.response = source;
    reply.from = place({first, last});
    reply.to = reply.from + (last - first + 1);
  } else {
    boundary = fmt::format("loligo-{:016x}{:016x}", r.key.low ^ uint64_t(worker_->loop.now_us()), r.key.high);
    uint64_t length = 0;
    for (size_t i = 0; i < ranges.list.size(); ++i) {
      auto range = ranges.list[i];
      const uint64_t from = place(range), bytes = range.last - range.first + 1;
      reply.parts.push_back({http::part_head(boundary, r.content_type, range, size, i == 0), from, from + bytes});
      length += reply.parts.back().text.size() + bytes;
    }
    reply.parts.push_back({http::parts_end(boundary), 0, 0});
    length += reply.parts.back().text.size();
    own_content_type_ = "multipart/byteranges; boundary=" + boundary;
    content_type_ = own_content_type_;
    tail.append(fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", own_content_type_, length));
    reply.response = source;
    reply.to = 0;   // everything is in the parts
  }
  append_connection(tail);
  reply.head = text;
  reply.tail = tail;
  send(std::move(reply));
  return true;
}

// ---- answers of our own ------------------------------------------------------

// reply_header_* hold for our own pages too, as Squid's do. What frames the message stands behind and stays.
std::string Transaction::filtered_own(const std::string& text) {
  size_t first = text.find("\r\n") + 2;
  std::string out = text.substr(0, first);
  facts_.status = status_;
  const http::Head* before = std::exchange(facts_.reply, nullptr);   // the reply that was denied is not this one
  pass_lines(std::string_view(text).substr(first), out);
  facts_.reply = before;
  return out;
}

void Transaction::pass_lines(std::string_view lines, std::string& out) {
  const HeaderRules& rules = snapshot_->reply_headers;
  for_each_line(lines, [&](std::string_view line) {
    std::string_view name = line.substr(0, line.find(':'));
    const std::string* replacement = nullptr;
    if (rules.passes(http::field_id(name), name, facts_, &replacement)) out.append(line).append("\r\n");
    else if (replacement) out.append(name).append(": ").append(*replacement).append("\r\n");
  });
  rules.append_additions(facts_, out, [this](log::Record& record) { describe_for_fields(record); });
}

void Transaction::simple_answer(int status, std::string_view reason, std::string_view fields, std::string_view body, std::string_view content_type,
                                base::Ref<store::Body> growing) {
  status_ = status;
  char date[http::kDateLength];
  http::format_date(worker_->loop.wall_seconds(), date);
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason);
  text.append(snapshot_->settings.httpd_suppress_version_string ? kServerFieldBare : kServerField);
  text.append("Mime-Version: 1.0\r\nDate: ").append(date, sizeof date).append("\r\n").append(fields);
  if (!content_type.empty()) text.append("Content-Type: ").append(content_type).append("\r\n");
  own_content_type_ = content_type;
  if (content_type.empty())
    for_each_line(fields, [&](std::string_view line) {
      if (base::istarts_with(line, "Content-Type:")) own_content_type_ = base::trim_ows(line.substr(13));
    });
  content_type_ = own_content_type_;
  if (!snapshot_->reply_headers.empty()) {
    know_facts();   // a page for a request that was refused before any rule was asked
    text = filtered_own(text);
  }
  std::string& tail = worker_->text;
  tail.clear();
  Reply reply;
  if (!growing) {
    tail.append("Content-Length: ");
    append_number(tail, body.size());
    tail.append("\r\n");
  } else if (head.minor_version() >= 1) {
    tail.append("Transfer-Encoding: chunked\r\n");
    reply.chunked = true;
  } else {
    close_ = true;   // its end is the connection's
  }
  tail.append(connection_->port().outcome_fields(false, found_));
  append_connection(tail);
  reply.head = text;
  reply.tail = tail;
  bool has_body = head.method() != Method::head || malformed_;
  if (has_body) reply.text = body;
  if (has_body && growing) reply.response = base::make_ref<cache::Response>(store::Key(), std::move(growing));
  send(std::move(reply));
}

ErrorFacts Transaction::error_facts(int status, std::string_view detail, int error_number) const {
  ErrorFacts f;
  f.status = status;
  f.error_number = error_number;
  f.method = malformed_ ? std::string_view(method_text_) : head.method_text().in(bytes_);
  f.url = malformed_ ? std::string_view(malformed_url_) : std::string_view(target_.url);
  f.scheme = target_.scheme;
  f.host = target_.host;
  f.port = target_.port;
  f.path = target_.path_query;
  f.request_head = malformed_ ? std::string_view(malformed_bytes_) : std::string_view(bytes_, head.size());
  f.detail = detail;
  f.dns_message = detail;
  f.tls_error = detail;
  f.rule = verdict_.rule;
  f.now = worker_->loop.wall_seconds();
  return f;
}

void Transaction::error(ErrorId id, int status, std::string_view detail, int error_number) {
  error_ = id;
  error_detail_ = detail;
  worker_->loop.counters().client_errors.add();
  std::string client = connection_->client().host(), server = fetch_facts_.server.valid() ? fetch_facts_.server.host() : fetch_facts_.peer_host;
  std::string listening = connection_->local().host();
  ErrorFacts facts = error_facts(status, error_detail_, error_number);
  facts.client_address = client;
  facts.server_address = server;
  facts.listening_address = listening;
  facts.listening_port = connection_->local().port();
  std::string_view language = malformed_ ? std::string_view() : head.value(FieldId::accept_language, bytes_);
  ErrorReply page = snapshot_->error_pages->render(id, facts, language);
  if (!snapshot_->settings.persistent_connection_after_error) close_ = true;
  simple_answer(page.status, reason_phrase(page.status), extra_fields_ + page.field_lines(), page.body);
}

// ---- ends --------------------------------------------------------------------

void Transaction::send(Reply&& reply) {
  head_size_ = reply.head.size() + reply.tail.size();
  reply.close = close_;
  step_ = Step::replying;
  if (connection_->reply(std::move(reply))) finish();
}

void Transaction::reply_ended(ReplyEnd end) {
  if (done()) return;
  aborted_ = end == ReplyEnd::client_gone || end == ReplyEnd::cut_off || end == ReplyEnd::body_failed;
  timed_out_ = end == ReplyEnd::timed_out;
  if (end == ReplyEnd::client_gone) worker_->loop.counters().aborted_requests.add();
  finish();
}

void Transaction::client_left(bool timed_out) {
  if (done() || step_ == Step::idle) return;
  aborted_ = true;
  timed_out_ = timed_out;
  worker_->loop.counters().aborted_requests.add();
  finish();
}

void Transaction::body_too_large() {
  if (fetch_) std::exchange(fetch_, nullptr)->abandon(false);
  if (step_ == Step::replying || done()) return;
  close_ = true;
  error(ErrorId::too_big, 413);
}

void Transaction::body_malformed() {
  if (fetch_) std::exchange(fetch_, nullptr)->abandon(false);
  if (step_ == Step::replying || done()) return;
  close_ = true;
  error(ErrorId::invalid_req, 400, "malformed chunked body");
}

void Transaction::finish() {
  if (done()) return;
  step_ = Step::done;
  log_it();
  drop_feed();
  if (fetch_) std::exchange(fetch_, nullptr)->abandon();
}

uint64_t Transaction::reply_offset() const { return connection_ ? connection_->bytes_sent() : 0; }

}  // namespace loligo::client
