#include "store/disk/table.h"

#include <algorithm>

namespace loligo::store::disk {

Entry make_entry(const Key& key, Variant variant, uint64_t id, Place place, uint64_t bytes, uint64_t head_bytes, bool is_head) {
  Entry e;
  e.key_high = key.high;
  e.key_low = key.low;
  e.id_high = uint32_t(id >> 32);
  e.id_low = uint32_t(id);
  e.place = place;
  e.units = uint32_t(std::min<uint64_t>(padded(bytes) / kAlign, UINT32_MAX));
  e.variant = variant;
  e.is_head = is_head;
  e.head_units = uint32_t(std::min<uint64_t>(padded(head_bytes) / kAlign, Entry::kBigHead));
  return e;
}

Table::Table() = default;
Table::~Table() = default;

// ---- a shard -------------------------------------------------------------------

template <class F> void Table::Shard::each(const Key& key, F&& f) const {
  if (index.empty()) return;
  uint32_t size = uint32_t(index.size());
  for (uint32_t slot = home(key.low); index[slot]; slot = slot + 1 == size ? 0 : slot + 1) {
    if (index[slot] >> 24 != (key.low & 255)) continue;
    uint32_t i = entry_of(index[slot]);
    if (at(i).key_low == key.low && at(i).key_high == key.high && !f(slot, i)) return;
  }
}

void Table::Shard::resize(size_t slots) {
  index.assign(slots, 0);
  index.shrink_to_fit();
  for (uint32_t i = 0; i < entries; ++i) {
    uint32_t slot = home(at(i).key_low);
    while (index[slot]) slot = slot + 1 == slots ? 0 : slot + 1;
    index[slot] = slot_value(i, at(i).key_low);
  }
}

// At most 7/8 full, growing by a quarter: five bytes an entry on average.
bool Table::Shard::add(const Entry& e) {
  if (entries >= kMostEntries) return false;
  if ((entries + 1) * uint64_t(8) > index.size() * uint64_t(7)) resize(std::max<size_t>(16, index.size() + index.size() / 4));
  if (entries == slabs.size() * kSlabEntries) slabs.emplace_back(new Entry[kSlabEntries]);
  uint32_t i = entries++;
  at(i) = e;
  uint32_t size = uint32_t(index.size()), slot = home(e.key_low);
  while (index[slot]) slot = slot + 1 == size ? 0 : slot + 1;
  index[slot] = slot_value(i, e.key_low);
  return true;
}

uint32_t Table::Shard::slot_of(uint32_t entry) const {
  uint32_t size = uint32_t(index.size()), slot = home(at(entry).key_low);
  while (entry_of(index[slot]) != entry) slot = slot + 1 == size ? 0 : slot + 1;
  return slot;
}

// Frees a slot and moves back those behind it that would no longer be found.
void Table::Shard::unlink(uint32_t slot) {
  uint32_t size = uint32_t(index.size()), hole = slot;
  for (uint32_t next = slot + 1 == size ? 0 : slot + 1; index[next]; next = next + 1 == size ? 0 : next + 1) {
    uint32_t ideal = home(at(entry_of(index[next])).key_low);
    uint32_t distance = next >= ideal ? next - ideal : next + size - ideal;
    uint32_t from_hole = next >= hole ? next - hole : next + size - hole;
    if (distance < from_hole) continue;
    index[hole] = index[next];
    hole = next;
  }
  index[hole] = 0;
}

// The last entry takes the place of the removed one, so that slabs stay dense.
void Table::Shard::remove(uint32_t entry) {
  unlink(slot_of(entry));
  uint32_t last = entries - 1;
  if (entry != last) {
    uint32_t slot = slot_of(last);
    at(entry) = at(last);
    index[slot] = slot_value(entry, at(entry).key_low);
  }
  entries = last;
  if (slabs.size() > entries / kSlabEntries + 2) slabs.pop_back();
  if (index.size() > 64 && entries * uint64_t(2) < index.size()) resize(index.size() - index.size() / 3);
}

// ---- finding -------------------------------------------------------------------

bool Table::contains(const Key& key) const {
  const Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  bool found = false;
  s.each(key, [&](uint32_t, uint32_t) { found = true; return false; });
  return found;
}

std::vector<Entry> Table::find(const Key& key) const {
  std::vector<Entry> found;
  const Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  s.each(key, [&](uint32_t, uint32_t i) { found.push_back(s.at(i)); return true; });
  if (found.size() > 1) std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.id() > b.id(); });
  return found;
}

template <class Is> std::optional<Entry> Table::first(const Key& key, Is&& is) const {
  std::optional<Entry> found;
  const Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  s.each(key, [&](uint32_t, uint32_t i) {
    if (!is(s.at(i))) return true;
    found = s.at(i);
    return false;
  });
  return found;
}

std::optional<Entry> Table::find(const Key& key, uint64_t id) const {
  return first(key, [&](const Entry& e) { return e.id() == id; });
}

std::optional<Entry> Table::find(const Key& key, Variant v) const {
  return first(key, [&](const Entry& e) { return e.variant.family == v.family && e.variant.variant == v.variant; });
}

