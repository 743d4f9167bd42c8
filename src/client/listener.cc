#include "client/listener.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/event_log.h"
#include "client/connection.h"
#include "net/tls.h"

namespace loligo::client {

namespace {
constexpr int kAcceptsPerTurn = 256;
constexpr int kBacklog = 8192;   // the kernel cuts it to net.core.somaxconn
constexpr base::Milliseconds kPauseWithoutDescriptors{100};
}  // namespace

std::string listen_address(const Port& port, net::Address& address, bool& dual_stack) {
  dual_stack = false;
  if (port.host.empty()) {
    dual_stack = !port.ipv4_only;
    address = net::Address::any(port.ipv4_only ? AF_INET : AF_INET6, port.port);
    return {};
  }
  auto parsed = net::Address::parse(port.host, port.port);
  if (!parsed) return fmt::format("{}: not an address to listen on", port.host);
  address = *parsed;
  return {};
}

Listener::Listener(Worker& worker, std::shared_ptr<const PortContext> port) : worker_(worker), port_(std::move(port)) {
  resume_.call = [this] { on_event(EPOLLIN); };
}

Listener::~Listener() { stop(); }

std::string Listener::open() {
  bool dual = false;
  if (std::string error = listen_address(port_->config, address_, dual); !error.empty()) return error;
  auto failed = [&](const char* what) { return fmt::format("cannot {} {}: {}", what, address_.text(), std::strerror(errno)); };
  fd_ = ::socket(address_.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0 && dual) {   // a kernel without IPv6
    address_ = net::Address::any(AF_INET, port_->config.port);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  }
  if (fd_ < 0) return failed("make a socket for");
  int one = 1, zero = 0;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  if (address_.v6()) ::setsockopt(fd_, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &zero : &one, sizeof one);
  // Accepted sockets inherit these: no system call for each.
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  size_buffer();
  const Port::Keepalive& keepalive = port_->config.keepalive;
  if (keepalive.on) {
    ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    if (keepalive.idle) ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive.idle, sizeof keepalive.idle);
    if (keepalive.interval) ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &keepalive.interval, sizeof keepalive.interval);
    if (keepalive.idle && keepalive.interval && keepalive.timeout) {
      int probes = std::max(1, (keepalive.timeout - keepalive.idle) / keepalive.interval);
      ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    }
  }
  if (::bind(fd_, address_.data(), address_.size()) != 0) return failed("listen on");
  if (::listen(fd_, kBacklog) != 0) return failed("listen on");
  return {};
}

// Accepted sockets inherit it; the window that it allows is agreed on before accept().
void Listener::size_buffer() {
  if (int size = port_->receive_buffer; size > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

void Listener::adopt(std::shared_ptr<const PortContext> port) {
  port_ = std::move(port);
  size_buffer();
}

void Listener::start() {
  if (std::exchange(started_, true)) return;
  worker_.loop.add(fd_, this, EPOLLIN | EPOLLET);
}

void Listener::stop() {
  resume_.cancel();
  if (fd_ < 0) return;
  if (started_) worker_.loop.remove(fd_, this);
  ::close(fd_);
  fd_ = -1;
}

void Listener::on_event(uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int fd = ::accept4(fd_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    worker_.loop.counters().sock_accepts.add();
    if (fd < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return pause();
      continue;   // the client has gone again
    }
    net::Address client = net::Address::from(reinterpret_cast<sockaddr*>(&peer), size).unmapped();
    net::Address local = address_;
    if (local.is_any()) {
      sockaddr_storage name;
      socklen_t name_size = sizeof name;
      if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &name_size) == 0)
        local = net::Address::from(reinterpret_cast<sockaddr*>(&name), name_size).unmapped();
    }
    std::unique_ptr<net::Stream> stream;
    if (port_->tls) stream = net::TlsStream::accept(fd, port_->tls);
    else stream = std::make_unique<net::PlainStream>(fd);
    Connection::accept(worker_, std::move(stream), client, local, port_);
    if (fd_ < 0) return;
  }
  resume_.cancel();
  worker_.loop.defer([this, alive = std::weak_ptr<bool>(alive_)] {   // a reload may drop the port in this very turn
    if (!alive.expired() && fd_ >= 0) on_event(EPOLLIN);
  });
}

// Out of descriptors: those who wait stay in the backlog for a moment.
void Listener::pause() {
  base::log_event(base::Section::comm, 1, "WARNING: no descriptors left to accept connections at {}", address_.text());
  worker_.loop.arm(resume_, kPauseWithoutDescriptors);
}

}  // namespace loligo::client
