// LevelDB's view of the file system: everything by way of Files, with plain reads
// instead of mapped memory, so that what the index reads does not count as ours.
//
// Any thread. Background work (compaction) runs on LevelDB's own thread.
#pragma once
#include <leveldb/env.h>

#include <memory>

#include "store/disk/files.h"

namespace loligo::store::disk {

std::unique_ptr<leveldb::Env> make_index_env(Files&);

}  // namespace loligo::store::disk
