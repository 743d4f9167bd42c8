// Who is carried over when the oldest segment goes: a pure decision, so that a
// trace can drive it without a disk.
//
// The hottest go first, within a share of the segment's bytes: this bounds write
// amplification at 1 / (1 - share). What has no uses left is not carried. Uses are
// halved by the one who carries: old ones buy some rounds, and fade. (To forget
// them all costs a point of hits: doc/decisions/0005-replacement.md.)
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace loligo::store::disk {

class CarryOver {
 public:
  struct Candidate {
    uint64_t bytes = 0;       // that would be written again
    uint32_t uses = 0;        // since it was written, halved when carried; saturates
    uint32_t age = 0;         // since its last use, in any unit
    bool in_memory = false;   // the memory cache holds it: somebody uses it, though we do not see it
  };

  // `policy` as cache_replacement_policy names it; an unknown word is the default, adaptive.
  explicit CarryOver(std::string_view policy, double share = kShare);
  // The candidates to be carried, as indices, in the order of preference.
  std::vector<uint32_t> choose(std::span<const Candidate>, uint64_t segment_bytes) const;

  static constexpr double kShare = 0.3;   // 1 / (1 - 0.3) = 1.43, which leaves something for heads and removals

 private:
  enum class Order : uint8_t { recency, frequency, frequency_by_size, worth };
  double preference(const Candidate&, double mean_bytes) const;
  Order order_;
  double share_;
};

}  // namespace loligo::store::disk
