#include "store/disk/index_env.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

namespace loligo::store::disk {

namespace {

using leveldb::Slice;
using leveldb::Status;

Status status_of(const std::string& name, int64_t error) {
  if (error == -ENOENT) return Status::NotFound(name, std::strerror(ENOENT));
  return Status::IOError(name, std::strerror(int(-error)));
}

constexpr std::string_view kManifest = "MANIFEST-";

// 0: the name is no manifest's.
uint64_t manifest_number(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);   // npos + 1 is 0
  uint64_t number = 0;
  if (!name.starts_with(kManifest)) return 0;
  auto [end, error] = std::from_chars(name.data() + kManifest.size(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

struct ManifestState {
  uint64_t number = 0, bytes = 0;   // 0: none
  bool lost_since(const ManifestState& old) const { return number < old.number || (number == old.number && bytes < old.bytes); }
};

// A file of one line, "NUMBER BYTES" in fixed places, written over each time: kill -9 leaves the old or the new. LevelDB
// has no name like it, and lets it be.
class ManifestNote {
 public:
  explicit ManifestNote(Files& files) : files_(files) {}

  // A new manifest counts once CURRENT names it: until then the old one does.
  int synced(const std::string& manifest, uint64_t bytes) {
    ManifestState before = std::exchange(last_, {manifest_number(manifest), bytes});
    return before.number == last_.number && is_current_ ? write(manifest) : (is_current_ = false, 0);
  }
  int current_renamed(const std::string& current) {
    is_current_ = true;
    return last_.number ? write(current) : 0;
  }

  static ManifestState read(Files& files, const std::string& directory) {
    char text[kBytes + 1] = {};
    int error = 0;
    ManifestState state;
    base::Ref<File> file = files.open(directory + "/" + kName, OpenMode::read, error);
    if (!file || file->read(text, kBytes, 0, false) != int64_t(kBytes)) return {};
    auto number = [](const char* from, uint64_t& to) { return std::from_chars(from, from + 20, to).ptr == from + 20; };
    return number(text, state.number) && number(text + 21, state.bytes) ? state : ManifestState{};
  }

 private:
  static constexpr const char* kName = "LISTED";
  static constexpr size_t kBytes = 42;
  int write(const std::string& beside) {
    int error = 0;
    std::string name = beside.substr(0, beside.rfind('/') + 1) + kName;
    if (!file_) file_ = files_.open(name, OpenMode::write, error);
    if (!file_) file_ = files_.open(name, OpenMode::create, error);
    if (!file_) return error;
    char text[kBytes + 1];
    std::snprintf(text, sizeof text, "%020llu %020llu\n", static_cast<unsigned long long>(last_.number), static_cast<unsigned long long>(last_.bytes));
    iovec part{text, kBytes};
    int64_t n = file_->write(&part, 1, 0);
    return n < 0 ? int(n) : 0;
  }

  Files& files_;
  base::Ref<File> file_;
  ManifestState last_;
  bool is_current_ = false;
};

class Sequential final : public leveldb::SequentialFile {
 public:
  Sequential(std::string name, base::Ref<File> file) : name_(std::move(name)), file_(std::move(file)) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    int64_t got = file_->read(scratch, n, at_, false);
    if (got < 0) return status_of(name_, got);
    at_ += uint64_t(got);
    *result = Slice(scratch, size_t(got));
    return Status::OK();
  }
  Status Skip(uint64_t n) override {
    at_ += n;
    return Status::OK();
  }

 private:
  std::string name_;
  base::Ref<File> file_;
  uint64_t at_ = 0;
};

class RandomAccess final : public leveldb::RandomAccessFile {
 public:
  RandomAccess(std::string name, base::Ref<File> file) : name_(std::move(name)), file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    int64_t got = file_->read(scratch, n, offset, false);
    if (got < 0) return status_of(name_, got);
    *result = Slice(scratch, size_t(got));
    return Status::OK();
  }

 private:
  std::string name_;
  base::Ref<File> file_;
};

class Writable final : public leveldb::WritableFile {
 public:
  Writable(Files& files, ManifestNote& note, std::string name, base::Ref<File> file, uint64_t at)
      : files_(files), note_(note), name_(std::move(name)), is_manifest_(manifest_number(name_) != 0), file_(std::move(file)), at_(at) {}
  ~Writable() override { Flush(); }
  Status Append(const Slice& data) override {
    buffer_.append(data.data(), data.size());
    return buffer_.size() < kBufferBytes ? Status::OK() : Flush();
  }
  Status Close() override {
    Status status = file_ ? Flush() : Status::OK();
    file_.reset();
    return status;
  }
  Status Flush() override {
    if (buffer_.empty() || !file_) return Status::OK();
    iovec part{buffer_.data(), buffer_.size()};
    int64_t n = file_->write(&part, 1, at_);
    if (n < 0) return status_of(name_, n);   // what was written in part is written again
    at_ += buffer_.size();
    buffer_.clear();
    return Status::OK();
  }
  Status Sync() override {
    // A manifest names files that must not be lost with the directory's entries.
    if (is_manifest_)
      if (int error = files_.sync_directory(name_.substr(0, name_.rfind('/')))) return status_of(name_, error);
    if (Status status = Flush(); !status.ok()) return status;
    int error = file_->sync();
    if (!error && is_manifest_) error = note_.synced(name_, at_);
    return error ? status_of(name_, error) : Status::OK();
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;
  Files& files_;
  ManifestNote& note_;
  std::string name_;
  const bool is_manifest_;
  base::Ref<File> file_;
  uint64_t at_;
  std::string buffer_;
};

class Lock final : public leveldb::FileLock {};   // the directory is locked as a whole

class Silent final : public leveldb::Logger {
 public:
  void Logv(const char*, va_list) override {}
};

class IndexEnv final : public leveldb::EnvWrapper {
 public:
  explicit IndexEnv(Files& files) : EnvWrapper(leveldb::Env::Default()), files_(files), note_(files) {}

  Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** result) override {
    return opened<Sequential>(name, OpenMode::read, result);
  }
  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** result) override {
    return opened<RandomAccess>(name, OpenMode::read, result);
  }
  Status NewWritableFile(const std::string& name, leveldb::WritableFile** result) override { return writable(name, OpenMode::create, result); }
  Status NewAppendableFile(const std::string& name, leveldb::WritableFile** result) override { return writable(name, OpenMode::write, result); }
  bool FileExists(const std::string& name) override { return files_.size(name) >= 0; }
  Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    int error = files_.list(directory, *names);
    return error ? status_of(directory, error) : Status::OK();
  }
  Status RemoveFile(const std::string& name) override { return done(name, files_.remove(name)); }
  Status CreateDir(const std::string& name) override { return done(name, files_.make_directory(name)); }
  Status RemoveDir(const std::string& name) override { return done(name, files_.remove(name)); }
  Status GetFileSize(const std::string& name, uint64_t* size) override {
    int64_t n = files_.size(name);
    *size = n < 0 ? 0 : uint64_t(n);
    return done(name, n);
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    int error = files_.rename(from, to);
    if (!error && to.ends_with("/CURRENT")) error = note_.current_renamed(to);
    return done(from, error);
  }
  Status LockFile(const std::string&, leveldb::FileLock** lock) override {
    *lock = new Lock;
    return Status::OK();
  }
  Status UnlockFile(leveldb::FileLock* lock) override {
    delete lock;
    return Status::OK();
  }
  Status NewLogger(const std::string&, leveldb::Logger** logger) override {
    *logger = new Silent;
    return Status::OK();
  }

