#include "cache/part_map.h"

#include <algorithm>

namespace loligo::cache {

// The first piece that ends behind `position`.
std::map<uint64_t, PartMap::Piece>::const_iterator PartMap::first_behind(uint64_t position) const {
  auto it = pieces_.upper_bound(position);
  if (it != pieces_.begin() && std::prev(it)->second.end > position) --it;
  return it;
}

const PartMap::Piece* PartMap::at(uint64_t position) const {
  auto it = first_behind(position);
  return it != pieces_.end() && it->second.first <= position ? &it->second : nullptr;
}

uint64_t PartMap::gap_end(uint64_t position, uint64_t limit) const {
  auto it = first_behind(position);
  return it == pieces_.end() ? limit : std::min(limit, std::max(position, it->second.first));
}

bool PartMap::covers(uint64_t first, uint64_t end) const {
  for (auto it = first_behind(first); first < end; ++it) {
    if (it == pieces_.end() || it->second.first > first) return false;
    first = it->second.end;
  }
  return true;
}

std::vector<PartMap::Piece> PartMap::within(uint64_t first, uint64_t end) const {
  std::vector<Piece> out;
  for (auto it = first_behind(first); it != pieces_.end() && it->second.first < end; ++it) out.push_back(it->second);
  return out;
}

bool PartMap::add(uint64_t first, uint64_t end, uint64_t part) {
  const uint64_t begin = first;
  bool added = false;
  while (first < end) {
    if (const Piece* known = at(first)) {
      first = known->end;
      continue;
    }
    if (pieces_.size() >= kMostPieces) break;
    const uint64_t to = gap_end(first, end);
    pieces_[first] = {first, to, part, first - begin};
    added = true;
    first = to;
  }
  return added;
}

bool PartMap::restore(const Piece& p) {
  if (p.first >= p.end || pieces_.size() >= kMostPieces || !within(p.first, p.end).empty()) return false;
  pieces_[p.first] = p;
  return true;
}

template <class Which> void PartMap::cut_if(uint64_t first, uint64_t end, Which&& which) {
  for (const Piece& p : within(first, end)) {
    if (!which(p)) continue;
    pieces_.erase(p.first);
    if (p.first < first) pieces_[p.first] = {p.first, first, p.part, p.skip};
    if (p.end > end) pieces_[end] = {end, p.end, p.part, p.skip + (end - p.first)};
  }
}

void PartMap::cut(uint64_t first, uint64_t end) {
  cut_if(first, end, [](const Piece&) { return true; });
}

void PartMap::remove(uint64_t part, uint64_t first, uint64_t end) {
  cut_if(first, end, [part](const Piece& p) { return p.part == part; });
}

uint64_t PartMap::bytes() const {
  uint64_t n = 0;
  for (auto& [first, p] : pieces_) n += p.end - p.first;
  return n;
}

}  // namespace loligo::cache
