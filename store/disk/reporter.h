// Tells the observer of the disk what became of a directory's objects, on a
// thread of its own: what has been removed is described by its head, which must
// be read. Without an observer that wants to hear, a call is one test.
//
// Any thread; bounded, and only what says `may_wait` waits for room. What finds
// none is counted as lost.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "store/disk/segment.h"
#include "store/disk/table.h"
#include "store/observer.h"

namespace loligo::store::disk {

struct Core;
class Pending;

class Reporter {
 public:
  Reporter(Core& core, DiskObserver* observer) : core_(core), observer_(observer) {}
  ~Reporter() { stop(); }
  bool wanted() const { return observer_ && observer_->wants(); }

  void stored(const Entry& entry, const std::string& head, uint64_t length) {
    if (wanted()) push({Kind::stored, entry, head, length, {}}, false);
  }
  void never_stored(const Pending&);
  // It has left the table; its record is still there.
  void removed(const Entry& entry, bool may_wait = false);
  void stop();   // tells what waits; nothing more is taken

 private:
  enum class Kind : uint8_t { stored, given_up, withdrawn, removed };
  struct Report {
    Kind kind;
    Entry entry;
    std::string head;
    uint64_t length;
    base::Ref<Segment> segment;
    uint64_t bytes() const { return sizeof *this + head.size(); }
  };
  static constexpr uint64_t kMostBytes = 8 << 20;
  void push(Report, bool may_wait);
  void run();
  void tell(Report&);

  Core& core_;
  DiskObserver* const observer_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::deque<Report> queue_;
  uint64_t queued_bytes_ = 0, lost_ = 0;
  bool stop_ = false;
  std::thread thread_;   // from the first report on
};

}  // namespace loligo::store::disk
