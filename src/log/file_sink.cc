// Logs in files, and in what a file name may lead to: pipes, terminals,
// /dev/stdout. Only whole lines stay in a regular file: what a full disk cut
// off is taken back.
#include "log/file_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace loligo::log {
namespace {

// The descriptor that a path such as /dev/stdout stands for, or -1.
int descriptor_of(std::string_view path) {
  struct Name { std::string_view path; int fd; };
  constexpr Name kNames[] = {{"/dev/stdout", 1}, {"/dev/stderr", 2}};
  for (auto [name, fd] : kNames)
    if (path == name) return fd;
  for (std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(prefix)) return base::parse_decimal<uint16_t>(path.substr(prefix.size())).value_or(-1);
  return -1;
}

bool regular(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

// A pipe that is ready takes this much without waiting (PIPE_BUF), also from a descriptor in blocking mode.
constexpr size_t kPipePiece = 4096;

}  // namespace

FileSink::~FileSink() { close_file(); }

void FileSink::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool FileSink::open(std::string& why) {
  close_file();
  // O_NONBLOCK: a FIFO without a reader must not hold up the other logs.
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  int error = errno;
  // A user without privileges may not open the terminal or pipe it was started with, nor can a socket be opened: use
  // the descriptor itself.
  if (int fd = fd_ < 0 ? descriptor_of(path_) : -1; fd >= 0) fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (fd_ < 0) {
    why = path_ + ": " + std::strerror(error);
    return false;
  }
  regular_ = regular(fd_);
  return true;
}

Taken FileSink::write(std::string_view lines, std::string& why) {
  Taken taken = regular_ ? write_regular(lines) : write_when_ready(lines);
  if (!taken.failed) return taken;
  why = path_ + ": " + std::strerror(errno);
  close_file();
  return taken;
}

Taken FileSink::write_regular(std::string_view lines) {
  size_t done = 0;
  while (done < lines.size()) {
    ssize_t n = ::write(fd_, lines.data() + done, lines.size() - done);
    if (n > 0) {
      done += size_t(n);
    } else if (n == 0 || errno != EINTR) {
      if (n == 0) errno = EIO;
      int error = errno;
      done = take_back(lines, done);
      errno = error;
      return {done, true};
    }
  }
  return {done};
}

// Cuts a line that stands in the file in part. Returns the bytes that stay.
size_t FileSink::take_back(std::string_view lines, size_t done) {
  size_t end = lines.substr(0, done).rfind('\n');
  size_t whole = end == lines.npos ? 0 : end + 1;
  off_t position = lseek(fd_, 0, SEEK_CUR);  // O_APPEND: behind what was written last
  if (whole < done && position >= off_t(done - whole) && position == lseek(fd_, 0, SEEK_END))
    if (ftruncate(fd_, position - off_t(done - whole)) != 0) return whole;
  return whole;
}

Taken FileSink::write_when_ready(std::string_view lines) {
  size_t done = 0;
  while (done < lines.size()) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) break;
    ssize_t n = ::write(fd_, lines.data() + done, std::min(lines.size() - done, kPipePiece));
    if (n > 0) done += size_t(n);
    else if (n < 0 && errno == EAGAIN) break;
    else if (n == 0 || errno != EINTR) return {done, true};
  }
  return {done};
}

void FileSink::rotate(int keep) {
  struct stat info;
  if (keep > 0 && lstat(path_.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    for (int i = keep - 1; i > 0; --i) ::rename((path_ + '.' + std::to_string(i - 1)).c_str(), (path_ + '.' + std::to_string(i)).c_str());
    ::rename(path_.c_str(), (path_ + ".0").c_str());
  }
  std::string why;
  if (fd_ < 0 || regular_) open(why);  // a failure shows at the next write
}

}  // namespace loligo::log
