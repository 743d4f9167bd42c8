#include "server/relay.h"

#include <sys/epoll.h>

#include <utility>

namespace loligo::server {

namespace {
constexpr int kReadsPerTurn = 8;
}

struct Relay::ServerSide final : net::Watcher {
  explicit ServerSide(Relay& relay) : relay(relay) {}
  void on_event(uint32_t events) override { relay.event(events, relay.down_, End::server_error); }
  Relay& relay;
};

Relay::Relay(net::Loop& loop, net::Stream& client, ServerConnectionPtr server, std::vector<char>& scratch)
    : loop_(loop), server_(std::move(server)), scratch_(scratch) {
  up_ = {&client, server_->stream.get(), {}};
  down_ = {server_->stream.get(), &client, {}};
  server_side_ = std::make_unique<ServerSide>(*this);
  timer_.call = [this] { finish(End::idle_timeout); };
}

Relay::~Relay() {
  *alive_ = false;
  if (!server_) return;
  server_->user = nullptr;
  loop_.delete_later(std::move(server_));
  loop_.delete_later(std::move(server_side_));
}

void Relay::start(std::string to_server, std::string to_client, base::Milliseconds idle_timeout, std::function<void(End)> done) {
  up_.pending = std::move(to_server);
  down_.pending = std::move(to_client);
  idle_ = idle_timeout;
  done_ = std::move(done);
  server_->user = server_side_.get();
  running_ = true;
  loop_.arm(timer_, idle_);
  loop_.defer([this, alive = alive_] { if (*alive) run(); });
}

void Relay::client_event(uint32_t events) { event(events, up_, End::client_error); }

// A side that has ended its direction is not read any more: only the event tells that it is gone altogether.
void Relay::event(uint32_t events, Direction& from, End error) {
  auto alive = alive_;
  run();
  if (*alive && (events & EPOLLERR) && from.ended) finish(error);
}

void Relay::run() {
  if (!running_) return;
  if (!pump(up_, End::client_error, End::server_error)) return;
  if (!pump(down_, End::server_error, End::client_error)) return;
  if (up_.closed && down_.closed) finish(End::finished);
}

// Moves what there is in one direction. False when the relay has ended.
bool Relay::pump(Direction& d, End on_read_error, End on_write_error) {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    while (d.sent < d.pending.size()) {
      iovec part{d.pending.data() + d.sent, d.pending.size() - d.sent};
      net::IoResult r = d.to->write(&part, 1);
      if (r.status == net::IoStatus::again) return true;
      if (r.status != net::IoStatus::ok) return finish(on_write_error), false;
      d.sent += r.bytes;
      d.bytes += r.bytes;
      loop_.arm(timer_, idle_);
    }
    d.pending.clear();
    d.sent = 0;
    if (d.ended) {
      if (!std::exchange(d.closed, true)) d.to->shutdown_write();
      return true;
    }
    net::IoResult r = d.from->read(scratch_.data(), scratch_.size());
    if (r.status == net::IoStatus::again) return true;
    if (r.status == net::IoStatus::failed) return finish(on_read_error), false;
    if (r.status == net::IoStatus::closed) {
      d.ended = true;
      continue;
    }
    loop_.arm(timer_, idle_);
    // Straight on where the other side takes it; what it does not take waits.
    iovec part{scratch_.data(), r.bytes};
    net::IoResult w = d.to->write(&part, 1);
    if (w.status == net::IoStatus::failed || w.status == net::IoStatus::closed) return finish(on_write_error), false;
    size_t written = w.status == net::IoStatus::ok ? w.bytes : 0;
    d.bytes += written;
    if (written < r.bytes) d.pending.assign(scratch_.data() + written, r.bytes - written);
  }
  // Both directions share one call for the next turn: two would double with every turn.
  if (!std::exchange(again_, true))
    loop_.defer([this, alive = alive_] {
      if (!*alive) return;
      again_ = false;
      run();
    });
  return true;
}

void Relay::finish(End end) {
  if (!std::exchange(running_, false)) return;
  timer_.cancel();
  auto done = std::move(done_);
  if (done) done(end);   // may destroy this
}

}  // namespace loligo::server
