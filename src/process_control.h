// The life of the process: pid file, signals, detaching, supervision, limits
// and privileges. Functions that main calls in this order:
//
//   running_pid / send_control      -k ...
//   detach                          unless -N or --foreground
//   supervise                       unless -N; runs the rest in a child process
//   PidFile::acquire                (supervise does it; with -N main does)
//   set_descriptor_limit, enable_core_dumps, find_identity, enter_chroot, assume_identity
//   Signals                         before the first thread starts
//
// One thread, before workers run; Signals afterwards on the loop that owns it.
// Errors are one-line texts, empty = success. Nothing here prints.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "main_options.h"

namespace loligo {

// --- Pid file

// The pid file of a running service carries a write lock (fcntl) of its process. The kernel drops the lock with the
// process and names its holder, so neither a file left by kill -9 nor a pid in use by another program (pid 1 in every
// container) can be mistaken for a running service. The number in the file is for people.
class PidFile {
 public:
  PidFile() = default;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile() { remove(); }

  // Writes it beside and renames it into place. "" or "none" as path: success without a file.
  // Fails when a running process holds it, or the directory cannot be written.
  std::string acquire(const std::string& path);
  void remove();    // unlinks it if it is still ours; where that is forbidden by now, empties it
  void forget();    // closes it without a trace: for a forked child (locks are not inherited)

 private:
  int fd_ = -1, directory_ = -1;
  std::string name_;
};

// Not for the process that holds the lock: closing any descriptor of the file would drop it.
// The process that holds the pid file; nullopt = none runs. 0 = one runs that this process cannot see (another container).
std::optional<pid_t> running_pid(const std::string& path);

// -k: sends the signal of `action`. The exit code and what to print (empty for success, except check).
struct ControlResult { int exit_code = 0; std::string message; };
ControlResult send_control(ControlAction, const std::string& pid_path);

// --- Detaching and supervision

// The write end of a pipe on which a child reports that it serves, or why it cannot.
class Readiness {
 public:
  Readiness() = default;
  explicit Readiness(int fd) : fd_(fd) {}
  Readiness(Readiness&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Readiness& operator=(Readiness&& other) noexcept { std::swap(fd_, other.fd_); return *this; }
  ~Readiness() { close(); }
  void ready();                           // once; later calls do nothing
  void fail(std::string_view message);    // instead of ready()
  void close();

 private:
  int fd_ = -1;
};

struct Detached {
  bool parent = false;      // print `message` if there is one and exit with `exit_code`
  int exit_code = 0;
  std::string message;
  Readiness readiness;      // in the child
};
// Forks twice into a session of its own, standard streams on /dev/null. The parent returns when the child is ready
// (exit code 0), has failed (1 and its message) or has died.
Detached detach();

struct SupervisorOptions {
  std::string pid_path;
  int max_quick_failures = 5;                       // in a row; then the supervisor gives up
  std::chrono::milliseconds quick{10'000};          // a child that lived longer was no quick failure
  std::chrono::milliseconds first_delay{1000}, longest_delay{30'000};   // doubles with each quick failure
  std::function<void(std::string_view)> log;        // one line each: crashed, restarted, gave up
};
// Runs `child` in a forked process and keeps it running: a crash (signal, or exit status other than 0 once it was ready)
// starts it again. TERM and INT are passed on and end the service; HUP, USR1 and USR2 are passed on; TTIN restarts the
// child. If the first child fails before it is ready, so does the service. The child dies with the supervisor.
// `outer` is told ready or fail once. Returns the exit code of the process; a child never returns from here.
int supervise(const SupervisorOptions&, Readiness outer, const std::function<int(Readiness&)>& child);

// --- Limits and privileges

// Sets RLIMIT_NOFILE: `wanted` = max_filedescriptors, 0 = the soft limit as it is. Returns what is in force now, at most
// 1,048,576 whatever the system says: tables and estimates are sized by it.
uint64_t set_descriptor_limit(uint64_t wanted);

std::string enable_core_dumps(const std::string& directory);   // "" or "none": nothing
std::string enter_chroot(const std::string& directory);        // "": nothing

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};
// Looks up cache_effective_user and cache_effective_group (names or numbers); before chroot. An empty user means no change
// (nullopt without error), and so does a process that is not root.
std::optional<Identity> find_identity(const std::string& user, const std::string& group, std::string& error);
// For good, and without any capability left. Keeps core dumps and the tie to the supervisor, which a change of user undoes.
std::string assume_identity(const Identity&);

// --- Signals

enum class Command : unsigned char { reconfigure, rotate, stop, stop_now, toggle_debug };

// HUP, USR1, TERM, INT and USR2 as readable events; PIPE is ignored. Blocks the signals in this thread and in those it starts.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int fd() const { return fd_; }                       // readable when a signal waits; non-blocking
  void drain(const std::function<void(Command)>&);     // reads until empty
 private:
  int fd_ = -1;
};
// For a forked child before exec: helpers must not inherit the blocked signals.
void unblock_signals();

}  // namespace loligo
