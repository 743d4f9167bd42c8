// Detaching from the terminal, and the parent process that keeps the service up.
//
// A readiness pipe carries "R" (serving) or "F" and a message; its end without
// either means that the writer died.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "process_control.h"

namespace loligo {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr size_t kMaxMessage = 4096;
constexpr int kPassedOn[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGTERM, SIGINT};

// What a readiness pipe has said so far.
struct Report {
  std::string text;
  bool open = true;
  bool ready() const { return text.starts_with('R'); }
  bool failed() const { return text.starts_with('F'); }
  std::string message() const { return failed() ? text.substr(1) : std::string(); }
};

// One read; call when readable, or to wait on a blocking descriptor.
void read_report(int fd, Report& report) {
  char buffer[512];
  ssize_t got;
  do got = read(fd, buffer, sizeof buffer); while (got < 0 && errno == EINTR);
  if (got > 0) report.text.append(buffer, std::min(size_t(got), kMaxMessage - std::min(kMaxMessage, report.text.size())));
  else if (got == 0 || errno != EAGAIN) report.open = false;
}

void streams_to_null() {
  int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  if (null > STDERR_FILENO) close(null);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

// The supervisor's signals as a descriptor, and the mask as it was for the child.
class SupervisorSignals {
 public:
  SupervisorSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : kPassedOn) sigaddset(&set, signal);
    for (int signal : {SIGCHLD, SIGTTIN}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
    signal(SIGPIPE, SIG_IGN);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~SupervisorSignals() { restore(); }
  void restore() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int fd() const { return fd_; }
  int next() {   // 0 = none waits
    signalfd_siginfo info;
    return read(fd_, &info, sizeof info) == sizeof info ? int(info.ssi_signo) : 0;
  }

 private:
  int fd_ = -1;
  sigset_t before_{};
};

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, Readiness& outer, const std::function<int(Readiness&)>& child)
      : options_(options), outer_(outer), child_(child) {}

  int run() {
    if (std::string error = pid_file_.acquire(options_.pid_path); !error.empty()) return give_up(error);
    for (;;) {
      if (!start()) return give_up(fmt::format("cannot fork: {}", std::strerror(errno)));
      int status = watch();
      bool crashed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
      if (stopping_ || (!crashed && !restart_)) return exit_code(status);
      if (!was_ready_once_) {
        give_up(report_.failed() ? report_.message() : fmt::format("the process {} before it was ready", how_it_ended(status)));
        return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
      }
      if (restart_) continue;
      if (!wait_before_restart(status)) return stopping_ ? 0 : 1;
    }
  }

 private:
  void log(std::string_view line) const { if (options_.log) options_.log(line); }

  // Told to stop before it could catch the signal, it ended as told.
  static int exit_code(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT ? 0 : 1;
  }

  int give_up(const std::string& message) {
    log(message);
    outer_.fail(message);
    return 1;
  }

