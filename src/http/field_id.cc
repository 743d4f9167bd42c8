// The name table: one multiplicative hash of four characteristic characters,
// its multiplier found by the compiler so that no two known names meet.
#include "http/field_id.h"

#include <array>
#include <cstring>

#include "base/text.h"

namespace loligo::http {
namespace {

constexpr std::string_view kNames[] = {
    "",
#define X(id, name) name,
    LOLIGO_FIELDS(X)
#undef X
};
constexpr unsigned kCount = unsigned(FieldId::count_);
constexpr unsigned kSlotBits = 9, kSlots = 1u << kSlotBits;
constexpr size_t kLongest = 32;

// Case is folded by setting bit 0x20: names that differ only so would collide here, but are told apart by the comparison.
constexpr uint32_t characteristic(const char* name, size_t length) {
  uint32_t first = uint8_t(name[0] | 0x20), last = uint8_t(name[length - 1] | 0x20);
  uint32_t middle = uint8_t(name[length / 2] | 0x20), third = uint8_t(name[length * 3 / 4] | 0x20);
  return first | last << 8 | middle << 16 | (third ^ uint32_t(length) << 3) << 24;
}

constexpr uint32_t slot(uint32_t characteristic, uint32_t multiplier) {
  return (characteristic * multiplier) >> (32 - kSlotBits);
}

struct Table {
  uint32_t multiplier = 0;
  std::array<uint8_t, kSlots> ids{};
};

constexpr Table build_table() {
  for (uint32_t multiplier = 0x9e3779b1;; multiplier += 0x6a09e66a) {
    Table table{multiplier, {}};
    unsigned id = 1;
    for (; id < kCount; ++id) {
      uint8_t& entry = table.ids[slot(characteristic(kNames[id].data(), kNames[id].size()), multiplier)];
      if (entry) break;
      entry = uint8_t(id);
    }
    if (id == kCount) return table;
  }
}
constexpr Table kTable = build_table();

// A name in lower case, and per byte the bit that folds its case (letters only, so that the comparison is exact).
struct Folded {
  char lower[kLongest]{};
  char fold[kLongest]{};
  uint8_t length = 0;
};

constexpr std::array<Folded, kCount> fold_names() {
  std::array<Folded, kCount> out{};
  for (unsigned id = 0; id < kCount; ++id) {
    out[id].length = uint8_t(kNames[id].size());
    for (size_t i = 0; i < kNames[id].size(); ++i) {
      out[id].lower[i] = base::ascii_lower(kNames[id][i]);
      out[id].fold[i] = out[id].lower[i] >= 'a' && out[id].lower[i] <= 'z' ? 0x20 : 0;
    }
  }
  return out;
}
constexpr std::array<Folded, kCount> kFolded = fold_names();

template <class Word> bool word_equals(const char* name, const Folded& known, size_t at) {
  Word text, lower, fold;
  std::memcpy(&text, name + at, sizeof text);
  std::memcpy(&lower, known.lower + at, sizeof lower);
  std::memcpy(&fold, known.fold + at, sizeof fold);
  return (text | fold) == lower;
}

// Words overlap at the end, so that nothing outside the name is read.
bool equals(const char* name, const Folded& known) {
  size_t length = known.length;
  if (length >= 8) {
    for (size_t at = 0; at + 8 < length; at += 8)
      if (!word_equals<uint64_t>(name, known, at)) return false;
    return word_equals<uint64_t>(name, known, length - 8);
  }
  if (length >= 4) return word_equals<uint32_t>(name, known, 0) && word_equals<uint32_t>(name, known, length - 4);
  for (size_t at = 0; at < length; ++at)
    if (!word_equals<uint8_t>(name, known, at)) return false;
  return true;
}

}  // namespace

FieldId field_id(std::string_view name) {
  if (name.empty()) return FieldId::other;
  unsigned id = kTable.ids[slot(characteristic(name.data(), name.size()), kTable.multiplier)];
  if (!id || kFolded[id].length != name.size() || !equals(name.data(), kFolded[id])) return FieldId::other;
  return FieldId(id);
}

std::string_view field_name(FieldId id) { return unsigned(id) < kCount ? kNames[unsigned(id)] : std::string_view(); }

}  // namespace loligo::http
