// A connection to an origin or peer: its stream and what is remembered of it
// while it passes between fetches and the pool. Owned by one of them; one worker.
//
// It is registered with the loop once, edge-triggered, and hands events to
// whoever uses it now: passing it on costs no system call.
#pragma once
#include <memory>
#include <string>

#include "icp/peers.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/stream.h"

namespace loligo::server {

struct ServerConnection final : net::Watcher {
  ServerConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream, std::shared_ptr<icp::PeerState> peer)
      : loop(loop), stream(std::move(stream)), peer(std::move(peer)) {
    if (this->peer) this->peer->open_connections.fetch_add(1, std::memory_order_relaxed);
  }
  ~ServerConnection() {
    loop.forget(this);
    loop.counters().sock_closes.add();
    if (peer) peer->open_connections.fetch_sub(1, std::memory_order_relaxed);
  }
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  void on_event(uint32_t events) override {
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) peer_closed = true;
    if (user) user->on_event(events);
  }

  net::Loop& loop;
  net::Watcher* user = nullptr;
  bool peer_closed = false;               // the server has ended its direction: not to be reused
  bool input_waiting = false;             // it may have spoken before it was asked: read without waiting for an event
  std::unique_ptr<net::Stream> stream;
  std::shared_ptr<icp::PeerState> peer;   // null = an origin reached directly
  net::Address address, local;
  std::string pool_key;                   // what it may be reused for
  int64_t opened_ms = 0;
  uint32_t requests = 0;
};
using ServerConnectionPtr = std::unique_ptr<ServerConnection>;

}  // namespace loligo::server
