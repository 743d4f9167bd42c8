// What is known of parts, as it is kept on disk: the body of an object of its own
// beside them, whose head is that of the whole.
//
//   u8 form (1), u64 epoch, u64 number of the last part, u32 pieces
//   for each piece u64 first, end, part, skip
//
// Integers little-endian. The store's checksums guard the bytes; they are still read as if anybody could have written
// them. A part that is listed and is not there is missing, as any other.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cache/sparse.h"

namespace loligo::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

constexpr uint8_t kForm = 1;
constexpr size_t kHead = 1 + 8 + 8 + 4, kPiece = 4 * 8;
constexpr uint64_t kPartsBetween = uint64_t(1) << 32, kLastPart = uint64_t(1) << 63;
constexpr int64_t kPauseMs = 1000, kPiecesPerSecond = 1000;   // large ones are written less often

template <class T> void put(std::string& out, T value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

template <class T> T next_of(std::string_view& in) {
  T value;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string Sparse::record(int64_t now_ms, bool at_once) {
  std::lock_guard lock(mutex_);
  if (!changed_ || over()) return {};
  if (!at_once && now_ms - recorded_ms_ < kPauseMs * std::max<int64_t>(1, int64_t(map_.size()) / kPiecesPerSecond)) return {};
  changed_ = false;
  recorded_ms_ = now_ms;
  std::string out;
  uint32_t pieces = 0;
  put(out, kForm);
  put(out, epoch);
  put(out, last_part_);
  put(out, pieces);
  for (auto& [first, piece] : map_) {
    auto part = parts_.find(piece.part);
    if (part == parts_.end() || part->second.state != State::complete) continue;
    for (uint64_t n : {piece.first, piece.end, piece.part, piece.skip}) put(out, n);
    ++pieces;
  }
  std::memcpy(out.data() + kHead - sizeof pieces, &pieces, sizeof pieces);
  return out;
}

void Sparse::record_again() {
  std::lock_guard lock(mutex_);
  changed_ = true;
}

SparseRef Sparses::read(const store::Key& whole, const base::Ref<Response>& head, std::string_view text) {
  if (text.size() < kHead || next_of<uint8_t>(text) != kForm) return {};
  const uint64_t epoch = next_of<uint64_t>(text), last_part = next_of<uint64_t>(text);
  const uint32_t pieces = next_of<uint32_t>(text);
  if (epoch == 0 || last_part > kLastPart || pieces > PartMap::kMostPieces || text.size() != pieces * kPiece) return {};
  SparseRef sparse = make(whole, epoch, head);
  for (uint32_t n = 0; n < pieces; ++n) {
    PartMap::Piece p;
    p.first = next_of<uint64_t>(text);
    p.end = next_of<uint64_t>(text);
    p.part = next_of<uint64_t>(text);
    p.skip = next_of<uint64_t>(text);
    if (p.part == 0 || p.part > last_part || p.end > sparse->length || p.skip > p.first || !sparse->restore(p)) return {};
  }
  // Parts that came after the record was written may lie there; no number is given twice.
  sparse->last_part_ = last_part + kPartsBetween;
  return sparse;
}

bool Sparse::restore(const PartMap::Piece& p) {
  auto it = parts_.find(p.part);
  if (it != parts_.end() && it->second.first != p.first - p.skip) return false;
  if (it == parts_.end() && !budget_->take(1)) return false;
  Part& part = parts_[p.part];
  part.first = p.first - p.skip;
  part.end = std::max(part.end, p.end);
  part.state = State::complete;
  return map_.restore(p);
}

}  // namespace loligo::cache
