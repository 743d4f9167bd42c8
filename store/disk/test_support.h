// For the disk store's tests: a directory that goes away, objects, and waiting.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "store/disk/disk.h"
#include "store/disk/files.h"

namespace loligo::store::disk_test {

struct Place {
  std::string path;
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "loligo-disk-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Place() { std::error_code ignored; std::filesystem::remove_all(path, ignored); }
};

inline Key key_of(uint64_t n) { return {n * 0xD6E8FEB86659FD93u + 7, (n + 1) * 0x9E3779B97F4A7C15u}; }

inline std::string bytes_of(uint64_t seed, size_t n) {
  std::string bytes(n, '\0');
  uint64_t x = seed * 2654435761u + 12345;
  for (size_t i = 0; i < n; ++i) {
    if (i % 8 == 0) x = x * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = char(x >> (8 + i % 8 * 7));
  }
  return bytes;
}

inline base::Ref<Body> body_of(const std::string& bytes) {
  auto body = base::make_ref<Body>(bytes.size(), true, 0);
  body->append(bytes);
  body->complete();
  return body;
}

inline DiskOptions options_for(const std::string& path, uint64_t capacity = 256 << 20) {
  DiskOptions options;
  DiskDirectoryOptions directory;
  directory.path = path;
  directory.capacity = capacity;
  options.directories.push_back(directory);
  return options;
}

inline std::unique_ptr<Disk> open_disk(DiskOptions options, Files& files = system_files()) {
  std::vector<std::string> failures;
  auto disk = Disk::open(std::move(options), files, failures);
  for (auto& f : failures) std::fprintf(stderr, "%s\n", f.c_str());
  return disk;
}

// Waits up to `seconds` for something to become true.
template <class F> bool eventually(F&& f, int seconds = 10) {
  for (int i = 0; i < seconds * 500; ++i) {
    if (f()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return f();
}

struct EventReader : Reader {
  std::mutex mutex;
  std::condition_variable wake;
  bool set = false;
  void woken() override {
    std::lock_guard lock(mutex);
    set = true;
    wake.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    bool fine = wake.wait_for(lock, std::chrono::seconds(20), [&] { return set; });
    set = false;
    return fine;
  }
};

// The bytes of a found body, wherever they are; "damaged" marks one that ends visibly.
inline std::string read_body(const Body& body) {
  std::string out;
  if (BodySource* source = body.source()) {
    EventReader reader;
    while (out.size() < body.length()) {
      BodySource::Piece piece;
      auto ready = source->piece(out.size(), piece);
      if (ready == BodySource::Ready::damaged) return out + "damaged";
      if (ready == BodySource::Ready::later) {
        if (source->wait(&reader, out.size()) && !reader.wait()) return "timeout";
        continue;
      }
      size_t at = out.size();
      out.resize(at + piece.bytes);
      if (::pread(piece.fd, out.data() + at, piece.bytes, off_t(piece.file_offset)) != ssize_t(piece.bytes)) return "short";
    }
    source->leave(&reader);
    return out;
  }
  iovec parts[64];
  while (out.size() < body.length()) {
    auto view = body.view(out.size(), parts, 64, kUnknownLength);
    if (view.bytes == 0) break;
    for (int i = 0; i < view.parts; ++i) out.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
  }
  return out;
}

inline Disk::Found find(Disk& disk, const Key& key, uint64_t memory_limit = 1 << 20, Disk::Match match = [](std::string_view) { return true; }) {
  Disk::Found found;
  auto promise = std::make_shared<std::promise<Disk::Found>>();
  auto future = promise->get_future();
  if (disk.find(key, memory_limit, std::move(match), found, [promise](Disk::Found f) { promise->set_value(std::move(f)); })) return found;
  if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
    std::fprintf(stderr, "find() was not answered\n");
    return {};
  }
  return future.get();
}

// -1: not answered, -2: it may come back.
inline int erase(Disk& disk, const Key& key) {
  auto promise = std::make_shared<std::promise<int>>();
  auto future = promise->get_future();
  disk.erase(key, [promise](std::optional<unsigned> n) { promise->set_value(n ? int(*n) : -2); });
  return future.wait_for(std::chrono::seconds(20)) == std::future_status::ready ? future.get() : -1;
}

inline bool loaded(Disk& disk) {
  return eventually([&] { for (auto& d : disk.directories()) if (d.loading) return false; return true; });
}

// Everything handed over so far has been written or given up.
inline bool settled(Disk& disk, uint64_t events) {
  return eventually([&] { auto c = disk.counters(); return c.stored + c.given_up >= events; });
}

}  // namespace loligo::store::disk_test
