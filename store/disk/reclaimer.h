// Makes room: the oldest segment goes, and those of its objects that are worth it
// are carried over to the newest.
//
// A thread of its own. Does nothing while the directory loads.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "store/disk/writer.h"

namespace loligo::store::disk {

class Reclaimer {
 public:
  Reclaimer(Core& core, Writer& writer, Syncer& syncer) : core_(core), writer_(writer), syncer_(syncer) {}
  ~Reclaimer() { stop(); }
  void start();
  void stop();

 private:
  void run();
  Core& core_;
  Writer& writer_;
  Syncer& syncer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace loligo::store::disk
