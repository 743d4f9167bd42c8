// For tests: the real file system, with faults. Power loss forgets what was not
// synced; a full disk, errors, slowness and "not in the page cache" come on demand.
//
// Any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "store/disk/files.h"

namespace loligo::store {

class SimulatedFiles final : public Files {
 public:
  std::atomic<int> write_error{0}, read_error{0}, sync_error{0};   // negative errno, for paths that contain `where`
  std::string where;                                                // set before use
  std::atomic<int64_t> space{INT64_MAX};                            // bytes that may still be written
  std::atomic<bool> tells_space{false};                             // as file systems do and quotas do not; removed files count
  std::atomic<int> read_delay_ms{0};
  std::atomic<bool> cold{false};                                    // nothing is in the page cache
  std::atomic<uint64_t> writes{0};
  std::atomic<int64_t> power_fails_after{INT64_MAX};                // writes and syncs; from then on nothing reaches the disk

  // The machine stops: files are as they were at their last sync, or somewhere on the way there (`torn` says how much
  // of each unsynced write stays, 0 to 100 %). Directory entries that were not synced are undone. All files closed before.
  void lose_power(unsigned torn_percent = 0) {
    std::lock_guard lock(mutex_);
    for (auto it = log_.rbegin(); it != log_.rend(); ++it) undo(*it, torn_percent);
    log_.clear();
    power_fails_after = INT64_MAX;
  }

  base::Ref<File> open(const std::string& path, OpenMode mode, int& error) override {
    bool existed = system_files().size(path) >= 0;
    if (mode == OpenMode::create) {
      if ((error = may_write(path, 0))) return {};
      std::lock_guard lock(mutex_);
      if (!existed) log_.push_back({Change::Kind::created, path, {}, 0, 0, {}});
      else log_.push_back({Change::Kind::emptied, path, {}, 0, 0, contents(path)});
    }
    base::Ref<File> real = system_files().open(path, mode, error);
    if (!real) return {};
    return base::Ref<File>(new Simulated(*this, path, std::move(real)));
  }
  int list(const std::string& d, std::vector<std::string>& names) override { return system_files().list(d, names); }
  int make_directory(const std::string& path) override { return system_files().make_directory(path); }
  int remove(const std::string& path) override {
    if (fails(path)) return write_error;
    std::lock_guard lock(mutex_);
    if (tells_space) space += std::max<int64_t>(system_files().size(path), 0);
    if (system_files().size(path) >= 0) log_.push_back({Change::Kind::removed, path, {}, 0, 0, contents(path)});
    return system_files().remove(path);
  }
  int rename(const std::string& from, const std::string& to) override {
    if (fails(from)) return write_error;
    std::lock_guard lock(mutex_);
    Change c{Change::Kind::renamed, from, to, 0, 0, {}};
    c.existed = system_files().size(to) >= 0;
    if (c.existed) c.bytes = contents(to);
    log_.push_back(std::move(c));
    return system_files().rename(from, to);
  }
  int sync_directory(const std::string& path) override {
    if (int error = may_write(path, 0)) return error;
    std::lock_guard lock(mutex_);
    if (dead()) return 0;
    std::erase_if(log_, [&](const Change& c) { return c.kind != Change::Kind::wrote && c.path.substr(0, c.path.rfind('/')) == path; });
    return system_files().sync_directory(path);
  }
  int64_t size(const std::string& path) override { return system_files().size(path); }
  int64_t free_space(const std::string&) override { return tells_space ? std::max<int64_t>(space, 0) : INT64_MAX; }
  base::Ref<File> lock(const std::string& path, int& error) override { return system_files().lock(path, error); }

 private:
  struct Change {
    enum class Kind : uint8_t { wrote, created, emptied, removed, renamed } kind;
    std::string path, to;
    uint64_t offset, old_size;
    std::string bytes;        // what was there before
    uint64_t wrote = 0;
    bool existed = false;
  };

