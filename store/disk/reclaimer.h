// Makes room: the oldest segment goes, and those of its objects that are worth it
// are carried over to the newest (CarryOver decides).
//
// A thread of its own. Does nothing while the directory loads.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <thread>

#include "store/disk/carry_over.h"
#include "store/disk/record_reader.h"
#include "store/disk/writer.h"

namespace loligo::store::disk {

class Reclaimer {
 public:
  Reclaimer(Core& core, Writer& writer, Syncer& syncer) : core_(core), writer_(writer), syncer_(syncer), carry_over_(core.options.policy) {}
  ~Reclaimer() { join(); }
  void start();
  void join();   // after Core::stop()

 private:
  // An object some of whose records lie in the segment.
  struct Object {
    Entry entry;
    uint64_t bytes_here = 0;
    bool simple = true;        // its one record
  };
  using Objects = boost::unordered_flat_map<uint64_t, Object>;   // by id

  void run();
  bool must_reclaim(uint64_t wanted) const;
  void reclaim(const base::Ref<Segment>&);
  Objects objects_in(const base::Ref<Segment>&, std::vector<Carried>& bans);
  unsigned carry(const base::Ref<Segment>&, const Objects&);
  void carry_record(const Object&, std::vector<Carried>& batch);
  bool carry_parts(const Object&, uint32_t segment);
  void drop_all(uint32_t segment, const Objects&);
  std::optional<Carried> whole_record(const Entry&, bool keep_uses);

  static constexpr int64_t kLookMs = 50;
  static constexpr uint64_t kBatchBytes = 2 << 20;
  static constexpr size_t kMostSegments = 2048;    // small ones add up when a proxy is killed often

  Core& core_;
  Writer& writer_;
  Syncer& syncer_;
  const CarryOver carry_over_;
  // Allowance that earlier segments did not use, so that large objects are carried too; a segment's bytes with its own.
  const uint64_t most_saved_ = uint64_t(double(core_.segments.segment_bytes()) * (1 - CarryOver::kShare));
  uint64_t saved_ = most_saved_;
  std::thread thread_;
};

}  // namespace loligo::store::disk
