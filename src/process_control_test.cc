#include "process_control.h"

#define BOOST_TEST_DYN_LINK
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace loligo;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "loligo-process-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  std::string read(const char* name) const {
    std::ifstream in(path / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

// Runs `body` in a process of its own; its exit status after wait().
class Process {
 public:
  explicit Process(const std::function<int()>& body) : pid_((fflush(nullptr), fork())) {
    if (pid_ == 0) _exit(body());
  }
  ~Process() { if (pid_ > 0) { kill(pid_, SIGKILL); wait(); } }
  pid_t pid() const { return pid_; }
  int wait() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

void append(const std::string& file, const std::string& text) {
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  [[maybe_unused]] ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

// A child that writes each command into `file` until told to stop.
int serve(Readiness& ready, const std::string& file) {
  Signals signals;
  append(file, "start " + std::to_string(getpid()) + "\n");
  ready.ready();
  for (bool stop = false; !stop;) {
    pollfd polled{signals.fd(), POLLIN, 0};
    poll(&polled, 1, -1);
    signals.drain([&](Command command) {
      append(file, std::to_string(int(command)) + "\n");
      stop = stop || command == Command::stop || command == Command::stop_now;
    });
  }
  return 0;
}

SupervisorOptions quick_options(const Scratch& scratch) {
  SupervisorOptions options;
  options.pid_path = scratch.file("pid");
  options.max_quick_failures = 2;
  options.first_delay = 20ms;
  options.log = [log = scratch.file("log")](std::string_view line) { append(log, std::string(line) + "\n"); };
  return options;
}

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++n;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pid_file_names_its_process_and_keeps_others_out) {
  Scratch scratch;
  std::string path = scratch.file("loligo.pid");
  BOOST_TEST(!running_pid(path).has_value());
  Process holder([&] {
    PidFile file;
    if (!file.acquire(path).empty()) return 1;
    pause();
    return 0;
  });
  BOOST_REQUIRE(eventually([&] { return running_pid(path).has_value(); }));
  BOOST_TEST(*running_pid(path) == holder.pid());
  BOOST_TEST(scratch.read("loligo.pid") == std::to_string(holder.pid()) + "\n");
  PidFile second;
  BOOST_TEST(second.acquire(path) == "already running: process " + std::to_string(holder.pid()) + " holds " + path);
  BOOST_TEST(send_control(ControlAction::check, path).exit_code == 0);

  // kill -9 leaves the file; it refuses nothing, although its pid may be anybody's by now.
  BOOST_TEST(send_control(ControlAction::kill, path).exit_code == 0);
  BOOST_TEST(holder.wait() == 1000 + SIGKILL);
  BOOST_TEST(fs::exists(path));
  BOOST_TEST(!running_pid(path).has_value());
  auto told = send_control(ControlAction::check, path);
  BOOST_TEST(told.exit_code == 1);
  BOOST_TEST(told.message == "not running: no process holds " + path);
  PidFile third;
  BOOST_TEST(third.acquire(path) == "");
  third.remove();
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(a_stale_pid_that_lives_again_refuses_nothing) {
  Scratch scratch;
  std::string path = scratch.file("pid");
  for (std::string text : {"1\n", std::to_string(getpid()).c_str(), "garbage", ""}) {
    std::ofstream(path) << text;
    PidFile file;
    BOOST_TEST(file.acquire(path) == "");
    BOOST_TEST(scratch.read("pid") == std::to_string(getpid()) + "\n");
  }
}

BOOST_AUTO_TEST_CASE(a_reader_of_the_pid_file_cannot_keep_the_service_down) {
  Scratch scratch;
  std::string path = scratch.file("pid");
  std::ofstream(path) << "1\n";
  Process reader([&] {
    int fd = open(path.c_str(), O_RDONLY);
    struct flock lock{};
    lock.l_type = F_RDLCK;
    fcntl(fd, F_SETLK, &lock);
    flock(fd, LOCK_SH);
    append(scratch.file("locked"), "x");
    pause();
    return 0;
  });
  BOOST_REQUIRE(eventually([&] { return fs::exists(scratch.file("locked")); }));
  PidFile file;
  BOOST_TEST(file.acquire(path) == "");
}

BOOST_AUTO_TEST_CASE(no_pid_file) {
  PidFile file;
  BOOST_TEST(file.acquire("none") == "");
  BOOST_TEST(file.acquire("") == "");
  BOOST_TEST(send_control(ControlAction::reconfigure, "none").exit_code == 1);
  BOOST_TEST(file.acquire("/nonexistent/dir/pid") == "pid_filename /nonexistent/dir/pid: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_longer_ours_stays) {
  Scratch scratch;
  std::string path = scratch.file("pid");
  PidFile file;
  BOOST_TEST(file.acquire(path) == "");
  fs::remove(path);
  std::ofstream(path) << "7\n";
  file.remove();
  BOOST_TEST(scratch.read("pid") == "7\n");
}

BOOST_AUTO_TEST_CASE(supervisor_passes_signals_on_and_ends_with_its_child) {
  Scratch scratch;
  auto options = quick_options(scratch);
  Process supervisor([&] { return supervise(options, {}, [&](Readiness& r) { return serve(r, scratch.file("out")); }); });
  BOOST_REQUIRE(eventually([&] { return count(scratch.read("out"), "start") == 1; }));
  BOOST_TEST(*running_pid(options.pid_path) == supervisor.pid());
  const struct { ControlAction action; Command command; } kTable[] = {
      {ControlAction::reconfigure, Command::reconfigure}, {ControlAction::rotate, Command::rotate},
      {ControlAction::debug, Command::toggle_debug}, {ControlAction::shutdown, Command::stop}};
  for (auto& row : kTable) {
    BOOST_TEST(send_control(row.action, options.pid_path).exit_code == 0);
    BOOST_TEST(eventually([&] { return scratch.read("out").ends_with("\n" + std::to_string(int(row.command)) + "\n"); }));
  }
  BOOST_TEST(supervisor.wait() == 0);
  BOOST_TEST(!fs::exists(options.pid_path));
  BOOST_TEST(count(scratch.read("out"), "start") == 1u);
}

BOOST_AUTO_TEST_CASE(a_crashed_child_is_started_again_and_restart_does_so_at_once) {
  Scratch scratch;
  auto options = quick_options(scratch);
  Process supervisor([&] { return supervise(options, {}, [&](Readiness& r) { return serve(r, scratch.file("out")); }); });
  BOOST_REQUIRE(eventually([&] { return count(scratch.read("out"), "start") == 1; }));
  pid_t child = std::stoi(scratch.read("out").substr(6));
  kill(child, SIGKILL);
  BOOST_TEST(eventually([&] { return count(scratch.read("out"), "start") == 2; }));
  BOOST_TEST(scratch.read("log").find("was ended by signal 9 (Killed)") != std::string::npos);
  BOOST_TEST(send_control(ControlAction::restart, options.pid_path).exit_code == 0);
  BOOST_TEST(eventually([&] { return count(scratch.read("out"), "start") == 3; }));
  BOOST_TEST(send_control(ControlAction::interrupt, options.pid_path).exit_code == 0);
  BOOST_TEST(supervisor.wait() == 0);
}

BOOST_AUTO_TEST_CASE(the_child_dies_with_its_supervisor) {
  Scratch scratch;
  auto options = quick_options(scratch);
  Process supervisor([&] { return supervise(options, {}, [&](Readiness& r) { return serve(r, scratch.file("out")); }); });
  BOOST_REQUIRE(eventually([&] { return count(scratch.read("out"), "start") == 1; }));
  pid_t child = std::stoi(scratch.read("out").substr(6));
  kill(supervisor.pid(), SIGKILL);
  supervisor.wait();
  BOOST_TEST(eventually([&] {   // gone, or a zombie that process 1 has not collected yet
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string line;
    return !std::getline(stat, line) || line.find(") Z ") != line.npos;
  }));
  PidFile next;
  BOOST_TEST(next.acquire(options.pid_path) == "");
}

BOOST_AUTO_TEST_CASE(it_gives_up_after_too_many_crashes) {
  Scratch scratch;
  auto options = quick_options(scratch);
  Process supervisor([&] {
    return supervise(options, {}, [&](Readiness& r) {
      append(scratch.file("out"), "start\n");
      r.ready();
      return 3;
    });
  });
  BOOST_TEST(supervisor.wait() == 1);
  BOOST_TEST(count(scratch.read("out"), "start") == 3u);
  BOOST_TEST(scratch.read("log").find("exited with status 3; 3 quick failures in a row: giving up") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_child_that_never_gets_ready_is_not_started_again) {
  Scratch scratch;
  auto options = quick_options(scratch);
  Process supervisor([&] {
    return supervise(options, {}, [&](Readiness& r) {
      append(scratch.file("out"), "start\n");
      r.fail("port 3128 is in use");
      return 1;
    });
  });
  BOOST_TEST(supervisor.wait() == 1);
  BOOST_TEST(scratch.read("out") == "start\n");
  BOOST_TEST(scratch.read("log") == "port 3128 is in use\n");
}

BOOST_AUTO_TEST_CASE(detach_waits_for_the_answer) {
  Scratch scratch;
  const struct { int what; int code; std::string message; } kTable[] = {
      {0, 0, ""}, {1, 1, "no room"}, {2, 1, "the process died before it was ready"}, {3, 1, "port taken"}};
  for (auto& row : kTable) {
    std::string out = scratch.file("detach");
    fs::remove(out);
    Process parent([&] {
      Detached detached = detach();
      if (detached.parent) {
        append(out, detached.message);
        return detached.exit_code;
      }
      if (row.what == 0) detached.readiness.ready();
      if (row.what == 1) detached.readiness.fail("no room");
      if (row.what == 3)
        supervise(quick_options(scratch), std::move(detached.readiness), [](Readiness& r) { r.fail("port taken"); return 1; });
      _exit(0);
    });
    BOOST_TEST(parent.wait() == row.code);
    BOOST_TEST(scratch.read("detach") == row.message);
  }
}

BOOST_AUTO_TEST_CASE(unknown_users_are_named) {
  if (geteuid() != 0) return;   // not root: nothing to change, nothing to look up
  std::string error;
  BOOST_TEST(!find_identity("", "", error).has_value());
  BOOST_TEST(error == "");
  BOOST_TEST(!find_identity("nosuchuser", "", error).has_value());
  BOOST_TEST(error == "cache_effective_user nosuchuser: no such user");
  BOOST_TEST(!find_identity("nobody", "nosuchgroup", error).has_value());
  BOOST_TEST(error == "cache_effective_group nosuchgroup: no such group");
  auto named = find_identity("nobody", "", error);
  BOOST_REQUIRE(named.has_value());
  BOOST_TEST(!named->groups.empty());
  BOOST_TEST(find_identity("12345", "54321", error)->gid == 54321u);
}

BOOST_AUTO_TEST_CASE(privileges_are_gone_for_good) {
  if (geteuid() != 0) return;
  Process dropped([] {
    std::string error;
    auto identity = find_identity("nobody", "", error);
    if (!identity || !assume_identity(*identity).empty()) return 1;
    if (getuid() != identity->uid || geteuid() != identity->uid || getegid() != identity->gid) return 2;
    if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0) return 3;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if ((line.starts_with("CapPrm") || line.starts_with("CapEff") || line.starts_with("CapInh") || line.starts_with("CapAmb")) &&
          line.find_first_not_of('0', line.find('\t') + 1) != line.npos)
        return 4;
    return 0;
  });
  BOOST_TEST(dropped.wait() == 0);
}

BOOST_AUTO_TEST_CASE(descriptor_limit) {
  Process limited([] {
    if (set_descriptor_limit(200) != 200) return 1;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur == 200 && set_descriptor_limit(0) == 200 ? 0 : 2;
  });
  BOOST_TEST(limited.wait() == 0);
  BOOST_TEST(set_descriptor_limit(0) <= 1'048'576u);
}

BOOST_AUTO_TEST_CASE(core_dumps_and_chroot_report_errors) {
  BOOST_TEST(enable_core_dumps("") == "");
  BOOST_TEST(enable_core_dumps("none") == "");
  BOOST_TEST(enable_core_dumps("/nonexistent") == "coredump_dir /nonexistent: No such file or directory");
  BOOST_TEST(enter_chroot("") == "");
  BOOST_TEST(enter_chroot("/nonexistent").starts_with("chroot /nonexistent: "));
}
