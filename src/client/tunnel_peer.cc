#include "client/tunnel_peer.h"

#include <utility>

#include "http/head.h"

namespace loligo::client {

namespace {
constexpr size_t kMaxHead = 64 * 1024;
constexpr unsigned kMaxInterim = 64;   // 1xx heads before the answer
}

TunnelPeer::TunnelPeer(net::Loop& loop, server::ServerConnectionPtr connection) : loop_(loop), connection_(std::move(connection)) {
  timer_.call = [this] { finish({504}); };
}

TunnelPeer::~TunnelPeer() {
  *alive_ = false;
  if (connection_) connection_->user = nullptr;
}

void TunnelPeer::ask(std::string request, base::Milliseconds timeout, std::function<void(Answer)> done) {
  request_ = std::move(request);
  done_ = std::move(done);
  connection_->user = this;
  loop_.arm(timer_, timeout);
  loop_.defer([this, alive = alive_] { if (*alive) write(); });
}

void TunnelPeer::on_event(uint32_t) {
  if (sent_ < request_.size()) write();
  if (connection_) read();
}

void TunnelPeer::write() {
  while (sent_ < request_.size()) {
    iovec part{request_.data() + sent_, request_.size() - sent_};
    net::IoResult r = connection_->stream->write(&part, 1);
    if (r.status == net::IoStatus::again) return;
    if (r.status != net::IoStatus::ok) return finish({});
    sent_ += r.bytes;
  }
}

void TunnelPeer::read() {
  char buffer[4096];
  while (connection_) {
    net::IoResult r = connection_->stream->read(buffer, sizeof buffer);
    if (r.status == net::IoStatus::again) return;
    if (r.status != net::IoStatus::ok) return finish({});
    input_.append(buffer, r.bytes);
    if (parse()) return;
  }
}

// Uses the heads that have come. True when the answer, or none, is there.
bool TunnelPeer::parse() {
  for (;;) {
    http::Head head;
    switch (head.parse_response(input_.data(), input_.size(), {kMaxHead, http::kMaxFields})) {
      case http::ParseState::incomplete: return false;
      case http::ParseState::failed: return finish({}), true;
      case http::ParseState::complete: break;
    }
    if (head.status() >= 100 && head.status() < 200) {
      if (++interim_heads_ > kMaxInterim) return finish({}), true;
      input_.erase(0, head.size());
      continue;
    }
    Answer answer;
    answer.status = head.status();
    if (head.status() >= 200 && head.status() < 300) {
      answer.early = input_.substr(head.size());
      connection_->user = nullptr;
      answer.connection = std::move(connection_);
    }
    return finish(std::move(answer)), true;
  }
}

void TunnelPeer::finish(Answer answer) {
  timer_.cancel();
  if (connection_) {
    connection_->user = nullptr;
    loop_.delete_later(std::move(connection_));
  }
  auto done = std::exchange(done_, nullptr);
  if (done) done(std::move(answer));
}

}  // namespace loligo::client
