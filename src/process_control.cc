// Limits, privileges and signals. Pid file and supervision have files of their own.
#include "process_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace loligo {
namespace {

constexpr uint64_t kMostDescriptors = 1'048'576;
constexpr size_t kMaxGroups = 65'536;

std::string system_text() {
  char buffer[128];
  return strerror_r(errno, buffer, sizeof buffer);
}

struct SignalRow { int signal; Command command; };
constexpr SignalRow kSignals[] = {
    {SIGHUP, Command::reconfigure}, {SIGUSR1, Command::rotate}, {SIGTERM, Command::stop},
    {SIGINT, Command::stop_now},    {SIGUSR2, Command::toggle_debug},
};

// getpwnam_r and getgrnam_r want a buffer of unknown size.
template <class Entry, class Lookup>
bool look_up(Entry& entry, std::vector<char>& buffer, Lookup lookup) {
  for (buffer.resize(1024); buffer.size() <= 1 << 20; buffer.resize(buffer.size() * 2)) {
    Entry* found = nullptr;
    int error = lookup(&entry, buffer.data(), buffer.size(), &found);
    if (error == 0) return found != nullptr;
    if (error != ERANGE) return false;
  }
  return false;
}

bool drop_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

uint64_t set_descriptor_limit(uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (wanted > 0) {
    rlim_t target = std::min<uint64_t>(wanted, kMostDescriptors);
    rlimit raised{target, std::max(target, limit.rlim_max)};
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {   // not root: up to the hard limit
      raised = {std::min(target, limit.rlim_max), limit.rlim_max};
      setrlimit(RLIMIT_NOFILE, &raised);
    }
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::min<uint64_t>(limit.rlim_cur, kMostDescriptors);
}

std::string enable_core_dumps(const std::string& directory) {
  if (directory.empty() || directory == "none") return {};
  if (chdir(directory.c_str()) != 0) return fmt::format("coredump_dir {}: {}", directory, system_text());
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return {};
}

std::string enter_chroot(const std::string& directory) {
  if (directory.empty() || directory == "none") return {};
  tzset();   // the time zone file is outside
  if (chroot(directory.c_str()) != 0 || chdir("/") != 0) return fmt::format("chroot {}: {}", directory, system_text());
  return {};
}

std::optional<Identity> find_identity(const std::string& user, const std::string& group, std::string& error) {
  error.clear();
  if (user.empty() || geteuid() != 0) return std::nullopt;
  Identity identity;
  std::vector<char> buffer;
  passwd person{};
  bool known = look_up(person, buffer, [&](auto... rest) { return getpwnam_r(user.c_str(), rest...); });
  if (known) {
    identity.uid = person.pw_uid;
    identity.gid = person.pw_gid;
  } else if (auto number = base::parse_decimal<uid_t>(user)) {
    identity.uid = identity.gid = *number;
  } else {
    error = fmt::format("cache_effective_user {}: no such user", user);
    return std::nullopt;
  }
  if (!group.empty()) {
    ::group entry{};
    std::vector<char> group_buffer;
    if (look_up(entry, group_buffer, [&](auto... rest) { return getgrnam_r(group.c_str(), rest...); })) {
      identity.gid = entry.gr_gid;
    } else if (auto number = base::parse_decimal<gid_t>(group)) {
      identity.gid = *number;
    } else {
      error = fmt::format("cache_effective_group {}: no such group", group);
      return std::nullopt;
    }
    identity.groups = {identity.gid};   // a named group stands alone
  } else if (known) {
    int count = 64;
    identity.groups.resize(size_t(count));
    while (getgrouplist(user.c_str(), identity.gid, identity.groups.data(), &count) < 0 && size_t(count) <= kMaxGroups)
      identity.groups.resize(size_t(count));
    identity.groups.resize(std::min(size_t(count), identity.groups.size()));
  } else {
    identity.groups = {identity.gid};
  }
  return identity;
}

std::string assume_identity(const Identity& identity) {
  int parent_death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &parent_death_signal, 0, 0, 0);
  int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  if (setgroups(identity.groups.size(), identity.groups.data()) != 0 ||
      setresgid(identity.gid, identity.gid, identity.gid) != 0 ||
      setresuid(identity.uid, identity.uid, identity.uid) != 0)
    return fmt::format("cannot become user {}: {}", identity.uid, system_text());
  if (identity.uid != 0) {
    if (!drop_capabilities()) return fmt::format("cannot give up capabilities: {}", system_text());
    if (setuid(0) == 0) return "could become root again after giving it up";
  }
  if (parent_death_signal) prctl(PR_SET_PDEATHSIG, parent_death_signal, 0, 0, 0);
  if (dumpable == 1) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return {};
}

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const SignalRow& row : kSignals) sigaddset(&set, row.signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

Signals::~Signals() {
  if (fd_ >= 0) ::close(fd_);
}

void Signals::drain(const std::function<void(Command)>& call) {
  signalfd_siginfo info;
  while (read(fd_, &info, sizeof info) == sizeof info)
    for (const SignalRow& row : kSignals)
      if (row.signal == int(info.ssi_signo)) call(row.command);
}

void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
}

}  // namespace loligo
