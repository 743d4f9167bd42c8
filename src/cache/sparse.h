// Representations of which parts are known: what a 206 brought is kept, joined
// with others, and answers any range that lies in it.
//
//   Sparse    one representation: its head (as a 200 would have brought it, without Content-Length), its length, and
//             which bytes lie in which part
//   Sparses   those there are, by the key of the URL; the longest unused goes first
//
// A part is a stored object as any other, under a key of its own (part_key), in memory, on disk or both; so a part may
// vanish at any time, and is then simply missing. Parts are known from the moment that somebody begins to fetch them
// ("claimed"): who needs them follows that fetch. Only representations with a strong validator are here, and only
// what came with the same validator and length is a part of one (RFC 9110 section 15.3.7.3, RFC 9111 section 3.4).
//
// Shared by all workers; each Sparse has a lock, held shortly. Bounded: representations, variants of a URL, pieces of
// one (cache/part_map.h), parts in all.
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "cache/part_map.h"
#include "cache/response.h"

namespace loligo::cache {

class Sparse final : public base::RefCounted {
 public:
  // `budget`: of parts in all; must not be null.
  Sparse(const store::Key& whole, uint64_t epoch, base::Ref<Response> head, std::shared_ptr<store::Budget> budget);
  ~Sparse();

  const store::Key whole;
  const uint64_t epoch, length;      // a number that never comes again, so that no part of an earlier one is taken for ours
  base::Ref<Response> head() const;
  void set_head(const base::Ref<Response>&);
  static store::Key part_key(const store::Key& whole, uint64_t epoch, uint64_t part);
  // Of those who wait for the first 206 of a URL (cache/flights.h), and of what is kept of parts on disk. No epoch is 0.
  static store::Key flight_key(const store::Key& whole) { return part_key(whole, 0, 0); }
  static store::Key record_key(const store::Key& whole) { return part_key(whole, 0, 1); }
  store::Key part_key(uint64_t part) const { return part_key(whole, epoch, part); }

  struct Place {
    enum class What : uint8_t {
      part,      // look for it in the store
      arriving,  // read `response`
      awaited,   // somebody has asked for it; `woken` comes when more is known
      gap,       // it is the caller's to fetch, as `part`, and to say what became of it; part 0: it cannot be kept
    } what = What::gap;
    uint64_t part = 0, first = 0, end = 0;   // [first, end): what it has of what was asked
    uint64_t skip = 0;                       // the body's byte that is `first`
    base::Ref<Response> response;
  };
  using Woken = std::function<void()>;       // called on any thread, under the lock: post
  // Where the bytes from `first` on are, at most to `end`.
  Place next(uint64_t first, uint64_t end, Woken woken);
  // A part that came unasked. 0: it brings nothing new, or there is no room.
  uint64_t begin(uint64_t first, uint64_t end);
  void arrived(uint64_t part, const base::Ref<Response>&);
  // It has ended after `bytes`; none: it failed.
  void ended(uint64_t part, uint64_t bytes);
  // It is not there (any more).
  void forget(uint64_t part);
  // Its response need not be held here any more, now that it is complete and the store has it; `at_once`: whether the disk
  // has it or not. False: not yet.
  bool let_go(uint64_t part, bool at_once);
  // Is all of [first, end) there or on its way? Parts that `exists(key)` denies are forgotten.
  bool covers(uint64_t first, uint64_t end, const std::function<bool(const store::Key&)>& exists);
  // The keys of all parts; from now on there are none.
  std::vector<store::Key> end();
  bool over() const { return over_.load(std::memory_order_acquire); }

  // What is to be kept on disk (cache/sparse_record.cc); nothing if there is nothing new, or it is too early.
  std::string record(int64_t now_ms, bool at_once);
  void record_again();                       // it was not taken
  std::atomic<uint64_t> record_id{0};        // on disk; 0 = not there

  static constexpr uint64_t kLargestGap = 64 << 20;   // asked for at once, so that nobody waits long for the end of it
  static constexpr uint64_t kFarthest = 4 << 20;      // further behind what has come of a part nobody waits: it is asked for again

 private:
  friend class Sparses;
  enum class State : uint8_t { claimed, arriving, complete };
  struct Part {
    uint64_t first = 0, end = 0;
    State state = State::claimed;
    base::Ref<Response> response;            // until the store has it
    std::vector<Woken> waiting;
  };
  using Parts = boost::unordered_flat_map<uint64_t, Part>;
  uint64_t claim(uint64_t first, uint64_t end);
  bool too_far(const Part&, uint64_t skip) const;
  void remove(Parts::iterator);
  static void wake(Part&);
  bool restore(const PartMap::Piece&);

  const std::shared_ptr<store::Budget> budget_;
  mutable std::mutex mutex_;
  base::Ref<Response> head_;
  PartMap map_;
  Parts parts_;
  uint64_t last_part_ = 0;
  bool changed_ = false;             // since it was recorded
  int64_t recorded_ms_ = 0;
  std::atomic<bool> over_{false};
};
using SparseRef = base::Ref<Sparse>;

// What somebody fetches to fill a gap.
struct Gap {
  SparseRef sparse;
  uint64_t part = 0, first = 0, end = 0;
};

class Sparses {
 public:
  static constexpr size_t kMost = 1000, kMostVariants = 16, kMostParts = 131'072, kMostRecent = 4096;

  Sparses();
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  bool has(const store::Key&) const;
  using Which = std::function<bool(const Response& head)>;
  // The first of that key whose head matches; counts as a use.
  SparseRef find(const store::Key&, const Which&);
  SparseRef find(const store::Key&, uint64_t epoch);
  // What had to go for it is returned: those of its key that it replaces, and those there is no room for.
  std::vector<SparseRef> add(const SparseRef&, const Which& replaces);
  std::vector<SparseRef> take(const store::Key&, const Which&);
  std::vector<SparseRef> all() const;
  // Null: that is no record.
  SparseRef read(const store::Key& whole, const base::Ref<Response>& head, std::string_view record);
  SparseRef make(const store::Key& whole, uint64_t epoch, const base::Ref<Response>& head) { return base::make_ref<Sparse>(whole, epoch, head, budget_); }
  static uint64_t new_epoch();
  // A part is complete: held until the disk has it, which holds it as well until then.
  void note_complete(const SparseRef&, uint64_t part);
  uint64_t parts() const { return budget_->used(); }

 private:
  using List = std::list<SparseRef>;
  void unlink(const store::Key&, List::iterator);
  mutable std::mutex mutex_;
  List list_;                                    // the longest unused last
  boost::unordered_flat_map<store::Key, std::vector<List::iterator>, store::KeyHash> map_;
  std::atomic<size_t> count_{0};
  std::shared_ptr<store::Budget> budget_;
  std::mutex recent_mutex_;
  std::deque<std::pair<SparseRef, uint64_t>> recent_;
};

}  // namespace loligo::cache