  bool start() {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) return false;
    fcntl(pipe[0], F_SETFL, O_NONBLOCK);
    pid_t supervisor = getpid();
    fflush(nullptr);   // or the child would write it again
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      if (getppid() != supervisor) _exit(1);   // it died before the line above
      close(pipe[0]);
      pid_file_.forget();
      outer_.close();
      signals_.restore();
      Readiness readiness(pipe[1]);
      int code = child_(readiness);
      fflush(nullptr);
      _exit(code);   // nothing of the supervisor's is destroyed twice
    }
    close(pipe[1]);
    if (pid_ < 0) close(pipe[0]);
    restart_ = false;
    report_ = {};
    report_fd_ = pid_ < 0 ? -1 : pipe[0];
    started_ = Clock::now();
    return pid_ > 0;
  }

  // Until the child ends; its wait status.
  int watch() {
    for (;;) {
      pollfd polled[2] = {{signals_.fd(), POLLIN, 0}, {report_.open ? report_fd_ : -1, POLLIN, 0}};
      poll(polled, 2, -1);
      if (polled[1].revents) take_report();
      while (int signal = signals_.next()) {
        if (signal != SIGCHLD) pass_on(signal);
      }
      if (std::optional<int> status = reap()) {
        while (report_.open && !report_.ready()) {   // what it said before it died
          size_t before = report_.text.size();
          take_report();
          if (report_.text.size() == before) break;
        }
        close(report_fd_);
        return *status;
      }
    }
  }

  void take_report() {
    read_report(report_fd_, report_);
    if (!report_.ready()) return;
    if (!was_ready_once_) outer_.ready();
    was_ready_once_ = true;
    report_.open = false;
  }

  void pass_on(int signal) {
    if (signal == SIGTTIN) restart_ = true;
    if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
    if (pid_ > 0) kill(pid_, signal == SIGTTIN ? SIGTERM : signal);
  }

  // As process 1 of a container it inherits orphans: all of them are waited for.
  std::optional<int> reap() {
    std::optional<int> ours;
    int status = 0;
    while (pid_t pid = waitpid(-1, &status, WNOHANG)) {
      if (pid < 0) break;
      if (pid == pid_) {
        ours = status;
        pid_ = 0;
      }
    }
    return ours;
  }

  // False when the service ends here: too many failures, or told to stop meanwhile.
  bool wait_before_restart(int status) {
    quick_failures_ = Clock::now() - started_ > options_.quick ? 1 : quick_failures_ + 1;
    if (quick_failures_ > options_.max_quick_failures) {
      log(fmt::format("the process {}; {} quick failures in a row: giving up", how_it_ended(status), quick_failures_));
      return false;
    }
    milliseconds delay = options_.first_delay * (1 << std::min(quick_failures_ - 1, 10));
    delay = std::min(delay, options_.longest_delay);
    log(fmt::format("the process {}; starting it again in {} ms", how_it_ended(status), delay.count()));
    for (auto until = Clock::now() + delay; !stopping_;) {
      auto left = duration_cast<milliseconds>(until - Clock::now()).count();
      if (left <= 0) return true;
      pollfd polled{signals_.fd(), POLLIN, 0};
      poll(&polled, 1, int(left) + 1);
      while (int signal = signals_.next())
        if (signal != SIGCHLD) pass_on(signal);
      reap();
    }
    return false;
  }

  const SupervisorOptions& options_;
  Readiness& outer_;
  const std::function<int(Readiness&)>& child_;
  SupervisorSignals signals_;
  PidFile pid_file_;
  pid_t pid_ = 0;
  int report_fd_ = -1;
  Report report_;
  Clock::time_point started_;
  int quick_failures_ = 0;
  bool stopping_ = false, restart_ = false, was_ready_once_ = false;
};

}  // namespace

void Readiness::ready() {
  if (fd_ >= 0) [[maybe_unused]] ssize_t written = write(fd_, "R", 1);
  close();
}

void Readiness::fail(std::string_view message) {
  std::string text = "F" + std::string(message.substr(0, kMaxMessage - 1));
  if (fd_ >= 0) [[maybe_unused]] ssize_t written = write(fd_, text.data(), text.size());
  close();
}

void Readiness::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Detached detach() {
  Detached result;
  int pipe[2];
  fflush(nullptr);
  pid_t first = pipe2(pipe, O_CLOEXEC) == 0 ? fork() : -1;
  if (first < 0) {
    result.parent = true;
    result.exit_code = 1;
    result.message = fmt::format("cannot detach: {}", std::strerror(errno));
    return result;
  }
  if (first == 0) {
    setsid();
    if (pid_t second = fork()) _exit(second < 0);   // never again the leader of a session: no terminal can be acquired
    close(pipe[0]);
    streams_to_null();
    result.readiness = Readiness(pipe[1]);
    return result;
  }
  close(pipe[1]);
  while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {}
  Report report;
  while (report.open && !report.ready()) read_report(pipe[0], report);
  close(pipe[0]);
  result.parent = true;
  result.exit_code = report.ready() ? 0 : 1;
  if (!report.ready()) result.message = report.failed() ? report.message() : "the process died before it was ready";
  return result;
}

int supervise(const SupervisorOptions& options, Readiness outer, const std::function<int(Readiness&)>& child) {
  return Supervisor(options, outer, child).run();
}

}  // namespace loligo
