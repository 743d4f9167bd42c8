// What squid.conf says to the store: how much memory and disk, for which
// objects, under which replacement policy.
// Plain data, immutable once loaded; any thread. Sizes are bytes, -1 = unlimited.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "config/directive.h"

namespace loligo::store {

enum class Replacement : unsigned char { lru, heap_lru, heap_gdsf, heap_lfuda, s3fifo, adaptive };
std::string_view policy_name(Replacement);   // as squid.conf spells it
enum class MemoryCacheMode : unsigned char { always, disk, network };
enum class DirectorySelection : unsigned char { least_load, round_robin };

// One cache_dir line. ufs, aufs, diskd and rock are spellings of the same store.
struct CacheDir {
  config::Place place;
  std::string type, path;
  int64_t size = 0;              // bytes
  int64_t min_size = 0, max_size = -1;
  bool read_only = false;
  Replacement policy = Replacement::adaptive;  // cache_replacement_policy as it stood above the line
  std::string original;          // as typed, for mgr:config
};

struct Settings {
  int64_t cache_mem = 256LL << 20;
  int64_t maximum_object_size_in_memory = 512 * 1024;
  Replacement memory_replacement_policy = Replacement::adaptive, cache_replacement_policy = Replacement::adaptive;
  MemoryCacheMode memory_cache_mode = MemoryCacheMode::always;
  config::Place memory_cache_mode_place;
  int64_t maximum_object_size = 4LL << 20, minimum_object_size = 0;
  bool maximum_object_size_given = false;   // then it bounds memory too, else cache_dir lines alone
  std::vector<CacheDir> cache_dirs;
  int cache_swap_low = 90, cache_swap_high = 95;
  DirectorySelection store_dir_select_algorithm = DirectorySelection::least_load;
  base::Milliseconds store_sync_interval{5000};
};

std::span<const config::Directive> directives();

}  // namespace loligo::store
