#include "store/disk/directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/event_log.h"

namespace loligo::store::disk {

std::unique_ptr<Directory> Directory::open(std::shared_ptr<Core::Shared> shared, const DiskDirectoryOptions& options, Files& files, unsigned number, std::string& failure) {
  auto fail = [&](const char* what, int error) {
    failure = fmt::format("cache_dir {}: {}: {}", options.path, what, std::strerror(-error));
    return nullptr;
  };
  if (int error = files.make_directory(options.path)) return fail("cannot be made or used", error);
  int error = 0;
  base::Ref<File> lock = files.lock(options.path + "/lock", error);
  if (!lock && error == -EWOULDBLOCK) {
    failure = fmt::format("cache_dir {}: another process uses it (lock is held)", options.path);
    return nullptr;
  }
  if (!lock) return fail("cannot be locked", error);
  auto core = std::make_shared<Core>(std::move(shared), options, files, number);
  unsigned other_version = 0;
  if ((error = core->segments.open(other_version))) return fail("cannot be read", error);
  if (other_version) {
    base::log_event(base::Section::storage, 1, "cache_dir {}: {} segments of another format version: emptied", options.path, other_version);
    Index::discard(files, core->index_path());
  }
  return std::unique_ptr<Directory>(new Directory(std::move(core), std::move(lock)));
}

Directory::Directory(std::shared_ptr<Core> core, base::Ref<File> lock)
    : core_(std::move(core)), pool_(std::make_shared<ReadPool>()), lock_(std::move(lock)), syncer_(*core_), writer_(*core_, syncer_, pool_),
      finder_(core_, pool_, writer_), loader_(*core_, syncer_), reclaimer_(*core_, writer_, syncer_) {
  core_->table.begin_loading();
  core_->on_damage([this](const Key& key, uint64_t id) {
    if (auto entry = core_->table.find(key, id)) writer_.drop(key, id, entry->place);
  });
  pool_->start(core_->all.read_threads);
  syncer_.start();
  writer_.start();
  loader_.start();
  reclaimer_.start();
}

// Bytes first: the writer ends before the syncer, which leaves an index that lists everything.
Directory::~Directory() {
  core_->on_damage({});
  core_->stop();
  reclaimer_.join();
  loader_.join();
  writer_.stop();
  syncer_.stop();
  core_->reporter.stop();
  pool_->stop();
}

bool Directory::takes(uint64_t length) const {
  const DiskDirectoryOptions& o = core_->options;
  if (o.read_only || core_->health.failed()) return false;
  return length == kUnknownLength || (length >= o.min_object && length <= o.max_object);
}

double Directory::load() const {
  return double(writer_.queued_bytes()) / double(core_->all.queue_bytes + 1) + 0.001 * double(core_->used()) / double(core_->options.capacity + 1);
}

Disk::DirectoryState Directory::state() const {
  Disk::DirectoryState s;
  s.path = core_->options.path;
  s.policy = core_->options.policy;
  s.loading = core_->loading();
  s.failed = core_->health.failed();
  s.read_only = core_->options.read_only;
  s.capacity = core_->options.capacity;
  s.used = core_->used();
  s.objects = core_->table.objects();
  s.segments = s.open_files = unsigned(core_->segments.count());
  return s;
}

}  // namespace loligo::store::disk
