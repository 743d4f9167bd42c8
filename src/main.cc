// Loligo's entry: reads the command line and the configuration, becomes the
// process it shall be, and runs the service. Wiring only.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/allocator.h"
#include "base/event_log.h"
#include "cache_dirs.h"
#include "main_options.h"
#include "process_control.h"
#include "service.h"
#include "settings.h"

namespace {

using namespace loligo;

void say(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

int fail(Readiness& readiness, const std::string& text) {
  say("loligo: " + text);
  readiness.fail(text);
  return 1;
}

config::ReadOptions read_options(const MainOptions& options) {
  config::ReadOptions r;
  r.macros.service_name = options.service_name;
  return r;
}

// -k for a running process: its pid file is known from the configuration.
int control(const MainOptions& options, const std::string& path) {
  if (options.control == ControlAction::parse) return parse_only(path, read_options(options));
  config::Problems problems;
  Settings settings = load_settings(path, read_options(options), problems);
  if (problems.has(config::Severity::error)) {
    std::fputs(format_problems(problems).c_str(), stderr);
    return 1;
  }
  ControlResult result = send_control(options.control, settings.process.pid_filename);
  if (!result.message.empty()) say(result.message);
  return result.exit_code;
}

// What runs under the supervisor, or alone with -N.
int serve(const MainOptions& options, const Settings& settings, const std::string& path, Readiness& readiness) {
  PidFile pid_file;
  if (options.no_daemon)
    if (std::string error = pid_file.acquire(settings.process.pid_filename); !error.empty()) return fail(readiness, error);
  ::umask(mode_t(settings.process.umask));
  uint64_t descriptors = set_descriptor_limit(uint64_t(std::max(settings.net.max_filedescriptors, 0)));
  if (std::string error = enable_core_dumps(settings.process.coredump_dir); !error.empty()) say("loligo: " + error);
  std::string error;
  auto identity = find_identity(settings.process.cache_effective_user, settings.process.cache_effective_group, error);
  if (!error.empty()) return fail(readiness, error);
  Service service(options, settings, path, read_options(options));
  service.descriptor_limit = descriptors;
  auto refuse = [&](const std::vector<std::string>& failures) {
    for (size_t i = 1; i < failures.size(); ++i) say("loligo: " + failures[i]);
    return fail(readiness, failures[0]);
  };
  if (auto failures = service.prepare(); !failures.empty()) return refuse(failures);
  // Within a chroot they must be there.
  if (settings.process.chroot.empty())
    if (auto failures = make_cache_dirs(settings.store, identity); !failures.empty()) return refuse(failures);
  if (error = enter_chroot(settings.process.chroot); !error.empty()) return fail(readiness, error);
  if (identity)
    if (error = assume_identity(*identity); !error.empty()) return fail(readiness, error);
  base::start_allocator_thread();
  if (auto failures = service.open_disk(); !failures.empty()) return refuse(failures);
  return service.run(readiness);
}

int start(const MainOptions& options, const std::string& path) {
  config::Problems problems;
  Settings settings = load_settings(path, read_options(options), problems);
  check_rules(settings, problems, resolve_host);
  check_outside(settings, problems);
  if (!problems.list().empty()) std::fputs(format_problems(problems).c_str(), stderr);
  if (!may_start(problems)) {
    say("loligo: not started: see the lines above");
    return 1;
  }
  if (options.create_directories) return 0;   // -z: there is nothing to make before the start
  Readiness alone;
  if (options.no_daemon) return serve(options, settings, path, alone);

  Readiness outer;
  if (!options.foreground) {
    Detached detached = detach();
    if (detached.parent) {
      if (!detached.message.empty()) say("loligo: " + detached.message);
      return detached.exit_code;
    }
    outer = std::move(detached.readiness);
  }
  SupervisorOptions supervisor;
  supervisor.pid_path = settings.process.pid_filename;
  supervisor.log = [](std::string_view line) { base::log_event(base::Section::main, 0, "{}", line); };
  return supervise(supervisor, std::move(outer), [&](Readiness& readiness) { return serve(options, settings, path, readiness); });
}

}  // namespace

int main(int argc, char** argv) {
  auto [options, error] = parse_main_options({argv + 1, size_t(argc - 1)});
  if (!error.empty()) {
    say("loligo: " + error);
    say(usage_line());
    return 1;
  }
  if (options.help) return std::fputs(help_text().c_str(), stdout), 0;
  if (options.version) return std::fputs(version_text(options.service_name).c_str(), stdout), 0;
  if (options.print_manual) return std::fputs(manual_page().c_str(), stdout), 0;
  std::string path = options.config_file.empty() ? SYSCONFDIR "/loligo.conf" : options.config_file;
  if (options.control != ControlAction::none) return control(options, path);
  return start(options, path);
}