void Table::used(const Key& key, uint64_t id, uint32_t tick) {
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  s.each(key, [&](uint32_t, uint32_t i) {
    Entry& e = s.at(i);
    if (e.id() != id) return true;
    if (e.uses < Entry::kMostUses) e.uses = e.uses + 1;
    e.tick = tick & 0x7FFF;
    return false;
  });
}

// ---- changing ------------------------------------------------------------------

void Table::insert(const Entry& e, std::vector<Entry>& gone) {
  const Key key = e.key();
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  if (s.loading) s.touched.insert(key);
  for (;;) {
    uint32_t victim = UINT32_MAX, oldest = UINT32_MAX;
    unsigned same_family = 0;
    s.each(key, [&](uint32_t, uint32_t i) {
      const Entry& old = s.at(i);
      if (old.variant.family != e.variant.family || old.variant.variant == e.variant.variant) {
        victim = i;
        return false;
      }
      ++same_family;
      if (oldest == UINT32_MAX || old.id() < s.at(oldest).id()) oldest = i;
      return true;
    });
    if (victim == UINT32_MAX && same_family >= kMaxVariants) victim = oldest;
    if (victim == UINT32_MAX) break;
    gone.push_back(s.at(victim));
    s.remove(victim);
  }
  s.add(e);
}

bool Table::move(const Key& key, uint64_t id, const Place* from, const Entry& to) {
  bool moved = false;
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  s.each(key, [&](uint32_t, uint32_t i) {
    Entry& e = s.at(i);
    if (e.id() != id) return true;
    if (!from || e.place == *from) {
      e = to;
      moved = true;
    }
    return false;
  });
  if (moved && s.loading) s.touched.insert(key);
  return moved;
}

unsigned Table::erase(const Key& key, std::vector<Entry>& gone) {
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  if (s.loading) s.touched.insert(key);
  unsigned n = 0;
  for (;; ++n) {
    uint32_t victim = UINT32_MAX;
    s.each(key, [&](uint32_t, uint32_t i) { victim = i; return false; });
    if (victim == UINT32_MAX) return n;
    gone.push_back(s.at(victim));
    s.remove(victim);
  }
}

bool Table::erase(const Key& key, uint64_t id, Entry* gone) {
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  uint32_t victim = UINT32_MAX;
  s.each(key, [&](uint32_t, uint32_t i) {
    if (s.at(i).id() != id) return true;
    victim = i;
    return false;
  });
  if (victim == UINT32_MAX) return false;
  if (s.loading) s.touched.insert(key);
  if (gone) *gone = s.at(victim);
  s.remove(victim);
  return true;
}

bool Table::erase_at(const Key& key, Place place) {
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  uint32_t victim = UINT32_MAX;
  s.each(key, [&](uint32_t, uint32_t i) {
    if (s.at(i).place != place) return true;
    victim = i;
    return false;
  });
  if (victim == UINT32_MAX) return false;
  if (s.loading) s.touched.insert(key);
  s.remove(victim);
  return true;
}

// ---- loading -------------------------------------------------------------------

void Table::begin_loading() {
  for (Shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    s.loading = true;
  }
}

void Table::end_loading() {
  for (Shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    s.loading = false;
    s.touched = {};
  }
}

bool Table::touched(const Key& key) const {
  const Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  return !s.loading || s.touched.contains(key);
}

bool Table::touch(const Key& key) {
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  return s.loading && s.touched.insert(key).second;
}

unsigned Table::insert_older(const Entry* entries, size_t n) {
  if (n == 0) return 0;
  const Key key = entries[0].key();
  Shard& s = shard_of(key);
  std::lock_guard lock(s.mutex);
  if (!s.loading || s.touched.contains(key)) return 0;
  unsigned added = 0;
  for (const Entry* e = entries; e < entries + n; ++e) {
    bool dead = false;
    unsigned variants = 0;
    s.each(key, [&](uint32_t, uint32_t i) {
      const Variant& v = s.at(i).variant;
      dead = v.family != e->variant.family || v.variant == e->variant.variant || ++variants >= kMaxVariants;
      return !dead;
    });
    if (dead) continue;
    added += s.add(*e);
  }
  return added;
}

void Table::forget_older() {
  for (Shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    for (uint32_t i = 0; i < s.entries;) {
      if (s.touched.contains(s.at(i).key())) ++i;
      else s.remove(i);   // the last one stands here now
    }
  }
}

// ---- telling -------------------------------------------------------------------

uint64_t Table::objects() const {
  uint64_t n = 0;
  for (unsigned s = 0; s < kShards; ++s) n += entries_in(s);
  return n;
}

uint64_t Table::memory() const {
  uint64_t bytes = 0;
  for (const Shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    bytes += s.slabs.size() * kSlabEntries * sizeof(Entry) + s.index.capacity() * 4;
  }
  return bytes;
}

void Table::copy_from(unsigned shard, uint32_t from, size_t most, std::vector<Entry>& out) const {
  const Shard& s = shards_[shard];
  std::lock_guard lock(s.mutex);
  for (uint32_t i = from; i < s.entries && most > 0; ++i, --most) out.push_back(s.at(i));
}

}  // namespace loligo::store::disk
