#include "cache_dirs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/disk/files.h"

namespace loligo {

std::vector<std::string> make_cache_dirs(const store::Settings& settings, const std::optional<Identity>& identity) {
  std::vector<std::string> failures;
  for (const store::CacheDir& dir : settings.cache_dirs) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(dir.path, error);
    if (!error && made && identity && ::chown(dir.path.c_str(), identity->uid, identity->gid) != 0) error.assign(errno, std::generic_category());
    if (error)
      failures.push_back(fmt::format("{}:{}: cache_dir {} cannot be made: {}", dir.place.file, dir.place.line, dir.path, error.message()));
  }
  return failures;
}

store::DiskOptions disk_options(const store::Settings& settings) {
  store::DiskOptions options;
  for (const store::CacheDir& dir : settings.cache_dirs) {
    store::DiskDirectoryOptions d;
    d.path = dir.path;
    d.capacity = uint64_t(dir.size);
    d.min_object = uint64_t(std::max<int64_t>(dir.min_size, settings.minimum_object_size));
    d.max_object = dir.max_size < 0 ? store::kUnknownLength : uint64_t(dir.max_size);
    d.read_only = dir.read_only;
    d.policy = store::policy_name(dir.policy);
    options.directories.push_back(std::move(d));
  }
  options.round_robin = settings.store_dir_select_algorithm == store::DirectorySelection::round_robin;
  options.low_percent = unsigned(settings.cache_swap_low);
  options.high_percent = unsigned(settings.cache_swap_high);
  options.sync_interval_ms = settings.store_sync_interval.count();
  return options;
}

std::unique_ptr<store::Disk> open_cache_dirs(store::DiskOptions options, std::vector<std::string>& failures) {
  if (options.directories.empty()) return {};
  return store::Disk::open(std::move(options), store::system_files(), failures);
}

}  // namespace loligo
