// A body that stays in its segment files: pieces are handed out once their record
// has been read and checked, and are then sent straight from the file.
//
// It may grow while its object is written. Shared by the readers of one body; any thread. Keeps its segments' files open.
#pragma once
#include <deque>
#include <mutex>
#include <vector>

#include "store/disk/core.h"
#include "store/disk/read_pool.h"
#include "store/disk/record_reader.h"

namespace loligo::store::disk {

class FileBody final : public BodySource {
 public:
  // Null when one of its segments is gone.
  static base::Ref<FileBody> make(std::shared_ptr<Core>, std::shared_ptr<ReadPool>, const Key&, uint64_t id, std::vector<Extent>);

  // One more part, just written: its bytes are known to be right.
  void append(const Extent&, base::Ref<Segment>);

  Ready piece(uint64_t offset, Piece&) override;
  bool wait(Reader*, uint64_t offset) override;
  void leave(Reader*) override;

  // Reads and checks the first part, if that has not been done since the start; waits for the disk.
  RecordReader::Result check_first();
  bool first_checked() const;

 private:
  enum class State : uint8_t { unknown, reading, ready, damaged };
  struct Part { Extent extent; uint64_t offset; base::Ref<Segment> segment; bool trusted = false; State state = State::unknown; };
  struct Waiting { Reader* reader; size_t part; };

  FileBody(std::shared_ptr<Core> core, std::shared_ptr<ReadPool> pool, const Key& key, uint64_t id)
      : core_(std::move(core)), pool_(std::move(pool)), key_(key), id_(id) {}
  size_t part_at(uint64_t offset) const;
  State look(Part&);
  void request(size_t part);
  void read(size_t part);
  static bool in_page_cache(const Part&);
  static bool checked(const Part&);

  const std::shared_ptr<Core> core_;       // a transfer may outlive the directory: then it ends
  const std::shared_ptr<ReadPool> pool_;
  const Key key_;
  const uint64_t id_;
  mutable std::mutex mutex_;
  std::deque<Part> parts_;
  std::vector<Waiting> waiting_;
};

}  // namespace loligo::store::disk
