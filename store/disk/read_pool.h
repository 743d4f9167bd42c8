// The threads of a directory that may wait for the disk to read.
//
// post(): any thread. Bounded: a job that finds no room is refused.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace loligo::store::disk {

class ReadPool {
 public:
  ~ReadPool() { stop(); }
  void start(unsigned threads);
  void stop();     // what is queued is still done
  // `job` is moved from only when it is taken.
  bool post(std::function<void()>& job);

 private:
  void run();
  static constexpr size_t kMostJobs = 8192;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loligo::store::disk
