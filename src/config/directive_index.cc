#include "config/directive_index.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace loligo::config {
namespace {

// Edits between two names, ignoring case; two letters swapped count as one.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  auto same = [&](size_t i, size_t j) { return base::ascii_lower(a[i - 1]) == base::ascii_lower(b[j - 1]); };
  for (size_t i = 1; i <= a.size(); ++i) {
    before = above;
    above = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

DirectiveIndex::DirectiveIndex(std::span<const RoomTable> tables) {
  for (const RoomTable& table : tables)
    for (const Directive& d : table.directives) {
      entries_.emplace(d.name, Entry{&d, table.settings});
      for (std::string_view left = d.aliases; !left.empty();) {
        size_t blank = left.find(' ');
        entries_.emplace(left.substr(0, blank), Entry{&d, table.settings});
        left.remove_prefix(blank == left.npos ? left.size() : blank + 1);
      }
    }
}

DirectiveIndex::Entry DirectiveIndex::find(std::string_view name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? Entry{} : found->second;
}

std::string_view DirectiveIndex::similar(std::string_view name) const {
  if (name.size() > 64) return {};
  std::string_view best;
  // Half an edit for another first letter: htp_port is http_port, not ftp_port.
  size_t least = 2 * std::min<size_t>(3, name.size() / 2 + 1);
  for (auto& [known, entry] : entries_) {
    size_t d = 2 * distance(name, known) + (!name.empty() && base::ascii_lower(name[0]) != known[0]);
    if (d < least || (d == least && !best.empty() && known < best)) {
      least = d;
      best = known;
    }
  }
  return best;
}

}  // namespace loligo::config
