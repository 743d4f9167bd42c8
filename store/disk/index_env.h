// LevelDB's view of the file system: everything by way of Files, with plain reads
// instead of mapped memory, so that what the index reads does not count as ours.
//
// Any thread. Background work (compaction) runs on LevelDB's own thread.
#pragma once
#include <leveldb/env.h>

#include <memory>
#include <mutex>
#include <string_view>

#include "store/disk/files.h"

namespace loligo::store::disk {

// LevelDB's list of its files, MANIFEST-number, only grows. One that is shorter than it was, or has gone, no longer names
// tables whose contents are lost; LevelDB itself opens such an index without a word, for the latest writes stand in its log.
struct ManifestState {
  uint64_t number = 0, bytes = 0;   // 0: none
  bool lost_since(const ManifestState& old) const { return number < old.number || (number == old.number && bytes < old.bytes); }
};

// The manifest that CURRENT names.
ManifestState manifest_on_disk(Files&, const std::string& directory);

// Follows what is written to the manifest.
class ManifestWatch {
 public:
  void wrote(std::string_view file_name, uint64_t bytes);
  ManifestState state() const;

 private:
  mutable std::mutex mutex_;
  ManifestState state_;
};

// `watch` lives as long as the environment.
std::unique_ptr<leveldb::Env> make_index_env(Files&, ManifestWatch& watch);

}  // namespace loligo::store::disk
