// The one thread that writes logs, and the queues in front of it.
//
// Producers hand over blocks of whole lines; a queue takes no more than its
// limit, beyond it blocks are dropped and their lines counted. Nobody who logs
// ever waits: the lock is held for moving a block, never across I/O.
//
// Owner: main, from after daemonizing (threads do not survive fork) until after
// the workers have ended. Any thread may call what is not marked otherwise.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "log/buffer.h"
#include "log/sink.h"
#include "log/target.h"

namespace loligo::log {

// Whole lines, each with its newline.
struct Block {
  Buffer bytes;
  uint32_t lines = 0;
  int rotate = -1;  // not lines but the order to rotate, keeping so many
};

struct LogCounters {
  std::atomic<uint64_t> lines_written{0}, lines_dropped{0};               // of access logs
  std::atomic<uint64_t> store_lines_written{0}, store_lines_dropped{0};   // of cache_store_log
  std::atomic<uint64_t> bytes_written{0}, failures{0}, rotations{0};
};

enum class OnError : unsigned char {
  go_on,          // what cannot be written is dropped and counted
  end_for_file,   // a file that cannot be written is fatal(); a collector may come back
  end,            // any line that is lost is fatal()
};

struct DestinationOptions {
  SinkOptions sink;
  int rotate = -1;          // -1 = what the rotation says
  enum class Counts : uint8_t { access, store, nothing } counts = Counts::access;   // whose lines these are in LogCounters
  OnError on_error = OnError::go_on;
};

// A place that lines go to; shared by all who write there, also across a reconfigure.
class Destination {
 public:
  Destination(Target target, const DestinationOptions& options);
  const Target& target() const { return target_; }

 private:
  friend class Writer;
  using Clock = std::chrono::steady_clock;
  Target target_;
  DestinationOptions options_;
  // Under the writer's lock
  std::deque<Block> queue_;
  Block gathering_;          // single lines given to Writer::append()
  size_t queued_bytes_ = 0;  // of both, and of what is being written
  // The writer's thread only, once it knows the destination
  std::unique_ptr<Sink> sink_;
  Block current_;
  size_t offset_ = 0;
  bool has_current_ = false;
  bool failing_ = false;
  Clock::time_point retry_at_{};
  std::chrono::milliseconds back_off_{0};
};
using DestinationPtr = std::shared_ptr<Destination>;

struct WriterLimits {
  size_t queue_bytes = 16 << 20;                       // of one destination
  std::chrono::milliseconds shortest_back_off{100};    // before a failed destination is opened again
  std::chrono::milliseconds longest_back_off{10'000};
};

class Writer {
 public:
  explicit Writer(WriterLimits limits = {});
  ~Writer() { stop(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void start();
  // Writes what is queued, for at most `patience` (then counts it as dropped), and ends the thread.
  void stop(std::chrono::milliseconds patience = std::chrono::seconds(5));

  // The destination of this place, opened at once if it is new; a failure to open is told in `why` and will be retried.
  DestinationPtr open(const Target&, const DestinationOptions&, std::string& why);
  // Takes the lines and leaves an empty block. False: there was no room, the lines are dropped and counted.
  bool submit(const DestinationPtr&, Block&);
  // One line without its newline.
  void append(const DestinationPtr&, std::string_view line);
  // Renames or reopens every file, after what has been submitted so far.
  void rotate(int keep);
  // Waits until all that was queued is written or lost. For tests and for last words; never on a worker.
  bool drain(std::chrono::milliseconds patience);

  const LogCounters& counters() const { return counters_; }
  void count_lost_store_lines(uint64_t lines) { counters_.store_lines_dropped.fetch_add(lines, std::memory_order_relaxed); }
  // Why the process shall end (OnError), or empty. The owner asks now and then.
  std::string fatal() const;

 private:
  enum class Step { idle, waiting, failed };
  using Clock = Destination::Clock;
  void run();
  bool work(std::unique_lock<std::mutex>&);
  void forget_unused();
  Step drive(Destination&);
  bool take_next(Destination&);
  Step write_current(Destination&);
  void finish_current(Destination&);
  Step fail(Destination&, const std::string& why);
  void drop_all(Destination&);
  void count_dropped(const Destination&, uint64_t lines);   // under the lock
  void note_fatal(const std::string& why);
  void recycle(Buffer&&);

  const WriterLimits limits_;
  LogCounters counters_;
  std::mutex mutex_;
  std::condition_variable wake_, drained_;
  mutable std::mutex fatal_mutex_;   // innermost
  std::string fatal_;                // the first reason
  std::atomic<bool> has_fatal_{false};
  std::vector<DestinationPtr> destinations_;
  std::vector<Buffer> spares_;
  std::atomic<bool> stopping_{false};
  bool signalled_ = false;
  size_t pending_ = 0;  // blocks queued or being written, and lines gathered
  std::thread thread_;
};

}  // namespace loligo::log
