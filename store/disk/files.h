// The file system as the disk store uses it: the real one, or a test's that
// forgets what was not synced, fills up, errs or is slow.
//
// Any thread. Errors are negative errno values; nothing throws.
#pragma once
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ref.h"

namespace loligo::store {

class File : public base::RefCounted {
 public:
  virtual ~File() = default;
  virtual int fd() const = 0;   // for sendfile
  // Bytes read, short at the end of the file only. With no_wait, -EAGAIN rather than waiting for the disk.
  virtual int64_t read(const iovec*, int parts, uint64_t offset, bool no_wait) = 0;
  // All of it, or an error; then an unknown part has been written.
  virtual int64_t write(const iovec*, int parts, uint64_t offset) = 0;
  virtual int64_t size() = 0;
  virtual int truncate(uint64_t size) = 0;
  virtual int sync() = 0;       // data, and the size
  // Begins to write what the page cache holds of this range, so that a later sync() has little left. No promise.
  virtual void begin_sync(uint64_t offset, uint64_t bytes) = 0;

  int64_t read(char* to, size_t bytes, uint64_t offset, bool no_wait) {
    iovec part{to, bytes};
    return read(&part, 1, offset, no_wait);
  }
};

enum class OpenMode : uint8_t { read, write, create };   // create: or empty what is there

class Files {
 public:
  virtual ~Files() = default;
  virtual base::Ref<File> open(const std::string& path, OpenMode, int& error) = 0;
  virtual int list(const std::string& directory, std::vector<std::string>& names) = 0;   // without . and ..
  virtual int make_directory(const std::string& path) = 0;   // with those above it; fine when it is there
  virtual int remove(const std::string& path) = 0;           // a file or an empty directory
  virtual int rename(const std::string& from, const std::string& to) = 0;
  virtual int sync_directory(const std::string& path) = 0;
  virtual int64_t size(const std::string& path) = 0;
  virtual int64_t free_space(const std::string& directory) = 0;   // bytes that may still be written there
  // Held until the file is let go. -EWOULDBLOCK: another holds it.
  virtual base::Ref<File> lock(const std::string& path, int& error) = 0;
};

// The machine's. Lives as long as the process.
Files& system_files();

}  // namespace loligo::store
