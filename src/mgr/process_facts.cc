// What the operating system knows of this process.
#include <dirent.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "mgr/sources.h"
#include "net/address.h"

namespace loligo::mgr {
namespace {

int64_t microseconds(const timeval& t) { return int64_t(t.tv_sec) * 1'000'000 + t.tv_usec; }

template <class F>
void for_each_descriptor(F&& f) {
  DIR* directory = opendir("/proc/self/fd");
  if (!directory) return;
  while (dirent* entry = readdir(directory))
    if (auto fd = base::parse_decimal<int>(entry->d_name); fd && *fd != dirfd(directory)) f(*fd);
  closedir(directory);
}

std::string peer_of(int fd, bool& listening) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  int accepts = 0;
  socklen_t length = sizeof accepts;
  getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length);
  listening = accepts != 0;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getpeername(fd, address, &size) != 0) {
    size = sizeof storage;
    if (getsockname(fd, address, &size) != 0) return {};
  }
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return {};
  return net::Address::from(address, size).text();
}

// Of a TCP connection, whoever holds it.
void count_bytes(int fd, DescriptorRow& row) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent) return;
  row.read_bytes = info.tcpi_bytes_received;
  row.written_bytes = info.tcpi_bytes_sent - std::min(info.tcpi_bytes_sent, info.tcpi_bytes_retrans);
}

DescriptorRow describe(int fd) {
  DescriptorRow row;
  row.fd = fd;
  struct stat status{};
  fstat(fd, &status);
  char target[PATH_MAX];
  ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  row.description.assign(target, size_t(std::max<ssize_t>(length, 0)));
  bool listening = false;
  if (S_ISSOCK(status.st_mode)) {
    row.type = "Socket";
    row.remote = peer_of(fd, listening);
    if (!listening) count_bytes(fd, row);
    row.description = listening ? "Listening" : row.remote.empty() ? "Local socket" : "Connection";
  } else {
    row.type = S_ISREG(status.st_mode) ? "File" : S_ISFIFO(status.st_mode) ? "Pipe" : fd <= 2 ? "Log" : "Other";
  }
  if (fd <= 2) row.type = "Log";
  return row;
}

}  // namespace

Times read_times() {
  Times times;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  times.steady_us = int64_t(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  times.wall_us = base::wall_now_microseconds();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  times.cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  return times;
}

ProcessFacts read_process_facts() {
  ProcessFacts facts;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  facts.resident_kb = uint64_t(usage.ru_maxrss);
  facts.page_faults = uint64_t(usage.ru_majflt);
  for_each_descriptor([&facts](int fd) {
    ++facts.open_descriptors;
    facts.largest_descriptor = std::max(facts.largest_descriptor, fd);
  });
  return facts;
}

std::vector<DescriptorRow> read_descriptors(size_t limit) {
  std::vector<int> numbers;
  for_each_descriptor([&](int fd) { if (numbers.size() < limit) numbers.push_back(fd); });
  std::sort(numbers.begin(), numbers.end());
  std::vector<DescriptorRow> rows;
  for (int fd : numbers) rows.push_back(describe(fd));
  return rows;
}

}  // namespace loligo::mgr
