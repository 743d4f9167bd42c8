// LevelDB's view of the file system: everything by way of Files, with plain reads
// instead of mapped memory, so that what the index reads does not count as ours.
//
// Any thread. Background work (compaction) runs on LevelDB's own thread.
#pragma once
#include <leveldb/env.h>

#include <memory>
#include <string>

#include "store/disk/files.h"

namespace loligo::store::disk {

// LevelDB's list of its files, MANIFEST-number, only grows. One that is shorter than it was, or has gone, no longer names
// tables whose contents are lost; LevelDB itself opens such a database without a word, and removes them. So the environment
// notes how long it is whenever it has been synced. False: it is shorter than noted, or nothing was noted.
bool manifest_is_whole(Files&, const std::string& directory);

std::unique_ptr<leveldb::Env> make_index_env(Files&);

}  // namespace loligo::store::disk
