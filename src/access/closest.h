// The name a user most likely meant, for error messages. Start-up only.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace loligo::access {

// Insertions, deletions, replacements and swaps of neighbours between two words, case ignored.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      char x = base::ascii_lower(a[i - 1]), y = base::ascii_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == base::ascii_lower(b[j - 2]) && base::ascii_lower(a[i - 2]) == y)
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// Keeps the nearest of the names offered; result() is empty when none is near enough to be a slip of the fingers.
class Closest {
 public:
  explicit Closest(std::string_view wanted) : wanted_(wanted), distance_(std::max<size_t>(1, wanted.size() / 3) + 1) {}
  void offer(std::string_view name) {
    if (wanted_.size() > kLongestName || name.size() > kLongestName) return;
    if (size_t d = edit_distance(wanted_, name); d < distance_) distance_ = d, best_ = name;
  }
  const std::string& result() const { return best_; }

 private:
  static constexpr size_t kLongestName = 64;
  std::string_view wanted_;
  size_t distance_;
  std::string best_;
};

}  // namespace loligo::access
