#include "server/connector.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/event_log.h"
#include "net/tls.h"

namespace loligo::server {

// One connection attempt: TCP, then TLS.
struct Connector::Attempt final : net::Watcher {
  Attempt(Connector& owner, net::Address address, ServerConnectionPtr c) : owner(owner), address(address), connection(std::move(c)) {
    connection->user = this;
  }
  void on_event(uint32_t events) override {
    if (connected) return secure();
    if (events & EPOLLIN) connection->input_waiting = true;
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) return;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(connection->stream->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) return owner.attempt_failed(*this, error);
    connected = true;
    if (owner.target_.peer) owner.target_.peer->connect_took((Clock::now() - began) / std::chrono::microseconds(1));
    owner.attempt_connected(*this);
  }
  void secure() {
    net::IoResult r = connection->stream->handshake();
    if (r.status == net::IoStatus::again) return;
    if (r.status != net::IoStatus::ok) {
      owner.last_tls_error_ = connection->stream->failure();
      return owner.attempt_failed(*this, EPROTO);
    }
    connection->input_waiting = true;   // decrypted bytes raise no event
    owner.attempt_secured(*this);
  }

  Connector& owner;
  net::Address address;
  ServerConnectionPtr connection;
  bool connected = false;
  SpareAttempts::Place place;   // while it runs beside another
  using Clock = std::chrono::steady_clock;   // the loop's own stands still during a turn
  const Clock::time_point began = Clock::now();
};

Connector::Connector(net::Loop& loop, net::Resolver& resolver) : loop_(loop), resolver_(resolver) {
  deadline_.call = [this] { fail(ConnectError::timeout, ETIMEDOUT, {}); };
  stagger_.call = [this] { start_next(); };
}

Connector::~Connector() { *alive_ = false; }

void Connector::start(ConnectTarget target, std::function<void(ConnectResult)> done) {
  target_ = std::move(target);
  done_ = std::move(done);
  started_us_ = loop_.wall_us();
  loop_.arm(deadline_, target_.timeout);
  const net::Answer* known = resolver_.resolve(target_.host, lookup_, [this](const net::Answer& answer) {
    dns_us_ = loop_.wall_us() - started_us_;
    addresses_known(*answer);
  });
  if (known) addresses_known(**known);
}

void Connector::addresses_known(const net::Addresses& answer) {
  if (answer.list.empty()) return fail(ConnectError::dns, 0, std::string(net::text_of(answer.error)));
  for (int round = 0; round < std::max(target_.attempts_per_address, 1); ++round)
    addresses_.insert(addresses_.end(), answer.list.begin(), answer.list.end());
  start_next();
}

int64_t SpareAttempts::take(int64_t now_ms, Place& place) {
  constexpr int64_t kLookAgain = 50;   // nobody tells when a place becomes free
  if (limit_ >= 0 && open_.load(std::memory_order_relaxed) >= limit_) return kLookAgain;
  if (gap_ms_ > 0) {
    int64_t last = last_ms_.load(std::memory_order_relaxed);
    if (now_ms - last < gap_ms_) return last + gap_ms_ - now_ms;
    if (!last_ms_.compare_exchange_strong(last, now_ms, std::memory_order_relaxed)) return std::max<int64_t>(last + gap_ms_ - now_ms, 1);
  }
  if (open_.fetch_add(1, std::memory_order_relaxed) >= limit_ && limit_ >= 0) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return kLookAgain;
  }
  place.reset(this);
  return 0;
}

void Connector::start_next() {
  SpareAttempts::Place place;
  if (!running_.empty() && more_to_try() && target_.spares) {
    if (int64_t wait = target_.spares->take(loop_.now_ms(), place); wait > 0) return loop_.arm(stagger_, base::Milliseconds(wait));
  }
  while (more_to_try()) {
    net::Address address = addresses_[next_++];
    address.set_port(target_.port);
    if (start_attempt(address, place)) {
      if (more_to_try()) loop_.arm(stagger_, target_.stagger);
      return;
    }
    if (last_error_ != EMFILE && last_error_ != ENFILE) continue;
    if (running_.empty()) fail(ConnectError::no_sockets, last_error_, {});   // else those under way may still do
    return;
  }
  if (running_.empty()) fail(last_tls_error_.empty() ? ConnectError::refused : ConnectError::tls, last_error_, last_tls_error_);
}

int Connector::open_socket(const net::Address& address) {
  int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  loop_.counters().sock_sockets.add();
  if (fd < 0) return fd;
  int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (target_.receive_buffer > 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &target_.receive_buffer, sizeof target_.receive_buffer);
  return fd;
}

