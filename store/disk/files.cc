#include "store/disk/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace loligo::store {

namespace {

class SystemFile final : public File {
 public:
  explicit SystemFile(int fd) : fd_(fd) {}
  ~SystemFile() override { ::close(fd_); }
  int fd() const override { return fd_; }

  int64_t read(const iovec* parts, int count, uint64_t offset, bool no_wait) override {
    int64_t want = total(parts, count), have = 0;
    std::vector<iovec> rest;
    while (have < want) {
      if (have > 0) rest = after(parts, count, have);
      const iovec* now = have > 0 ? rest.data() : parts;
      int n_parts = std::min(have > 0 ? int(rest.size()) : count, IOV_MAX);
      ssize_t n = no_wait ? ::preadv2(fd_, now, n_parts, off_t(offset) + have, RWF_NOWAIT) : ::preadv(fd_, now, n_parts, off_t(offset) + have);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EOPNOTSUPP ? -EAGAIN : -errno;
      have += n;
      // A short answer is the end, or what the page cache had.
      if (no_wait && have < want) return have < size() - int64_t(offset) ? -EAGAIN : have;
      if (n == 0) break;
    }
    return have;
  }

  int64_t write(const iovec* parts, int count, uint64_t offset) override {
    int64_t want = total(parts, count), have = 0;
    std::vector<iovec> rest;
    while (have < want) {
      if (have > 0) rest = after(parts, count, have);
      ssize_t n = ::pwritev(fd_, have > 0 ? rest.data() : parts, std::min(have > 0 ? int(rest.size()) : count, IOV_MAX), off_t(offset) + have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? -errno : -ENOSPC;
      have += n;
    }
    return have;
  }

  int64_t size() override {
    struct stat st;
    return ::fstat(fd_, &st) == 0 ? st.st_size : -errno;
  }
  int truncate(uint64_t size) override { return ::ftruncate(fd_, off_t(size)) == 0 ? 0 : -errno; }
  int sync() override { return ::fdatasync(fd_) == 0 ? 0 : -errno; }
  void begin_sync(uint64_t offset, uint64_t bytes) override { ::sync_file_range(fd_, off_t(offset), off_t(bytes), SYNC_FILE_RANGE_WRITE); }

 private:
  static int64_t total(const iovec* parts, int count) {
    int64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += int64_t(parts[i].iov_len);
    return bytes;
  }
  // What remains of the parts after `done` bytes.
  static std::vector<iovec> after(const iovec* parts, int count, int64_t done) {
    int first = 0;
    while (first < count && done >= int64_t(parts[first].iov_len)) done -= int64_t(parts[first++].iov_len);
    std::vector<iovec> rest(parts + first, parts + count);
    if (!rest.empty()) rest[0] = {static_cast<char*>(rest[0].iov_base) + done, rest[0].iov_len - size_t(done)};
    return rest;
  }

  const int fd_;
};

class SystemFiles final : public Files {
 public:
  base::Ref<File> open(const std::string& path, OpenMode mode, int& error) override {
    int flags = O_CLOEXEC | (mode == OpenMode::read ? O_RDONLY : mode == OpenMode::write ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC);
    int fd = ::open(path.c_str(), flags, 0640);
    error = fd < 0 ? -errno : 0;
    return fd < 0 ? base::Ref<File>() : base::Ref<File>(new SystemFile(fd));
  }

  int list(const std::string& directory, std::vector<std::string>& names) override {
    names.clear();
    DIR* dir = ::opendir(directory.c_str());
    if (!dir) return -errno;
    while (dirent* entry = ::readdir(dir))
      if (std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
    ::closedir(dir);
    return 0;
  }

  int make_directory(const std::string& path) override {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) ::mkdir(path.substr(0, slash).c_str(), 0750);
    if (::mkdir(path.c_str(), 0750) == 0) return 0;
    struct stat st;
    if (errno != EEXIST) return -errno;
    return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
  }

  int remove(const std::string& path) override { return ::remove(path.c_str()) == 0 ? 0 : -errno; }
  int rename(const std::string& from, const std::string& to) override { return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : -errno; }

  int sync_directory(const std::string& path) override {
    int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -errno;
    int result = ::fsync(fd) == 0 ? 0 : -errno;
    ::close(fd);
    return result == -EINVAL ? 0 : result;
  }

  int64_t size(const std::string& path) override {
    struct stat st;
    return ::stat(path.c_str(), &st) == 0 ? st.st_size : -errno;
  }

  int64_t free_space(const std::string& directory) override {
    struct statvfs fs;
    if (::statvfs(directory.c_str(), &fs) != 0) return -errno;
    return int64_t(std::min<uint64_t>(uint64_t(fs.f_bavail) * fs.f_frsize, INT64_MAX));
  }

  // Of the open file description: a second opening in this process is refused as well.
  base::Ref<File> lock(const std::string& path, int& error) override {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0) {
      error = -errno;
      return {};
    }
    base::Ref<File> file(new SystemFile(fd));
    error = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
    return error ? base::Ref<File>() : file;
  }
};

}  // namespace

Files& system_files() {
  static SystemFiles files;
  return files;
}

}  // namespace loligo::store
