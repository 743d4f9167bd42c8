// The rows of mgr:objects, vm_objects and openfd_objects: what memory has, then
// what only the disk has; or what is being written.
//
// Some at a time, so that a million of them hold no lock and no loop for long.
// What changes meanwhile may be missed or shown twice. Of what only the disk
// has, the table knows key, size, place and uses; the head is read where it is in
// the page cache. Waiting for it would cost a disk access an object: minutes to
// hours for a million.
//
// Worker 0's thread.
#pragma once
#include <memory>
#include <vector>

#include "cache/cache.h"
#include "mgr/sources.h"

namespace loligo {

std::unique_ptr<mgr::ObjectRows> object_rows(const cache::Cache&, mgr::Objects which);

}  // namespace loligo
