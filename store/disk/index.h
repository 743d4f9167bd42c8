// The index of one directory: a LevelDB that maps (key, variant) to the entry's
// place, and knows up to which place the segments are in it. It is a copy of what
// the segments say: when it is damaged or lags behind, they win.
//
// Its files go through Files, and none of them is mapped into memory. Any thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/disk/files.h"
#include "store/disk/table.h"

namespace loligo::store::disk {

class Index {
 public:
  // Null when it cannot be opened or is damaged: discard() it then, and open again.
  // `capacity`: of the directory; a small one has a small index.
  static std::unique_ptr<Index> open(Files&, const std::string& path, uint64_t capacity, std::string& error);
  static void discard(Files&, const std::string& path);
  ~Index();

  // Everything before this place is in the index. Nothing: it was never complete, or files of it have gone since.
  std::optional<Place> indexed_to() const { return indexed_to_; }

  struct Name { Key key; Variant variant; };
  // One atomic write; `to` as above. False: the database does not take writes any more.
  class Batch {
   public:
    Batch();
    ~Batch();
    void put(const Entry&);
    void erase(const Name&);
   private:
    friend class Index;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };
  bool write(Batch&, std::optional<Place> to, bool sync, std::string& error);

  // The entries of a key. False: damaged.
  bool find(const Key&, std::vector<Entry>& out) const;
  // Calls f(entries, n) for each key until it returns false. False: damaged.
  bool for_each_key(const std::function<bool(const Entry*, size_t)>& f, std::string& error) const;

 private:
  struct Parts;
  explicit Index(std::unique_ptr<Parts>);
  std::unique_ptr<Parts> parts_;
  std::optional<Place> indexed_to_;
};

}  // namespace loligo::store::disk
