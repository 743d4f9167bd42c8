// The pid file. Its lock is a POSIX record lock on purpose: not inherited by
// fork, released with the process, and F_GETLK names the holder. Only a write
// lock counts, and that takes write permission: any user may read-lock a file
// that all may read. A new file is locked before it gets its name, so nobody's
// read lock on the old one stands in the way.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "process_control.h"

namespace loligo {
namespace {

constexpr int kAttempts = 20;            // a killed predecessor may need a moment to die
constexpr useconds_t kPause = 50'000;

bool no_file(const std::string& path) { return path.empty() || path == "none"; }

std::string system_text() {
  char buffer[128];
  return strerror_r(errno, buffer, sizeof buffer);
}

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Two services that start at once must not both find the file free. Everybody may lock a directory, so the wait is short
// and its failure no obstacle.
class DirectoryLock {
 public:
  explicit DirectoryLock(int fd) : fd_(fd) {
    for (int i = 0; i < kAttempts && !held_; ++i)
      if (!(held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0)) usleep(kPause);
  }
  ~DirectoryLock() { if (held_) flock(fd_, LOCK_UN); }

 private:
  int fd_;
  bool held_ = false;
};

std::string describe(pid_t pid) { return pid > 0 ? fmt::format("process {}", pid) : std::string("a process of another container"); }

}  // namespace

std::optional<pid_t> running_pid(const std::string& path) {
  if (no_file(path)) return std::nullopt;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct flock lock = whole_file(F_RDLCK);
  bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
  close(fd);
  if (!held) return std::nullopt;
  return lock.l_pid > 0 ? lock.l_pid : 0;
}

std::string PidFile::acquire(const std::string& path) {
  if (no_file(path)) return {};
  size_t slash = path.rfind('/');
  std::string directory = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  name_ = slash == path.npos ? path : path.substr(slash + 1);
  directory_ = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) return fmt::format("pid_filename {}: {}", path, system_text());

  DirectoryLock serialised(directory_);
  std::optional<pid_t> holder;
  for (int i = 0; i < kAttempts && (holder = running_pid(path)); ++i) usleep(kPause);
  if (holder) {
    forget();
    return fmt::format("already running: {} holds {}", describe(*holder), path);
  }
  std::string temporary = fmt::format(".{}.{}", name_, getpid());
  unlinkat(directory_, temporary.c_str(), 0);
  fd_ = openat(directory_, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  std::string text = fmt::format("{}\n", getpid());
  struct flock lock = whole_file(F_WRLCK);
  if (fd_ < 0 || fcntl(fd_, F_SETLK, &lock) != 0 || write(fd_, text.data(), text.size()) != ssize_t(text.size()) ||
      fchmod(fd_, 0644) != 0 || renameat(directory_, temporary.c_str(), directory_, name_.c_str()) != 0) {
    std::string error = fmt::format("pid_filename {}: {}", path, system_text());
    if (fd_ >= 0) unlinkat(directory_, temporary.c_str(), 0);
    forget();
    return error;
  }
  return {};
}

void PidFile::remove() {
  if (fd_ >= 0) {
    struct stat ours{}, there{};
    bool same = fstat(fd_, &ours) == 0 && fstatat(directory_, name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
    if (same && unlinkat(directory_, name_.c_str(), 0) != 0) [[maybe_unused]] int emptied = ftruncate(fd_, 0);
  }
  forget();
}

void PidFile::forget() {
  if (fd_ >= 0) close(fd_);
  if (directory_ >= 0) close(directory_);
  fd_ = directory_ = -1;
}

namespace {
struct ControlRow { ControlAction action; int signal; };
constexpr ControlRow kControls[] = {
    {ControlAction::reconfigure, SIGHUP}, {ControlAction::rotate, SIGUSR1},   {ControlAction::shutdown, SIGTERM},
    {ControlAction::restart, SIGTTIN},    {ControlAction::interrupt, SIGINT}, {ControlAction::kill, SIGKILL},
    {ControlAction::debug, SIGUSR2},      {ControlAction::check, 0},
};
}  // namespace

ControlResult send_control(ControlAction action, const std::string& path) {
  if (no_file(path)) return {1, "pid_filename is none: the running process cannot be found by -k"};
  if (access(path.c_str(), R_OK) != 0 && errno != ENOENT) return {1, fmt::format("{}: {}", path, system_text())};
  std::optional<pid_t> pid = running_pid(path);
  if (!pid) return {1, fmt::format("not running: no process holds {}", path)};
  if (*pid == 0) return {1, fmt::format("{} is held by {}", path, describe(0))};
  for (const ControlRow& row : kControls) {
    if (row.action != action) continue;
    if (kill(*pid, row.signal) == 0 || (row.signal == 0 && errno == EPERM))
      return {0, row.signal == 0 ? fmt::format("running: process {}", *pid) : std::string()};
    return {1, fmt::format("process {}: {}", *pid, system_text())};
  }
  return {1, "nothing to send"};
}

}  // namespace loligo
