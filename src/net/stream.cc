#include "net/stream.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
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

// A file that ends before its time is a failure: what was promised cannot be sent.
IoResult Stream::send_file(int file, uint64_t offset, size_t size) {
  char piece[32 * 1024];
  ssize_t n = ::pread(file, piece, std::min(size, sizeof piece), off_t(offset));
  if (n <= 0) return {IoStatus::failed, 0, n < 0 ? errno : EIO};
  iovec part{piece, size_t(n)};
  return write(&part, 1);
}

IoResult PlainStream::send_file(int file, uint64_t offset, size_t size) {
  off_t from = off_t(offset);
  ssize_t n = ::sendfile(fd_, file, &from, size);
  if (n > 0) return {IoStatus::ok, size_t(n)};
  if (n == 0) return {IoStatus::failed, 0, EIO};
  return from_errno();
}

IoResult PlainStream::write(const iovec* parts, int count, bool more) {
  const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  ssize_t n;
  if (count == 1) {
    n = ::send(fd_, parts[0].iov_base, parts[0].iov_len, flags);
  } else {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = size_t(count);
    n = ::sendmsg(fd_, &message, flags);
  }
  if (n >= 0) return {IoStatus::ok, size_t(n)};
  return from_errno();
}

void PlainStream::shutdown_write() { ::shutdown(fd_, SHUT_WR); }

}  // namespace loligo::net
