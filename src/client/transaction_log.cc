// The end of a transaction: counters and the access log.
#include <utility>

#include "client/transaction.h"

namespace loligo::client {

using log::ResultTag;

void Transaction::log_it() {
  base::Counters& counters = worker_->loop.counters();
  uint64_t sent = tunnel_down_ ? tunnel_down_ : connection_->bytes_sent();
  bool hit = log::is_hit(tag_);
  int64_t elapsed = worker_->loop.now_us() - started_steady_us_;
  counters.client_bytes_out.add(sent);
  if (!malformed_ || status_) {
    auto& times = counters.service_time;
    times.all.record(uint64_t(elapsed));
    if (status_ == 304) times.not_modified.record(uint64_t(elapsed));
    if (tag_ == ResultTag::refresh_unmodified) times.near_hits.record(uint64_t(elapsed));
    else if (hit) times.hits.record(uint64_t(elapsed));
    else if (tag_ == ResultTag::miss || tag_ == ResultTag::refresh_modified) times.misses.record(uint64_t(elapsed));
  }
  if (hit) {
    counters.client_hits.add();
    counters.client_hit_bytes_out.add(sent);
  }
  if (ClientRow* row = connection_->row(); row && (!malformed_ || status_)) {
    row->requests.add();
    row->by_tag[unsigned(tag_)].add();
    row->bytes_out.add(sent);
    if (hit) row->hit_bytes_out.add(sent);
  }
  if (!worker_->log.logs_anything()) return;

  log::Record r;
  r.start_us = started_us_;
  r.end_us = worker_->loop.wall_us();
  r.elapsed_us = elapsed;
  r.dns_us = fetch_facts_.dns_us;
  r.peer_us = fetch_facts_.peer_us;
  r.total_server_us = fetch_facts_.total_us;
  r.client = connection_->client();
  r.local = connection_->local();
  r.listening_port_name = connection_->port().name;
  if (!malformed_) {
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
  } else {
    r.method = method_text_.empty() ? std::string_view("-") : std::string_view(method_text_);
    r.url = malformed_url_;
  }
  r.status = aborted_ && sent == 0 ? 0 : status_;
  r.reply_head = response_ ? std::string_view(response_->head) : std::string_view();
  r.content_type = r.status ? content_type_ : std::string_view();
  r.reply_head_size = head_size_;
  r.reply_total_size = sent;
  if (response_) r.object_size = response_->body->length();
  r.high_offset = sent > head_size_ ? sent - head_size_ : 0;
  r.tag = tag_;
  r.collapsed = collapsed_;
  r.aborted = aborted_;
  r.timed_out = timed_out_;
  r.hierarchy = code_;
  r.peer_host = fetch_facts_.peer_host;
  if (code_ != log::HierarchyCode::none) r.server = fetch_facts_.server, r.server_local = fetch_facts_.local;
  r.server_status = fetch_facts_.server_status;
  r.attempts = fetch_facts_.attempts;
  if (error_ != ErrorId::none) r.err_code = snapshot_->error_pages->name(error_);
  r.err_detail = error_detail_;
  r.sequence = worker_->next_sequence++;
  r.access_rule = verdict_.rule;
  if (response_ && !response_->stored) r.reason = http::text(response_->verdict);
  net::Stream& stream = connection_->stream();
  if (stream.is_tls()) r.sni = stream.sni(), r.tls_version = stream.tls_version(), r.tls_cipher = stream.tls_cipher();
  worker_->log.log(r, [&](size_t line) {
    if (line >= snapshot_->log_conditions.size()) return true;
    // A request that was refused early has no facts yet, but those of the one before it.
    if (!std::exchange(facts_filled_, true)) {
      if (malformed_) {
        facts_ = {};
        facts_.client = connection_->client();
        facts_.local = connection_->local();
        facts_.port_name = connection_->port().name;
        facts_.now = worker_->loop.wall_seconds();
      } else {
        fill_facts();
      }
    }
    facts_.status = status_;
    return snapshot_->log_conditions[line].check_fast(facts_, true).allowed;
  });
  counters.log_lines.add();
}

}  // namespace loligo::client
