#include "store/disk/read_pool.h"

#include <algorithm>

namespace loligo::store::disk {

void ReadPool::start(unsigned threads) {
  for (unsigned i = 0; i < std::max(1u, threads); ++i) threads_.emplace_back([this] { run(); });
}

void ReadPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

bool ReadPool::post(std::function<void()>& job) {
  std::unique_lock lock(mutex_);
  if (stop_ || jobs_.size() >= kMostJobs) return false;
  jobs_.push_back(std::move(job));
  lock.unlock();
  wake_.notify_one();
  return true;
}

void ReadPool::run() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace loligo::store::disk