// False with last_error_ when it failed at once.
bool Connector::start_attempt(const net::Address& address, SpareAttempts::Place& place) {
  last_address_ = address;
  ++attempts_;
  int fd = open_socket(address);
  if (fd < 0) {
    last_error_ = errno;
    return false;
  }
  std::unique_ptr<net::Stream> stream;
  if (target_.tls) stream = net::TlsStream::connect(fd, target_.tls, target_.tls_name, target_.port);
  else stream = std::make_unique<net::PlainStream>(fd);
  auto connection = std::make_unique<ServerConnection>(loop_, std::move(stream), target_.peer);
  // From another address than the one that was asked for, the server might let in what it should not.
  if (const net::Address& local = target_.local.of(address.family()); local.valid() && ::bind(fd, local.data(), local.size()) != 0) {
    last_error_ = errno;
    base::log_event(base::Section::forwarding, 1, "tcp_outgoing_address {}: {}", local.host(), std::strerror(last_error_));
    return false;
  }
  loop_.counters().sock_connects.add();
  if (::connect(fd, address.data(), address.size()) != 0 && errno != EINPROGRESS) {
    last_error_ = errno;
    resolver_.mark_bad(target_.host, addresses_[next_ - 1]);
    return false;
  }
  if (!loop_.add(fd, connection.get())) {
    last_error_ = errno;
    return false;
  }
  running_.push_back(std::make_unique<Attempt>(*this, address, std::move(connection)));
  running_.back()->place = std::move(place);
  return true;
}

void Connector::attempt_failed(Attempt& attempt, int error) {
  last_error_ = error;
  last_address_ = attempt.address;
  net::Address host = attempt.address;
  host.set_port(0);
  resolver_.mark_bad(target_.host, host);
  attempt.place.reset();
  auto it = std::find_if(running_.begin(), running_.end(), [&](auto& a) { return a.get() == &attempt; });
  attempt.connection->user = nullptr;
  loop_.delete_later(std::move((*it)->connection));
  loop_.delete_later(std::move(*it));
  running_.erase(it);
  if (!running_.empty()) running_.front()->place.reset();   // it is the first one now
  stagger_.cancel();
  start_next();
}

void Connector::attempt_connected(Attempt& attempt) {
  if (attempt.connection->stream->is_tls()) return attempt.secure();
  attempt_secured(attempt);
}

void Connector::attempt_secured(Attempt& attempt) {
  net::Address host = attempt.address;
  host.set_port(0);
  resolver_.mark_good(target_.host, host);
  ConnectResult result;
  result.connection = std::move(attempt.connection);
  ServerConnection& c = *result.connection;
  c.user = nullptr;
  c.address = attempt.address;
  c.opened_ms = loop_.now_ms();
  socklen_t size = sizeof(sockaddr_in6);
  sockaddr_storage local{};
  if (::getsockname(c.stream->fd(), reinterpret_cast<sockaddr*>(&local), &size) == 0)
    c.local = net::Address::from(reinterpret_cast<sockaddr*>(&local), size);
  loop_.counters().server_connections.add();
  finish(std::move(result));
}

void Connector::fail(ConnectError error, int system_error, std::string detail) {
  ConnectResult result;
  result.error = error;
  result.system_error = system_error;
  result.detail = std::move(detail);
  finish_later(std::move(result));
}

// A caller that is still inside start() must not be called back.
void Connector::finish_later(ConnectResult result) {
  deadline_.cancel();
  stagger_.cancel();
  lookup_.cancel();
  auto shared = std::make_shared<ConnectResult>(std::move(result));
  loop_.defer([this, shared, alive = alive_] { if (*alive) finish(std::move(*shared)); });
}

void Connector::finish(ConnectResult result) {
  deadline_.cancel();
  stagger_.cancel();
  lookup_.cancel();
  result.dns_us = dns_us_;
  result.attempts = attempts_;
  result.last_address = last_address_;
  if (target_.peer) {
    if (result.connection) {
      if (target_.peer->connected()) base::log_event(base::Section::neighbors, 1, "Detected REVIVED Parent: {}", target_.peer->identity);
    } else if (result.error != ConnectError::no_sockets && target_.peer->connect_failed(target_.peer_fail_limit)) {
      base::log_event(base::Section::neighbors, 1, "Detected DEAD Parent: {}", target_.peer->identity);
    }
  }
  for (auto& a : running_) {
    a->place.reset();   // deleted only when the turn is over, and the configuration may be gone by then
    if (a->connection) {
      a->connection->user = nullptr;
      loop_.delete_later(std::move(a->connection));
    }
    loop_.delete_later(std::move(a));
  }
  running_.clear();
  auto done = std::move(done_);
  if (done) done(std::move(result));   // may destroy this
}

}  // namespace loligo::server
