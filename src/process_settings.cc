// The directives that concern the process as a whole.
#include <cstdio>

#include "config/bind.h"
#include "settings.h"

namespace loligo {
namespace {

using namespace config;

// Octal where it is written so (027), in any case at most 0777.
void parse_umask(const Statement& s, void* settings, Problems& problems) {
  int64_t value = 0;
  if (!read_integer(s, 0, 0, 0777, value, problems)) return;
  if (s.words[0].text[0] != '0') problems.warning(s.at(0), "umask is read as a decimal number", "write 0" + s.words[0].text + " if you mean an octal one");
  static_cast<ProcessSettings*>(settings)->umask = int(value);
}
void dump_umask(const Directive& self, const void* settings, std::string& out) {
  char octal[16];
  std::snprintf(octal, sizeof octal, "%#o", unsigned(static_cast<const ProcessSettings*>(settings)->umask));
  dump_line(self, octal, out);
}

constexpr Directive kDirectives[] = {
    integer<&ProcessSettings::workers, 0, kMostWorkers>("workers", "1", "How many threads serve connections, up to 64. 0 and 1 are the same."),
    text<&ProcessSettings::pid_filename>("pid_filename", "path|none", "<localstatedir>/run/loligo.pid", "Where the process writes its number. A file left behind by a killed process never keeps a new one from starting."),
    text<&ProcessSettings::cache_effective_user>("cache_effective_user", "user", "none", "The user to become after a start as root."),
    text<&ProcessSettings::cache_effective_group>("cache_effective_group", "group", "none", "The group to become; by default those of cache_effective_user."),
    text<&ProcessSettings::coredump_dir>("coredump_dir", "path|none", "none", "The directory to change to, where a core file would be left."),
    text<&ProcessSettings::chroot>("chroot", "path", "none", "The directory to make the root after start."),
    duration<&ProcessSettings::shutdown_lifetime>("shutdown_lifetime", "8 seconds", "How long requests under way may go on after SIGTERM. Less than the 10 seconds after which container engines kill; Squid waits 30."),
    custom("umask", "octal", "027", "Permissions that new files do not get.", parse_umask, dump_umask),
    accepted("cpu_affinity_map", "none", "the kernel places threads."),
    accepted("shared_memory_locking", "off", "the cache lies in the process's own memory."),
    accepted("hopeless_kid_revival_delay", "1 hour", "workers are threads."),
    accepted("mail_from", "none", "no mail is sent."),
    accepted("mail_program", "mail", "no mail is sent."),
    accepted("high_response_time_warning", "0", "metrics tell the same."),
    accepted("high_page_fault_warning", "0", "metrics tell the same."),
    accepted("high_memory_warning", "0 KB", "metrics tell the same."),
    obsolete("sleep_after_fork", "nothing waits after a fork."),
};

}  // namespace

std::span<const config::Directive> process_directives() { return kDirectives; }

}  // namespace loligo
