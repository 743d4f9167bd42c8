// The end of a transaction: counters and the access log.
#include <iterator>
#include <utility>

#include "client/transaction.h"

namespace loligo::client {

using log::ResultTag;

// What the server side did; also of a fetch that goes on, or is given up, without us.
void Transaction::fetch_ended(const server::FetchFacts& facts) {
  fetch_ = nullptr;
  fetch_facts_.body_bytes = facts.body_bytes;
  fetch_facts_.total_us = facts.total_us;
  fetch_facts_.not_stored = facts.not_stored;
}

void Transaction::count_it(uint64_t sent, int64_t elapsed_us) {
  base::Counters& counters = worker_->loop.counters();
  http::ReasonCounts& reasons = worker_->upstream.reasons;   // what is not stored counts with its fetch
  reasons.add(reason_);
  reasons.add(served_);
  bool hit = log::is_hit(tag_), answered = !malformed_ || status_;
  counters.client_bytes_out.add(sent);
  if (answered) {
    auto& times = counters.service_time;
    times.all.record(uint64_t(elapsed_us));
    if (status_ == 304) times.not_modified.record(uint64_t(elapsed_us));
    if (tag_ == ResultTag::refresh_unmodified) times.near_hits.record(uint64_t(elapsed_us));
    else if (hit) times.hits.record(uint64_t(elapsed_us));
    else if (tag_ == ResultTag::miss || tag_ == ResultTag::refresh_modified) times.misses.record(uint64_t(elapsed_us));
  }
  if (hit) {
    counters.client_hits.add();
    counters.client_hit_bytes_out.add(sent);
  }
  if (ClientRow* row = connection_->row(); row && answered) {
    row->requests.add();
    row->by_tag[unsigned(tag_)].add();
    row->bytes_out.add(sent);
    if (hit) row->hit_bytes_out.add(sent);
  }
}

http::CacheReason Transaction::not_stored() const {
  return fetch_facts_.not_stored != http::CacheReason::none || !response_ ? fetch_facts_.not_stored : response_->verdict;
}

void Transaction::record_request(log::Record& r) const {
  if (malformed_) {
    r.method = method_text_.empty() ? std::string_view("-") : std::string_view(method_text_);
    r.url = malformed_url_;
    return;
  }
  r.method = head.method_text().in(bytes_);
  r.url = target_.url;
  r.client_url = head.target().in(bytes_);
  r.scheme = target_.scheme;
  r.host = target_.host;
  r.path = target_.path_query;
  r.url_port = target_.port;
  r.request_minor = head.minor_version();
  r.request = &head;
  r.request_bytes = bytes_;
  r.request_head_size = head.size();
  r.request_total_size = head.size() + (connection_->request_body() ? connection_->request_body()->total() : 0);
}

void Transaction::record_server(log::Record& r) const {
  const server::FetchFacts& facts = fetch_facts_;
  r.dns_us = facts.dns_us;
  r.peer_us = facts.peer_us;
  r.total_server_us = facts.total_us;
  r.server_status = facts.server_status;
  r.server_body_size = facts.body_bytes;
  r.attempts = facts.attempts;
  r.hierarchy = code_;
  if (code_ == log::HierarchyCode::none) return;   // nobody was reached
  r.peer_host = facts.peer_host;
  r.server = facts.server;
  r.server_local = facts.local;
}

void Transaction::log_it() {
  uint64_t sent = tunnel_down_ ? tunnel_down_ : connection_->bytes_sent();
  int64_t elapsed = worker_->loop.now_us() - started_steady_us_;
  count_it(sent, elapsed);
  if (!worker_->log.logs_anything()) return;

  if (fetch_) {   // the client did not wait for its end
    server::FetchFacts facts = fetch_->facts();
    if (!response_) code_ = facts.server.valid() ? facts.code : log::HierarchyCode::none;
    fetch_facts_ = std::move(facts);
  }
  if (feed_) note_fetch(feed_->facts());
  log::Record r;
  r.start_us = started_us_;
  r.end_us = worker_->loop.wall_us();
  r.elapsed_us = elapsed;
  r.client = logged_client();
  r.local = connection_->local();
  r.listening_port_name = connection_->port().name;
  record_request(r);
  record_server(r);
  r.status = aborted_ && sent == 0 ? 0 : status_;
  r.reply_head = response_ ? std::string_view(response_->head) : std::string_view();
  r.content_type = r.status ? content_type_ : std::string_view();
  r.reply_head_size = head_size_;
  r.reply_total_size = sent;
  if (response_) r.object_size = response_->partly ? response_->content_length : response_->body->length();
  r.high_offset = sent > head_size_ ? sent - head_size_ : 0;
  r.tag = tag_;
  r.collapsed = collapsed_;
  r.aborted = aborted_;
  r.timed_out = timed_out_;
  if (error_ != ErrorId::none) r.err_code = snapshot_->error_pages->name(error_);
  r.err_detail = error_detail_;
  r.sequence = worker_->next_sequence++;
  r.access_rule = verdict_.rule;
  const http::CacheReason reasons[] = {reason_, served_, not_stored()};
  for (size_t i = 0; i < std::size(reasons); ++i)
    if (reasons[i] != http::CacheReason::none) r.reasons[i] = http::text(reasons[i]);
  net::Stream& stream = connection_->stream();
  if (stream.is_tls()) r.sni = stream.sni(), r.tls_version = stream.tls_version(), r.tls_cipher = stream.tls_cipher();
  worker_->log.log(r, [&](size_t line) {
    if (line >= snapshot_->log_conditions.size()) return true;
    know_facts();
    facts_.status = status_;
    return snapshot_->log_conditions[line].check_fast(facts_, true).allowed;
  });
}

}  // namespace loligo::client
