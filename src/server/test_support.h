// For the tests of this room and those above it: a loop that runs until
// something has happened, and a scripted origin on a thread of its own.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "net/address.h"
#include "net/loop.h"

namespace loligo::server::test {

// Runs the loop until done() is true; false when that took longer than `limit_ms`.
inline bool run_until(net::Loop& loop, const std::function<bool()>& done, int limit_ms = 5000) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  bool happened = false;
  std::function<void()> look = [&] {
    happened = done();
    if (happened || std::chrono::steady_clock::now() > end) return loop.stop();
    ::usleep(200);
    loop.defer(look);
  };
  loop.defer(look);
  loop.run();
  return happened;
}
inline void run_for(net::Loop& loop, int ms) { run_until(loop, [] { return false; }, ms); }

inline void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(size_t(n));
  }
}

// Reads until `text` ends with (or holds) `end`, or nothing more comes within two seconds.
inline std::string read_to(int fd, std::string_view end) {
  timeval patience{2, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  char c;
  while (text.find(end) == text.npos && ::recv(fd, &c, 1, 0) == 1) text += c;
  return text;
}
inline std::string read_head(int fd) { return read_to(fd, "\r\n\r\n"); }

// A listening loopback socket; port 0 = any.
inline int listen_on(const char* host, uint16_t& port, int backlog = 64) {
  auto address = net::Address::parse(host, port);
  int fd = ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd, address->data(), address->size()) != 0 || ::listen(fd, backlog) != 0) {
    ::close(fd);
    return -1;
  }
  sockaddr_in name{};
  socklen_t size = sizeof name;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  port = ntohs(name.sin_port);
  return fd;
}

// Serves each connection by a script that gets the descriptor and the connection's number (from 1). The script runs on
// the connection's own thread; when it returns, the connection is closed.
class Origin {
 public:
  using Script = std::function<void(int fd, int number)>;
  explicit Origin(Script script) : script_(std::move(script)) {
    fd_ = listen_on("127.0.0.1", port_);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~Origin() {
    ::shutdown(fd_, SHUT_RDWR);
    acceptor_.join();
    {
      std::lock_guard lock(mutex_);
      for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& t : serving_) t.join();
    ::close(fd_);
  }
  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept() {
    for (int fd; (fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      int number = ++connections_;
      {
        std::lock_guard lock(mutex_);
        open_.push_back(fd);
      }
      serving_.emplace_back([this, fd, number] {
        script_(fd, number);
        std::lock_guard lock(mutex_);
        std::erase(open_, fd);
        ::close(fd);
      });
    }
  }

  Script script_;
  int fd_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> serving_;
  std::thread acceptor_;
};

}  // namespace loligo::server::test
