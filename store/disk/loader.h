// The start of a directory, behind the scenes: opens the index, reads what the
// segments have beyond it, lets requests in, and fills the table; without a sound
// index it rebuilds everything from the segments.
//
// A thread of its own, which ends when the table is whole.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <thread>

#include "store/disk/segment.h"
#include "store/disk/syncer.h"

namespace loligo::store::disk {

class Loader {
 public:
  Loader(Core& core, Syncer& syncer) : core_(core), syncer_(syncer) {}
  ~Loader() { join(); }
  void start();
  void join();

 private:
  void run();
  bool open_index();
  bool read_tail(Place from);
  bool load_index();
  void rebuild(uint32_t newest);
  bool replay(const base::Ref<Segment>&, uint64_t from, bool count);
  void replay_item(const SegmentScan::Item&, bool count);
  bool stands(const Entry&) const;
  bool shadowed(const Key&, Variant) const;

  Core& core_;
  Syncer& syncer_;
  std::vector<Key> tail_keys_;
  // Removals read backwards: of ids, and, once such an object is met, of those whose place it had taken.
  boost::unordered_flat_set<uint64_t> erased_ids_;
  boost::unordered_flat_map<Key, std::vector<Variant>, KeyHash> shadows_;
  bool tail_whole_ = true;
  std::thread thread_;
};

}  // namespace loligo::store::disk