  class Simulated final : public File {
   public:
    Simulated(SimulatedFiles& files, std::string path, base::Ref<File> real) : files_(files), path_(std::move(path)), real_(std::move(real)) {}
    int fd() const override { return real_->fd(); }
    int64_t read(const iovec* parts, int n, uint64_t offset, bool no_wait) override {
      if (no_wait && (files_.cold || files_.read_delay_ms > 0)) return -EAGAIN;
      if (files_.read_delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(files_.read_delay_ms.load()));
      if (files_.read_error && path_.find(files_.where) != std::string::npos) return files_.read_error;
      return real_->read(parts, n, offset, no_wait);
    }
    int64_t write(const iovec* parts, int n, uint64_t offset) override {
      uint64_t bytes = 0;
      for (int i = 0; i < n; ++i) bytes += parts[i].iov_len;
      if (int error = files_.may_write(path_, int64_t(bytes))) {
        // A part of it gets there, as on a disk that fills up.
        if (error == -ENOSPC && n > 0 && parts[0].iov_len > 1) {
          iovec half{parts[0].iov_base, parts[0].iov_len / 2};
          files_.note_write(path_, *real_, offset, half.iov_len);
          real_->write(&half, 1, offset);
        }
        return error;
      }
      files_.note_write(path_, *real_, offset, bytes);
      return real_->write(parts, n, offset);
    }
    int64_t size() override { return real_->size(); }
    void begin_sync(uint64_t, uint64_t) override {}
    int truncate(uint64_t size) override {
      if (files_.fails(path_)) return files_.write_error;
      int64_t old = real_->size();
      if (old > int64_t(size)) files_.note_write(path_, *real_, size, uint64_t(old) - size);
      return real_->truncate(size);
    }
    int sync() override {
      if (files_.sync_error && path_.find(files_.where) != std::string::npos) return files_.sync_error;
      if (int error = files_.may_write(path_, 0)) return error == -ENOSPC ? 0 : error;
      std::lock_guard lock(files_.mutex_);
      if (files_.dead()) return 0;
      std::erase_if(files_.log_, [&](const Change& c) { return (c.kind == Change::Kind::wrote || c.kind == Change::Kind::emptied) && c.path == path_; });
      return 0;
    }

   private:
    SimulatedFiles& files_;
    const std::string path_;
    const base::Ref<File> real_;
  };

  bool dead() const { return int64_t(writes.load()) > power_fails_after.load(); }
  bool fails(const std::string& path) const { return write_error && write_error != -ENOSPC && path.find(where) != std::string::npos; }
  int may_write(const std::string& path, int64_t bytes) {
    ++writes;
    if (write_error && path.find(where) != std::string::npos) return write_error;
    if (bytes > 0 && space.fetch_sub(bytes) < bytes) {
      space.fetch_add(bytes);
      return -ENOSPC;
    }
    return 0;
  }
  void note_write(const std::string& path, File& file, uint64_t offset, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    Change c{Change::Kind::wrote, path, {}, offset, uint64_t(file.size()), {}};
    c.wrote = bytes;
    if (offset < c.old_size) {
      c.bytes.resize(std::min(bytes, c.old_size - offset));
      file.read(c.bytes.data(), c.bytes.size(), offset, false);
    }
    log_.push_back(std::move(c));
  }
  static std::string contents(const std::string& path) {
    int error = 0;
    base::Ref<File> file = system_files().open(path, OpenMode::read, error);
    std::string bytes(file ? size_t(file->size()) : 0, '\0');
    if (file) file->read(bytes.data(), bytes.size(), 0, false);
    return bytes;
  }
  static void put(const std::string& path, const std::string& bytes) {
    int error = 0;
    base::Ref<File> file = system_files().open(path, OpenMode::create, error);
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    if (file) file->write(&part, 1, 0);
  }
  void undo(const Change& c, unsigned torn_percent) {
    int error = 0;
    switch (c.kind) {
      case Change::Kind::created: system_files().remove(c.path); break;
      case Change::Kind::emptied: put(c.path, c.bytes); break;
      case Change::Kind::removed: put(c.path, c.bytes); break;
      case Change::Kind::renamed:
        system_files().rename(c.to, c.path);
        if (c.existed) put(c.to, c.bytes);
        break;
      case Change::Kind::wrote: {
        base::Ref<File> file = system_files().open(c.path, OpenMode::write, error);
        if (!file) break;
        uint64_t stays = c.wrote * torn_percent / 100;
        if (!c.bytes.empty() && stays < c.bytes.size()) {
          iovec part{const_cast<char*>(c.bytes.data()) + stays, c.bytes.size() - stays};
          file->write(&part, 1, c.offset + stays);
        }
        if (uint64_t end = std::max(c.old_size, c.offset + stays); uint64_t(file->size()) > end) file->truncate(end);
        break;
      }
    }
  }

  std::mutex mutex_;
  std::vector<Change> log_;
};

}  // namespace loligo::store
