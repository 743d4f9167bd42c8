// The request as it is sent to a server.
#include <fmt/format.h>

#include "base/text.h"
#include "http/chunked.h"
#include "server/base64.h"
#include "server/fetch.h"

namespace loligo::server {

namespace {

void line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// cache_peer login=: whose credentials a peer sees (squid.conf tradition).
//   none       an accelerated origin sees none; anybody else sees Authorization as it came
//   user:pass  always these
//   PASS       what the client sent, the proxy's credentials turned into the origin's
//   PASSTHRU   both as they came
void credentials(std::string& out, const FetchRequest& r, const icp::PeerEntry* peer) {
  std::string_view login = peer ? std::string_view(peer->config.login) : std::string_view();
  bool origin = !peer || peer->config.originserver;
  std::string_view own_field = origin ? "Authorization" : "Proxy-Authorization";
  if (login == "PASSTHRU" || login == "PASS") {
    if (!r.authorization.empty()) line(out, "Authorization", r.authorization);
    else if (origin && !r.proxy_authorization.empty()) line(out, "Authorization", r.proxy_authorization);
    if (!origin && !r.proxy_authorization.empty()) line(out, "Proxy-Authorization", r.proxy_authorization);
    return;
  }
  if (!login.empty()) {
    std::string pair(login);
    if (pair.starts_with("*:")) pair = (r.user.empty() ? "-" : r.user) + pair.substr(1);
    line(out, own_field, "Basic " + base64(pair));
    if (!origin && !r.authorization.empty()) line(out, "Authorization", r.authorization);
    return;
  }
  if (!r.authorization.empty() && !(peer && peer->config.originserver)) line(out, "Authorization", r.authorization);
}

void body_framing(std::string& out, const FetchRequest& r) {
  if (!r.body) return;
  if (r.body->length != RequestBody::kUnknown) line(out, "Content-Length", fmt::to_string(r.body->length));
  else line(out, "Transfer-Encoding", "chunked");
  if (r.expect_continue) line(out, "Expect", "100-continue");
}

}  // namespace

// A peer may pass on what it gets. login=user:pass is the proxy's own and the same for all.
bool sends_credentials(const FetchRequest& r, const icp::PeerEntry* peer) {
  if (!r.authorization.empty()) return true;
  std::string_view login = peer ? std::string_view(peer->config.login) : std::string_view();
  return !r.proxy_authorization.empty() && login == "PASS" && peer->config.originserver;
}

void Fetch::compose(const icp::Destination& d) {
  const FetchRequest& r = request_;
  output_.clear();
  output_sent_ = 0;
  body_sent_ = 0;
  last_chunk_written_ = write_failed_ = write_blocked_ = drained_ = false;
  bool absolute = d.peer && !d.peer->config.originserver;
  output_.append(r.method_text).append(" ").append(absolute ? r.url : r.path_query).append(" HTTP/1.1\r\n");
  line(output_, "Host", d.peer && !d.peer->config.forceddomain.empty() ? d.peer->config.forceddomain : r.host_field);
  output_.append(r.fields);
  credentials(output_, r, d.peer);
  if (d.peer && d.peer->config.front_end_https != icp::Peer::FrontEndHttps::off &&
      (d.peer->config.front_end_https == icp::Peer::FrontEndHttps::on || r.scheme == "https"))
    line(output_, "Front-End-Https", "On");
  output_.append(r.validators);
  body_framing(output_, r);
  if (!r.upgrade.empty()) {
    line(output_, "Upgrade", r.upgrade);
    line(output_, "Connection", "Upgrade");
  } else {
    line(output_, "Connection", r.routing->settings.server_persistent_connections ? "keep-alive" : "close");
  }
  output_.append("\r\n");
}

bool Fetch::request_sent() const {
  if (output_sent_ < output_.size()) return false;
  if (!request_.body) return true;
  if (!request_.body->finished() || !request_.body->data().empty()) return false;
  return request_.body->length != RequestBody::kUnknown || last_chunk_written_;
}

// Sends what there is: head, then body as it comes, chunked where its length is unknown.
void Fetch::flush() {
  RequestBody* body = request_.body.get();
  for (;;) {
    if (body && body->aborted()) return abandon(false);
    if (write_failed_) return;
    if (output_sent_ == output_.size()) {
      output_.clear();
      output_sent_ = 0;
      if (!body || last_chunk_written_) return;
      bool chunked = body->length == RequestBody::kUnknown;
      std::string_view data = body->data();
      if (chunked && !data.empty()) {
        char size[24];
        output_.append(size, http::write_chunk_size(data.size(), size)).append(data).append("\r\n");
      } else if (!data.empty()) {
        output_.append(data);
      } else if (body->finished()) {
        last_chunk_written_ = true;
        if (chunked) output_.append("0\r\n").append(body->trailers()).append("\r\n");
      }
      if (!data.empty()) body->consume(data.size());
      if (output_.empty()) return;
    }
    iovec part{output_.data() + output_sent_, output_.size() - output_sent_};
    loop_.counters().sock_writes.add();
    net::IoResult r = connection_->stream->write(&part, 1);
    if (r.status == net::IoStatus::again) {
      if (!std::exchange(write_blocked_, true) && state_ == State::exchanging) loop_.arm(timer_, request_.routing->write_timeout);
      return;
    }
    write_blocked_ = false;
    if (r.status != net::IoStatus::ok) {
      if (reused_ && !reply_begun_) return connection_lost(FetchError::write, r.error);
      // A server may answer (413, say) and stop reading: what it said counts more than our broken write.
      write_failed_ = true;
      return read_some();
    }
    output_sent_ += r.bytes;
    body_sent_ += r.bytes;
    loop_.counters().server_bytes_out.add(r.bytes);
    if (state_ == State::exchanging) loop_.arm(timer_, request_.routing->settings.read_timeout);
  }
}

}  // namespace loligo::server
