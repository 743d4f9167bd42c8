// Which bytes of a representation are known, and in which part each of them lies:
// pieces that never overlap, in order. What a new part brings twice stays with
// the part that had it first.
//
// Pure; one owner, who locks. Positions are bytes of the representation; `end` is the position behind the last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace loligo::cache {

class PartMap {
 public:
  // [first, end) lies in that part from its byte `skip` on.
  struct Piece {
    uint64_t first = 0, end = 0, part = 0, skip = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  static constexpr size_t kMostPieces = 16384;

  // Null: that byte is unknown.
  const Piece* at(uint64_t position) const;
  // Where the gap that begins at an unknown position ends: at the next known one, at most at `limit`.
  uint64_t gap_end(uint64_t position, uint64_t limit) const;
  bool covers(uint64_t first, uint64_t end) const;
  // Those that touch [first, end).
  std::vector<Piece> within(uint64_t first, uint64_t end) const;

  // What of [first, end) was unknown is known from now on. False: nothing was, or there are too many pieces.
  bool add(uint64_t first, uint64_t end, uint64_t part);
  // A piece as it was read back. False: it is empty, overlaps another, or is one too many.
  bool restore(const Piece&);
  // What of [first, end) is known is unknown from now on, whosever it is.
  void cut(uint64_t first, uint64_t end);
  // The bytes of that part in [first, end) are unknown from now on.
  void remove(uint64_t part, uint64_t first, uint64_t end);

  size_t size() const { return pieces_.size(); }
  bool empty() const { return pieces_.empty(); }
  uint64_t bytes() const;
  auto begin() const { return pieces_.begin(); }
  auto end() const { return pieces_.end(); }

 private:
  std::map<uint64_t, Piece>::const_iterator first_behind(uint64_t position) const;
  template <class Which> void cut_if(uint64_t first, uint64_t end, Which&&);
  std::map<uint64_t, Piece> pieces_;   // by `first`
};

}  // namespace loligo::cache