 private:
  static Status done(const std::string& name, int64_t error) { return error < 0 ? status_of(name, error) : Status::OK(); }
  template <class F, class Base> Status opened(const std::string& name, OpenMode mode, Base** result) {
    int error = 0;
    base::Ref<File> file = files_.open(name, mode, error);
    *result = file ? new F(name, std::move(file)) : nullptr;
    return done(name, error);
  }
  Status writable(const std::string& name, OpenMode mode, leveldb::WritableFile** result) {
    int error = 0;
    *result = nullptr;
    base::Ref<File> file = files_.open(name, mode, error);
    if (!file && error == -ENOENT) file = files_.open(name, OpenMode::create, error);
    if (!file) return status_of(name, error);
    int64_t size = mode == OpenMode::create ? 0 : file->size();
    if (size < 0) return status_of(name, size);
    *result = new Writable(files_, note_, name, std::move(file), uint64_t(size));
    return Status::OK();
  }

  Files& files_;
  ManifestNote note_;
};

}  // namespace

// The manifest that CURRENT names.
static ManifestState manifest_on_disk(Files& files, const std::string& directory) {
  char text[64];
  int error = 0;
  base::Ref<File> current = files.open(directory + "/CURRENT", OpenMode::read, error);
  int64_t n = current ? current->read(text, sizeof text, 0, false) : 0;
  if (n <= 1) return {};
  std::string name(text, size_t(n) - 1);   // it ends with a line feed
  ManifestState state{manifest_number(name), 0};
  int64_t bytes = state.number ? files.size(directory + "/" + name) : -1;
  return bytes < 0 ? ManifestState{} : ManifestState{state.number, uint64_t(bytes)};
}

bool manifest_is_whole(Files& files, const std::string& directory) {
  ManifestState noted = ManifestNote::read(files, directory);
  return noted.number && !manifest_on_disk(files, directory).lost_since(noted);
}

std::unique_ptr<leveldb::Env> make_index_env(Files& files) { return std::make_unique<IndexEnv>(files); }

}  // namespace loligo::store::disk
