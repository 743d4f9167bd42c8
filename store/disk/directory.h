// One cache_dir: puts together what works on it. Made by Disk::open().
//
// Any thread, but for open() and the destructor.
#pragma once
#include <memory>
#include <string>

#include "store/disk/finder.h"
#include "store/disk/loader.h"
#include "store/disk/reclaimer.h"

namespace loligo::store::disk {

class Directory {
 public:
  // Null, and a line that says why, when the directory cannot be used.
  static std::unique_ptr<Directory> open(std::shared_ptr<Core::Shared>, const DiskDirectoryOptions&, Files&, unsigned number, std::string& failure);
  ~Directory();

  Core& core() { return *core_; }
  const Core& core() const { return *core_; }
  Writer& writer() { return writer_; }
  Finder& finder() { return finder_; }
  ReadPool& pool() { return *pool_; }
  Disk::DirectoryState state() const;
  // Whether an object of that length may be stored here.
  bool takes(uint64_t length) const;
  double load() const;      // for least-load: how full its queue is, then its space

 private:
  Directory(std::shared_ptr<Core>, base::Ref<File> lock);

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<ReadPool> pool_;
  base::Ref<File> lock_;
  Syncer syncer_;
  Writer writer_;
  Finder finder_;
  Loader loader_;
  Reclaimer reclaimer_;
};

}  // namespace loligo::store::disk
