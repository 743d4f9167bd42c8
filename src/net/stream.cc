#include "net/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace loligo::net {

Stream::~Stream() {
  if (fd_ >= 0) ::close(fd_);
}

static IoResult from_errno() {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {IoStatus::again};
  return {IoStatus::failed, 0, errno};
}

IoResult PlainStream::read(char* into, size_t size) {
  ssize_t n = ::recv(fd_, into, size, 0);
  if (n > 0) return {IoStatus::ok, size_t(n)};
  if (n == 0) return {IoStatus::closed};
  return from_errno();
}

IoResult PlainStream::write(const iovec* parts, int count) {
  ssize_t n;
  if (count == 1) {
    n = ::send(fd_, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL);
  } else {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = size_t(count);
    n = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
  }
  if (n >= 0) return {IoStatus::ok, size_t(n)};
  return from_errno();
}

void PlainStream::shutdown_write() { ::shutdown(fd_, SHUT_WR); }

}  // namespace loligo::net
