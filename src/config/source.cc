#include "config/source.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace loligo::config {
namespace {

// No configuration is larger; a device or a runaway command must not fill the memory.
constexpr size_t kLargestFile = size_t(1) << 30;

bool fail(std::string& why, int error) {
  why = std::strerror(error);
  return false;
}

}  // namespace

bool FileSystem::read(const std::string& path, std::string& bytes, std::string& why) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(why, errno);
  struct stat status;
  bool good = ::fstat(fd, &status) == 0;
  if (good && S_ISDIR(status.st_mode)) {
    ::close(fd);
    return fail(why, EISDIR);
  }
  bytes.clear();
  if (good && status.st_size > 0) bytes.reserve(std::min<size_t>(size_t(status.st_size), kLargestFile) + 1);
  char buffer[65536];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    int error = n < 0 ? errno : bytes.size() + size_t(n) > kLargestFile ? EFBIG : 0;
    if (error != 0) {
      ::close(fd);
      return fail(why, error);
    }
    if (n == 0) break;
    bytes.append(buffer, size_t(n));
  }
  ::close(fd);
  return true;
}

std::vector<std::string> FileSystem::glob(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

bool FileSystem::run(const std::string& command, std::string& bytes, std::string& why) {
  FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return fail(why, errno);
  bytes.clear();
  char buffer[65536];
  bool too_large = false;
  while (size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) {
    too_large = bytes.size() + n > kLargestFile;
    if (too_large) break;
    bytes.append(buffer, n);
  }
  int status = ::pclose(pipe);
  if (too_large) return fail(why, EFBIG);
  if (status == 0) return true;
  why = WIFEXITED(status) ? "it ended with status " + std::to_string(WEXITSTATUS(status)) : "it did not end by itself";
  return false;
}

bool MemoryFiles::read(const std::string& path, std::string& bytes, std::string& why) {
  auto found = files.find(path);
  if (found == files.end()) return fail(why, ENOENT);
  bytes = found->second;
  return true;
}

std::vector<std::string> MemoryFiles::glob(const std::string& pattern) {
  std::vector<std::string> paths;
  bool prefix = !pattern.empty() && pattern.back() == '*';
  std::string stem = prefix ? pattern.substr(0, pattern.size() - 1) : pattern;
  for (auto& [path, bytes] : files)
    if (prefix ? path.starts_with(stem) : path == stem) paths.push_back(path);
  return paths;
}

bool MemoryFiles::run(const std::string&, std::string&, std::string& why) { return fail(why, ENOSYS); }

}  // namespace loligo::config
