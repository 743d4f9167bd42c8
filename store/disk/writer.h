// The one writer of a directory: takes objects whose bodies are there, removals,
// new heads and what is carried over, in the order they came, appends records,
// and then changes the table. Bytes first, index second.
//
// store(), rehead(), erase(): any thread, none waits for the disk.
#pragma once
#include <boost/unordered/unordered_map.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/disk/appender.h"
#include "store/disk/pending.h"
#include "store/disk/read_pool.h"
#include "store/disk/syncer.h"

namespace loligo::store::disk {

// A record on its way from an old segment to the newest.
struct Carried {
  RecordHeader header;
  std::string head, data;
  Place from;               // object and head: the place the entry must still have
  uint64_t object_bytes = 0;
  bool keep_uses = false;
  Place to;                 // where it stands now; no segment: it was not written
};

class Writer final : private PendingOwner {
 public:
  Writer(Core& core, Syncer& syncer, std::shared_ptr<ReadPool> pool) : core_(core), syncer_(syncer), pool_(std::move(pool)), appender_(core), queued_(queue_bytes(core)) {}
  ~Writer() { stop(); }
  void start();
  void stop();      // writes what is ready, within a second or so

  // As Disk's; `id` is new.
  bool store(const Key&, Variant, uint64_t id, std::string head, base::Ref<Body>, uint64_t expected, bool keeps_older, bool* busy);
  // What an object of this variant takes the place of has gone, although that object is not stored.
  void erase_replaced(const Key&, Variant);
  bool rehead(const Key&, uint64_t id, std::string head);
  // `durable` hears the number removed, nothing when the disk does not take it in time. False: there is nothing, and it will
  // not be called.
  bool erase(const Key&, Disk::Erased durable);
  void erase(const Key&, uint64_t id);
  // Found damaged at this place.
  void drop(const Key&, uint64_t id, Place);
  // Waits until all are written. False: stopping.
  bool carry(std::vector<Carried>&);
  void room_made();   // a segment has gone
  uint64_t queued_bytes() const { return queued_.used(); }
  bool has_pending(const Key&) const;
  bool has_pending(const Key&, uint64_t id) const;
  // Those that have ended and are not written yet: who has had one of them does not get an older one again. Asked before the
  // table, which has them once they are not listed here any more.
  struct Newer { Variant variant; uint64_t id; };
  std::vector<Newer> ended_pending(const Key&) const;
  static void hide_superseded(const std::vector<Newer>&, std::vector<Entry>&);
  void list_pending(std::vector<Disk::Writing>&) const;
  // Bodies under way whose first records lie in a segment that goes.
  void give_up_in(uint32_t segment);

 private:
  struct Operation {
    enum class Kind : uint8_t { store, erase_key, erase_id, erase_replaced, rehead, carry } kind;
    Key key;
    uint64_t id = 0;
    Variant variant;
    unsigned count = 0;
    int64_t until_ms = 0;         // removals: when whoever waits hears that it could not be made to last
    bool ask_index = false;       // erase_key: what the index lists has gone as well, and is counted
    std::string head;
    Disk::Erased durable;
    base::Ref<Pending> pending;
    std::vector<Carried>* carried = nullptr;
    std::function<void()> done;
  };
  // What is to be done once its record is written.
  struct Written {
    Operation::Kind kind;
    Entry entry;
    Place from;
    base::Ref<Pending> pending;
    Carried* carried = nullptr;
    std::unique_ptr<Operation> operation;
  };

  // In proportion to a small directory.
  static uint64_t queue_bytes(const Core& core) { return std::min(core.all.queue_bytes, std::max<uint64_t>(core.options.capacity / 2, 4 << 20)); }
  void ready(Pending&) override;
  Budget& queue() override { return queued_; }
  void push(Operation);
  void enqueue(std::unique_lock<std::mutex>&, Operation, bool urgent = false);   // unlocks
  void run();
  void work(Operation&);
  void look_at_all_pending();
  enum class Room : uint8_t { there, awaited, none };   // awaited: the object's turn comes again
  Room room_for(Pending&, uint64_t bytes);

  // writer_store.cc: objects and their bodies
  void work_on(Pending&);
  void write_object(Pending&, const iovec* parts, int n, uint64_t bytes);   // where there is room
  void write_whole(Pending&);
  void stream(Pending&);
  bool write_extent(Pending&);
  void tell_history(Pending&);
  void end_stream(Pending&);
  void committed(Written&);
  const std::string& take_head(Pending&);
  bool charge(Pending&, uint64_t bytes);
  bool accept(const Key&, Variant, const base::Ref<Pending>&);
  void erase_older(const Key&, Variant);
  void erase_replaced_in_table(const Key&, Variant);
  void give_up(Pending&);
  void finish(Pending&);
  bool within_limits(uint64_t length) const;

  // writer.cc: everything else
  void write_erase(std::unique_ptr<Operation>);
  void write_rehead(Operation&);
  void write_carried(Carried&);
  std::optional<Place> append(RecordHeader&, std::string_view head, const iovec* data, int parts, Written);
  bool flush();
  void commit(Written&);
  void failed(Written&);
  void answer_late_removals();
  void not_durable(Operation&);
  void changed(const Key& key, Variant variant) { names_.push_back({key, variant}); }

  static constexpr uint64_t kUnknownCharge = 256 << 10;
  static constexpr size_t kMostPending = 8192, kMostUnwritten = 100'000;
  static constexpr size_t kGather = 256;
  static constexpr int64_t kGatherMs = 5, kTickMs = 100, kTurnMs = 50, kStopMs = 1000, kRoomMs = 2000, kEraseMs = 2500;

  Core& core_;
  Syncer& syncer_;
  const std::shared_ptr<ReadPool> pool_;   // for those who read what is being written
  Appender appender_;

  mutable std::mutex pending_mutex_;   // also held while the table changes for what is pending: see committed()
  boost::unordered_multimap<Key, base::Ref<Pending>, KeyHash> pending_;

  mutable std::mutex queue_mutex_;
  std::condition_variable wake_;
  std::deque<Operation> queue_;
  bool stop_ = false, room_made_ = false, urgent_ = false;
  Budget queued_;

  // The thread's own.
  std::vector<Written> batch_;
  std::vector<Index::Name> names_;
  std::deque<Operation> backlog_;   // taken from the queue, in its order
  std::deque<Operation> waiting_;   // whole objects, for room that is being made
  std::deque<std::unique_ptr<Operation>> unwritten_;   // removals that the disk did not take yet: they go first
  std::thread thread_;
};

}  // namespace loligo::store::disk
