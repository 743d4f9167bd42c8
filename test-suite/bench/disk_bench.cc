// Measures the disk store alone: filling, memory for each object, the first hit
// after a start, rebuilding without an index, write amplification.
//
// usage: disk_bench DIRECTORY [fill N BYTES | first-hit N | rebuild | steady MIB REQUESTS]...
//   fill       stores N objects and prints the rate and (RSS after - RSS before) / N
//   first-hit  opens the store, finds object N - 1, and prints how long this took, and loading
//   rebuild    removes the index, opens the store, and prints the rate at which objects are found
//   steady     a directory of MIB, skewed requests, each miss stored: hit ratio, write amplification, the limit
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <random>
#include <thread>

#include "base/allocator.h"
#include "store/disk/disk.h"
#include "store/disk/files.h"

using namespace loligo::store;
using Clock = std::chrono::steady_clock;

namespace {

Key key_of(uint64_t n) { return {n * 0xD6E8FEB86659FD93u + 7, (n + 1) * 0x9E3779B97F4A7C15u}; }

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

uint64_t rss_bytes() {
  unsigned long pages = 0, all = 0;
  if (FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu", &all, &pages) != 2) pages = 0;
    std::fclose(f);
  }
  return pages * uint64_t(::sysconf(_SC_PAGESIZE));
}

std::unique_ptr<Disk> open_store(const std::string& path, uint64_t capacity) {
  DiskOptions options;
  DiskDirectoryOptions d;
  d.path = path;
  d.capacity = capacity;
  options.directories.push_back(d);
  std::vector<std::string> failures;
  auto disk = Disk::open(options, system_files(), failures);
  for (auto& f : failures) std::fprintf(stderr, "%s\n", f.c_str());
  if (!failures.empty()) std::exit(1);
  return disk;
}

bool store(Disk& disk, uint64_t n, size_t bytes, std::string_view content) {
  auto body = loligo::base::make_ref<Body>(bytes, true, 0);
  body->append(content.substr(0, bytes));
  body->complete();
  return disk.store(key_of(n), {}, std::string(300, 'h'), body, bytes) != 0;
}

void settle(Disk& disk) {
  for (uint64_t last = ~uint64_t(0); last != disk.counters().stored;) {
    last = disk.counters().stored;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

bool find(Disk& disk, uint64_t n) {
  Disk::Found found;
  std::promise<bool> promise;
  auto future = promise.get_future();
  if (disk.find(key_of(n), 1 << 20, [](std::string_view) { return true; }, found, [&](Disk::Found f) { promise.set_value(bool(f)); })) return bool(found);
  return future.get();
}

void wait_loaded(Disk& disk) {
  while (disk.directories()[0].loading) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void fill(const std::string& path, uint64_t n, size_t bytes) {
  std::string content(bytes, 'b');
  auto disk = open_store(path, 64ull << 30);
  wait_loaded(*disk);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  uint64_t before = rss_bytes();
  auto began = Clock::now();
  for (uint64_t i = 0; i < n; ++i)
    while (!store(*disk, i, bytes, content)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  while (disk->counters().stored < n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  double took = seconds_since(began);
  std::this_thread::sleep_for(std::chrono::seconds(12));   // so that the allocator gives back what the queue held
  auto c = disk->counters();
  std::printf("fill: %lu objects of %zu bytes in %.2f s: %.0f objects/s, %.0f MB/s; RSS %.1f -> %.1f MB: %.1f bytes an object; written/stored %.3f\n", n, bytes, took,
              double(n) / took, double(n * bytes) / took / 1e6, double(before) / 1e6, double(rss_bytes()) / 1e6,
              (double(rss_bytes()) - double(before)) / double(n), double(c.written_bytes) / double(c.stored_bytes));
}

void first_hit(const std::string& path, uint64_t n) {
  auto began = Clock::now();
  uint64_t before = rss_bytes();
  auto disk = open_store(path, 64ull << 30);
  bool hit = find(*disk, n - 1);
  double first = seconds_since(began);
  wait_loaded(*disk);
  double all = seconds_since(began);
  settle(*disk);
  std::printf("first-hit: %s after %.1f ms; %lu objects loaded after %.1f ms; RSS %.1f MB more: %.1f bytes an object\n", hit ? "hit" : "MISS", first * 1e3, disk->objects(),
              all * 1e3, double(rss_bytes() - before) / 1e6, double(rss_bytes() - before) / double(disk->objects()));
}

void rebuild(const std::string& path) {
  std::filesystem::remove_all(path + "/index");
  auto began = Clock::now();
  auto disk = open_store(path, 64ull << 30);
  find(*disk, 0);
  double first = seconds_since(began);
  wait_loaded(*disk);
  double took = seconds_since(began);
  std::printf("rebuild: answers after %.1f ms; %lu objects in %.2f s: %.0f objects/s\n", first * 1e3, disk->objects(), took, double(disk->objects()) / took);
}

// Keys by a Zipf law of exponent 0.8 over ten times as many as fit.
void steady(const std::string& path, uint64_t mib, uint64_t requests) {
  auto disk = open_store(path, mib << 20);
  wait_loaded(*disk);
  const double alpha = 0.8, keys = double(mib << 20) / 10'000 * 5;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string content(64 << 10, 'c');
  uint64_t hits = 0, largest = 0, refused = 0;
  for (uint64_t i = 0; i < requests; ++i) {
    auto n = uint64_t(std::pow(uniform(random) * (std::pow(keys, 1 - alpha) - 1) + 1, 1 / (1 - alpha)));
    if (find(*disk, n)) {
      ++hits;
      continue;
    }
    if (!store(*disk, n, 1000 + (n * 2654435761u >> 7) % 18'000, content)) {
      ++refused;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (i % 1000 == 0) largest = std::max(largest, disk->directories()[0].used);
  }
  settle(*disk);
  auto c = disk->counters();
  std::printf("steady: %lu requests, %.1f %% hits; written/stored %.3f, carried %lu of %lu evicted or carried; %lu segments reclaimed; at most %.3f of the limit; %lu refused, %lu given up\n",
              requests, 100.0 * double(hits) / double(requests), double(c.written_bytes) / double(c.stored_bytes), c.carried, c.carried + c.evicted,
              c.segments_reclaimed, double(largest) / double(mib << 20), refused, c.given_up);
}

}  // namespace

int main(int argc, char** argv) {
  loligo::base::start_allocator_thread();
  if (argc < 3) return std::fprintf(stderr, "usage: disk_bench DIRECTORY [fill N BYTES | first-hit N | rebuild | steady MIB REQUESTS]...\n"), 2;
  std::string path = argv[1];
  auto number = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 0; };
  for (int i = 2; i < argc; ++i) {
    std::string what = argv[i];
    if (what == "fill") fill(path, number(i + 1), number(i + 2)), i += 2;
    else if (what == "first-hit") first_hit(path, number(i + 1)), ++i;
    else if (what == "rebuild") rebuild(path);
    else if (what == "steady") steady(path, number(i + 1), number(i + 2)), i += 2;
  }
  return 0;
}
