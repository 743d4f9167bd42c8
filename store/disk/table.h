// What a directory holds, in memory: 44 bytes an object and some 5 of index.
//
// Sharded by key, a short lock each; any thread. While the directory loads, the
// table knows which keys have been touched since the start: what older records
// say about those no longer counts.
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "store/disk/format.h"

namespace loligo::store::disk {

// Where an object lies. The fields that policies need are small and saturate. Packed: a million of them are in memory.
#pragma pack(push, 4)
struct Entry {
  uint64_t key_high = 0, key_low = 0;
  uint32_t id_high = 0, id_low = 0;
  Place place;                           // of its object or head record
  uint32_t units = 0;                    // of kAlign bytes on disk, all its records together
  Variant variant;
  uint32_t is_head : 1 = 0;              // a head record: the body lies elsewhere
  uint32_t uses : 4 = 0;                 // since it was written; halved when carried
  uint32_t head_units : 12 = 0;          // padded head, for reading all at once; kBigHead = not known
  uint32_t tick : 15 = 0;                // of the last use, kTickSeconds each, wraps

  static constexpr uint32_t kBigHead = 4095, kMostUses = 15, kTickSeconds = 16;
  Key key() const { return {key_high, key_low}; }
  uint64_t id() const { return uint64_t(id_high) << 32 | id_low; }
  uint64_t bytes() const { return units * kAlign; }
};
#pragma pack(pop)
static_assert(sizeof(Entry) == 44);
Entry make_entry(const Key&, Variant, uint64_t id, Place, uint64_t bytes, uint64_t head_bytes, bool is_head);

class Table {
 public:
  static constexpr unsigned kShards = 64, kMaxVariants = 64;
  Table();
  ~Table();

  bool contains(const Key&) const;
  // Entries of the key, newest first.
  std::vector<Entry> find(const Key&) const;
  std::optional<Entry> find(const Key&, uint64_t id) const;
  std::optional<Entry> find(const Key&, Variant) const;
  void used(const Key&, uint64_t id, uint32_t tick);

  // A new object: takes the place of those of another family and of its own variant. `gone`: what went.
  void insert(const Entry&, std::vector<Entry>& gone);
  // The object (key, id) is at another place now. False: it has gone. `from`: only if it still stands there.
  bool move(const Key&, uint64_t id, const Place* from, const Entry& to);
  unsigned erase(const Key&, std::vector<Entry>& gone);
  bool erase(const Key&, uint64_t id, Entry* gone = nullptr);
  // Only if it still stands there.
  bool erase_at(const Key&, Place);

  // ---- while loading ----
  void begin_loading();
  void end_loading();
  bool touched(const Key&) const;
  // What is known of older times no longer counts for the key. False: it was so already.
  bool touch(const Key&);
  // Entries from the index or from segments read backwards, all of one key: older than what the table has.
  unsigned insert_older(const Entry* entries, size_t n);
  // Forgets what has not been touched.
  void forget_older();

  uint64_t objects() const;
  uint64_t memory() const;
  // Calls f(const Entry&) for every entry, a shard at a time, under its lock.
  template <class F> void for_each(F&& f) const {
    for (unsigned s = 0; s < kShards; ++s) for_each_in(s, f);
  }
  template <class F> void for_each_in(unsigned shard, F&& f) const {
    const Shard& s = shards_[shard];
    std::lock_guard lock(s.mutex);
    for (uint32_t i = 0; i < s.entries; ++i) f(s.at(i));
  }
  uint32_t entries_in(unsigned shard) const {
    std::lock_guard lock(shards_[shard].mutex);
    return shards_[shard].entries;
  }
  // Some entries of a shard from position `from` on.
  void copy_from(unsigned shard, uint32_t from, size_t most, std::vector<Entry>& out) const;

 private:
  template <class Is> std::optional<Entry> first(const Key&, Is&& is) const;
  static constexpr uint32_t kSlabEntries = 744;   // just below 32 KiB
  static constexpr uint32_t kMostEntries = (1 << 24) - 1;   // of a shard; a thousand million objects
  struct Shard {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<Entry[]>> slabs;
    uint32_t entries = 0;
    // By hash, linear probing; 0 = free. Entry + 1 in 24 bits, and 8 bits of the key, so that others are passed by
    // without a look at them.
    std::vector<uint32_t> index;
    boost::unordered_flat_set<Key, KeyHash> touched;
    bool loading = false;

    Entry& at(uint32_t i) { return slabs[i / kSlabEntries][i % kSlabEntries]; }
    const Entry& at(uint32_t i) const { return slabs[i / kSlabEntries][i % kSlabEntries]; }
    static uint32_t slot_value(uint32_t entry, uint64_t key_low) { return uint32_t(key_low & 255) << 24 | (entry + 1); }
    static uint32_t entry_of(uint32_t slot_value) { return (slot_value & kMostEntries) - 1; }
    uint32_t home(uint64_t key_low) const { return uint32_t((key_low >> 32) * index.size() >> 32); }
    template <class F> void each(const Key&, F&& f) const;   // f(index slot, entry number)
    bool add(const Entry&);   // false: full
    void remove(uint32_t entry);
    void unlink(uint32_t slot);
    uint32_t slot_of(uint32_t entry) const;
    void resize(size_t slots);
  };
  Shard& shard_of(const Key& k) { return shards_[k.high % kShards]; }
  const Shard& shard_of(const Key& k) const { return shards_[k.high % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace loligo::store::disk
