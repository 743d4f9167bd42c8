#include "log/socket_sink.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "log/file_sink.h"

namespace loligo::log {
namespace {

size_t line_length(std::string_view lines) { return std::min(lines.find('\n'), lines.size() - 1) + 1; }

// Whole lines up to `most` bytes, at least one.
size_t packed_length(std::string_view lines, size_t most) {
  size_t length = line_length(lines);
  while (length < lines.size()) {
    size_t next = line_length(lines.substr(length));
    if (length + next > most) break;
    length += next;
  }
  return length;
}

uint32_t count_lines(std::string_view lines) { return uint32_t(std::count(lines.begin(), lines.end(), '\n')); }

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS; }

}  // namespace

void SocketSink::close_socket() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Taken SocketSink::failure(size_t done, std::string& why) {
  why = target_.place + ": " + std::strerror(errno);
  close_socket();
  return {done, true};
}

// Resolves a name where it must: on the writer's thread, when the collector is opened, never for a line.
bool SocketSink::connect_to_host(int type, std::string& why) {
  close_socket();
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  if (int error = getaddrinfo(target_.host.c_str(), std::to_string(target_.port).c_str(), &hints, &found); error != 0) {
    why = target_.place + ": " + gai_strerror(error);
    return false;
  }
  int last_error = EADDRNOTAVAIL;
  for (addrinfo* a = found; a && fd_ < 0; a = a->ai_next) {
    fd_ = ::socket(a->ai_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd_ >= 0 && ::connect(fd_, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
      last_error = errno;
      close_socket();
    }
  }
  freeaddrinfo(found);
  if (fd_ < 0) why = target_.place + ": " + std::strerror(last_error);
  return fd_ >= 0;
}

bool SyslogSink::open(std::string& why) {
  close_socket();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  target_.path.copy(address.sun_path, sizeof address.sun_path - 1);
  fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ >= 0 && ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return true;
  why = target_.path + ": " + std::strerror(errno);
  close_socket();
  return false;
}

Taken SyslogSink::write(std::string_view lines, std::string& why) {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char head[96];
  size_t time_length = std::strftime(head, sizeof head, "%b %e %H:%M:%S", &parts);
  std::string prefix = "<" + std::to_string(target_.priority) + ">" + std::string(head, time_length) + " loligo[" + std::to_string(getpid()) + "]: ";
  Taken taken;
  while (taken.bytes < lines.size()) {
    std::string_view line = lines.substr(taken.bytes, line_length(lines.substr(taken.bytes)));
    datagram_.assign(prefix).append(line.substr(0, line.size() - 1));
    if (::send(fd_, datagram_.data(), datagram_.size(), MSG_NOSIGNAL) < 0) {
      if (would_block(errno)) break;
      if (errno != EMSGSIZE) return failure(taken.bytes, why);
      ++taken.lost_lines;
    }
    taken.bytes += line.size();
  }
  return taken;
}

Taken UdpSink::write(std::string_view lines, std::string&) {
  Taken taken;
  while (taken.bytes < lines.size()) {
    std::string_view rest = lines.substr(taken.bytes);
    std::string_view datagram = rest.substr(0, pack_ ? packed_length(rest, kPackedBytes) : line_length(rest));
    if (::send(fd_, datagram.data(), datagram.size(), MSG_NOSIGNAL) < 0) {
      if (would_block(errno)) break;
      if (errno == EINTR) continue;
      taken.lost_lines += count_lines(datagram);  // nobody there, or too large: that is UDP
    }
    taken.bytes += datagram.size();
  }
  return taken;
}

bool TcpSink::open(std::string& why) {
  connecting_ = connect_to_host(SOCK_STREAM, why);
  return connecting_;
}

Taken TcpSink::write(std::string_view lines, std::string& why) {
  if (connecting_) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) return {};
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    if (error != 0) return failure(0, why);
    connecting_ = false;
  }
  Taken taken;
  while (taken.bytes < lines.size()) {
    ssize_t n = ::send(fd_, lines.data() + taken.bytes, lines.size() - taken.bytes, MSG_NOSIGNAL);
    if (n > 0) taken.bytes += size_t(n);
    else if (would_block(errno)) break;
    else if (errno != EINTR) return failure(taken.bytes, why);
  }
  return taken;
}

std::unique_ptr<Sink> make_sink(const Target& target, const SinkOptions& options) {
  switch (target.kind) {
    case Target::Kind::syslog: return std::make_unique<SyslogSink>(target);
    case Target::Kind::udp: return std::make_unique<UdpSink>(target, options.pack_datagrams);
    case Target::Kind::tcp: return std::make_unique<TcpSink>(target);
    default: return std::make_unique<FileSink>(target.path);
  }
}

}  // namespace loligo::log
