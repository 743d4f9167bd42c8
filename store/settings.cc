#include "store/settings.h"

#include "config/bind.h"

namespace loligo::store {
namespace {

using namespace config;

constexpr Choice<MemoryCacheMode> kModes[] = {{"always", MemoryCacheMode::always}, {"disk", MemoryCacheMode::disk}, {"network", MemoryCacheMode::network}};
constexpr Choice<DirectorySelection> kSelections[] = {{"least-load", DirectorySelection::least_load}, {"round-robin", DirectorySelection::round_robin}};
constexpr std::pair<std::string_view, Replacement> kPolicies[] = {
    {"lru", Replacement::lru}, {"heap LRU", Replacement::heap_lru}, {"heap GDSF", Replacement::heap_gdsf}, {"heap LFUDA", Replacement::heap_lfuda}, {"s3fifo", Replacement::s3fifo}, {"adaptive", Replacement::adaptive}};

template <auto Member>
void parse_policy(const Statement& s, void* settings, Problems& problems) {
  if (!require_word(s, 0, "a policy", problems)) return;
  std::string policy = s.words[0].text;
  if (policy == "heap" && s.words.size() > 1) policy += " " + s.words[1].text;
  for (auto& [name, value] : kPolicies)
    if (name == policy) {
      Field<Member>::in(settings) = value;
      return warn_surplus(s, name.find(' ') == name.npos ? 1 : 2, problems);
    }
  problems.error(s.at(0), "'" + policy + "' is no replacement policy", "one of: adaptive, s3fifo, lru, heap LRU, heap GDSF, heap LFUDA");
}
template <auto Member>
void dump_policy(const Directive& self, const void* settings, std::string& out) {
  for (auto& [name, value] : kPolicies)
    if (value == Field<Member>::in(settings)) dump_line(self, name, out);
}
template <auto Member>
constexpr Directive policy(std::string_view names, std::string_view default_value, std::string_view text) {
  return custom(names, "adaptive|s3fifo|lru|heap LRU|heap GDSF|heap LFUDA", default_value, text, parse_policy<Member>, dump_policy<Member>);
}

// "min-size=", "max-size=" and what only Squid's own directories know.
void directory_option(const Statement& s, size_t i, CacheDir& dir, Problems& problems) {
  std::string_view word = s.words[i].text;
  int64_t value = 0;
  bool limit = word.starts_with("min-size=") || word.starts_with("max-size=");
  if (limit && parse_integer(word.substr(9), value) && value >= -1) (word[1] == 'i' ? dir.min_size : dir.max_size) = value;
  else if (limit) problems.error(s.at(i), "'" + std::string(word) + "' is no number of bytes");
  else if (word == "no-store" || word == "read-only") dir.read_only = true;
  else if (!word.starts_with("Q1=") && !word.starts_with("Q2=") && !word.starts_with("slot-size=") && !word.starts_with("swap-timeout=") && !word.starts_with("max-swap-rate="))
    problems.error(s.at(i), "'" + std::string(word) + "' is no option of cache_dir", "min-size=, max-size=, read-only");
}

// cache_dir TYPE DIR MB [L1 L2] [option ...]
void parse_cache_dir(const Statement& s, void* settings, Problems& problems) {
  auto& store = *static_cast<Settings*>(settings);
  if (!require_word(s, 0, "a type, a directory and a size in MB", problems)) return;
  CacheDir dir{s.place, s.words[0].text, "", 0, 0, store.maximum_object_size, false, store.cache_replacement_policy, std::string(rest_without_comment(s))};
  if (dir.type == "null") return;  // no disk cache
  if (dir.type != "ufs" && dir.type != "aufs" && dir.type != "diskd" && dir.type != "rock")
    return problems.error(s.at(0), "'" + dir.type + "' is no type of cache_dir", "ufs, aufs, diskd or rock");
  if (!require_word(s, 2, "a type, a directory and a size in MB", problems)) return;
  dir.path = s.words[1].text;
  int64_t megabytes = 0;
  if (!read_integer(s, 2, 1, int64_t(1) << 40, megabytes, problems)) return;
  dir.size = megabytes << 20;
  size_t i = 3;
  for (int level = 0; level < 2 && i < s.words.size() && s.words[i].text.find_first_not_of("0123456789") == std::string::npos; ++level) ++i;
  for (; i < s.words.size(); ++i) directory_option(s, i, dir, problems);
  store.cache_dirs.push_back(std::move(dir));
}
void dump_cache_dir(const Directive& self, const void* settings, std::string& out) {
  for (const CacheDir& d : static_cast<const Settings*>(settings)->cache_dirs) dump_line(self, d.original, out);
}

void parse_memory_cache_mode(const Statement& s, void* settings, Problems& problems) {
  constexpr Directive plain = choice<&Settings::memory_cache_mode, kModes>("", "", "", "");
  plain.parse(s, settings, problems);
  static_cast<Settings*>(settings)->memory_cache_mode_place = s.place;
}
constexpr Directive memory_cache_mode() {
  Directive d = choice<&Settings::memory_cache_mode, kModes>(
      "memory_cache_mode", "always|disk|network", "always",
      "What is kept in memory: always everything recent, disk only what was read from disk (nothing without a cache_dir), network only what came from the network.");
  d.parse = parse_memory_cache_mode;
  return d;
}

// Its default is one for cache_dir lines: memory has maximum_object_size_in_memory.
void parse_maximum_object_size(const Statement& s, void* settings, Problems& problems) {
  constexpr Directive plain = bytes<&Settings::maximum_object_size>("", "", "");
  plain.parse(s, settings, problems);
  static_cast<Settings*>(settings)->maximum_object_size_given = s.place.line > 0;
}
constexpr Directive maximum_object_size() {
  Directive d = bytes<&Settings::maximum_object_size>(
      "maximum_object_size", "4 MB", "The largest object stored by the cache_dir lines below it. Where the file gives it, memory keeps no larger one either.");
  d.parse = parse_maximum_object_size;
  return d;
}

constexpr Directive kDirectives[] = {
    bytes<&Settings::cache_mem>("cache_mem", "256 MB", "Memory for cached objects."),
    bytes<&Settings::maximum_object_size_in_memory>("maximum_object_size_in_memory", "512 KB", "The largest object kept in memory."),
    policy<&Settings::memory_replacement_policy>("memory_replacement_policy", "adaptive",
           "Which objects leave memory first. adaptive, the default, learns from the requests which objects will be asked for again, and prefers small ones, with some regard for bytes. s3fifo disregards size."),
    memory_cache_mode(),
    maximum_object_size(),
    bytes<&Settings::minimum_object_size>("minimum_object_size", "0 KB", "The smallest object kept, in memory or on disk."),
    policy<&Settings::cache_replacement_policy>("cache_replacement_policy", "adaptive", "Which objects leave the disk first, for the cache_dir lines below it."),
    custom("cache_dir", "ufs|aufs|diskd|rock directory MB [option ...]", "none",
           "A directory for cached objects and its size. All types open the same store. Options: min-size=BYTES, max-size=BYTES, read-only.", parse_cache_dir, dump_cache_dir, true),
    percent<&Settings::cache_swap_low>("cache_swap_low", "90", "Replacement frees disk space down to this share of a cache_dir."),
    percent<&Settings::cache_swap_high>("cache_swap_high", "95", "Replacement becomes hasty when a cache_dir is fuller than this."),
    choice<&Settings::store_dir_select_algorithm, kSelections>("store_dir_select_algorithm", "least-load|round-robin", "least-load", "Which of several directories takes a new object."),
    duration<&Settings::store_sync_interval>("store_sync_interval", "5 seconds", "How often what was stored is forced to the disk: a power failure costs at most that much. A crash of the process costs nothing. 0 = the system decides."),
    accepted("memory_cache_shared", "none", "all workers share one cache anyway."),
    accepted("shared_transient_entries_limit collapsed_forwarding_shared_entries_limit", "16384", "all workers share one cache anyway."),
    accepted("max_open_disk_fds", "0", "the store opens few files."),
    accepted("paranoid_hit_validation", "0", "every block is checked before it is sent anyway."),
    accepted("cache_swap_state cache_swap_log", "none", "the index lies in the cache directory."),
    accepted("store_avg_object_size", "13 KB", "no table is sized in advance."),
    obsolete("memory_pools", "the allocator keeps free memory by itself."),
    obsolete("memory_pools_limit", "the allocator keeps free memory by itself."),
    obsolete("unlinkd_program", "files are removed without a helper."),
    obsolete("diskd_program", "files are written without a helper."),
    obsolete("store_objects_per_bucket", "the index sizes itself."),
    obsolete("zero_buffers", "buffers hold no old data."),
};

}  // namespace

std::string_view policy_name(Replacement policy) {
  for (auto& [name, value] : kPolicies)
    if (value == policy) return name;
  return "adaptive";
}

std::span<const config::Directive> directives() { return kDirectives; }

}  // namespace loligo::store
