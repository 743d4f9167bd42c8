// The segment files of one directory, and reading one from end to end.
//
// A segment is append-only and has one writer; readers hold a reference and can
// go on although the file is removed meanwhile. Any thread.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "store/disk/files.h"
#include "store/disk/format.h"

namespace loligo::store::disk {

class Segment final : public base::RefCounted {
 public:
  Segment(uint32_t number, uint64_t salt, base::Ref<File> file, uint64_t end, uint64_t capacity);
  uint64_t end() const { return end_.load(std::memory_order_acquire); }
  void set_end(uint64_t end) { end_.store(end, std::memory_order_release); }
  uint64_t seed(Place p) const { return record_seed(salt, p); }

  // Whether the record has been checked since the start. Kept for large records only, those that are sent from the
  // file: they hold a boundary of kMarkBytes, which no other record does.
  bool checked(uint64_t offset, uint64_t bytes) const;
  void set_checked(uint64_t offset, uint64_t bytes);
  static constexpr uint64_t kMarkBytes = 64 << 10;

  const uint32_t number;
  const uint64_t salt;
  const base::Ref<File> file;
  uint64_t sync_begun = 0;            // up to here; the syncer's
  std::atomic<bool> removed{false};   // its file has no name any more: whoever holds it for later lets it go, and the space with it

 private:
  std::atomic<uint64_t> end_;       // of what is written
  std::vector<std::atomic<uint64_t>> marks_;
};

class Segments {
 public:
  Segments(Files& files, std::string path, uint64_t segment_bytes) : files_(files), path_(std::move(path)), segment_bytes_(segment_bytes) {}

  // Opens what is there. Segments of another format version are removed (`other_version` counts them).
  int open(unsigned& other_version);
  base::Ref<Segment> find(uint32_t number) const;
  // The next number; empty, its header written.
  base::Ref<Segment> create(int& error);
  int remove(uint32_t number);
  std::vector<base::Ref<Segment>> all() const;   // oldest first
  base::Ref<Segment> oldest() const;
  // Numbers below this are not used again.
  void reserve_numbers(uint32_t below);
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void grew(uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  size_t count() const;
  uint64_t segment_bytes() const { return segment_bytes_; }

 private:
  Files& files_;
  const std::string path_;
  const uint64_t segment_bytes_;
  mutable std::shared_mutex mutex_;
  std::map<uint32_t, base::Ref<Segment>> map_;
  std::atomic<uint64_t> bytes_{0};
  uint32_t next_number_ = 1;
  uint64_t salt_ = 0;
};

// Reads the record headers of a segment in order, from a buffer that runs ahead while records are small. Where bytes
// are damaged it goes on at the next record that is sound.
class SegmentScan {
 public:
  SegmentScan(base::Ref<Segment> segment, uint64_t from, uint64_t to);
  struct Item { RecordHeader header; Place place; };
  bool next(Item&);
  // Whether all bytes up to here belong to sound records, and where the last of them ends.
  bool whole() const { return whole_; }
  uint64_t position() const { return at_; }
  int error() const { return error_; }

 private:
  const char* bytes_at(uint64_t offset, uint64_t need);
  bool resynchronise();
  static constexpr uint64_t kBufferBytes = 256 << 10;

  base::Ref<Segment> segment_;
  uint64_t at_, to_;
  std::unique_ptr<char[]> buffer_;
  uint64_t buffer_offset_ = 0, buffer_bytes_ = 0, last_need_ = 0;
  bool whole_ = true;
  int error_ = 0;
};

}  // namespace loligo::store::disk
