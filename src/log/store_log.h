// cache_store_log: what becomes of objects, a line each, as Squid writes it.
//
//   time action directory file key status date last-modified expires type expected/real method url
//
// SWAPOUT: the object is on disk now. RELEASE: it has gone from there, or from
// memory without being on disk, or was never kept. SO_FAIL: the disk did not
// take it. `file` is the segment's number. Squid's SWAPIN is in its table of
// words, yet never written; nor is it here: a hit costs nothing.
//
// Owner: main. Any thread may write(): one short lock, no I/O; a line that finds
// no room is dropped and counted.
#pragma once
#include <atomic>
#include <mutex>
#include <string_view>

#include "base/clock.h"
#include "log/writer.h"

namespace loligo::log {

struct StoreRecord {
  enum class Action : uint8_t { swapout, release, so_fail };
  Action action = Action::release;
  base::WallMicroseconds time_us = 0;
  int directory = -1;               // the number of its cache_dir line; -1 = not on disk
  uint32_t file = 0xFFFFFFFF;
  uint64_t key_high = 0, key_low = 0;
  bool described = true;            // false: its head is not known, '?' stand for the rest
  int status = 0;
  int64_t date = -1, last_modified = -1, expires = -1;   // seconds since 1970; -1 = not told
  std::string_view content_type;
  int64_t expected = -1, real = 0;  // bytes of the body: as its head told, and what there is; -1 = not told
  std::string_view method = "GET", url;
};

// The line, without its end.
void render(const StoreRecord&, bool strip_query_terms, Buffer&);

class StoreLog {
 public:
  explicit StoreLog(Writer& writer) : writer_(writer) {}
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void write(const StoreRecord&);
  // Lines that could not even be made.
  void lost(uint64_t lines);
  // Hands what has gathered to the writer.
  void flush();
  // Where lines go from now on; null = nowhere.
  void adopt(DestinationPtr, bool strip_query_terms);

 private:
  static constexpr size_t kBlockBytes = 64 * 1024;
  Writer& writer_;
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  DestinationPtr destination_;
  bool strip_query_terms_ = true;
  Block block_;
};

}  // namespace loligo::log
