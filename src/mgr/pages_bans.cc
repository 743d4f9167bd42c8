// mgr:bans, a page of our own: the purges that are in force.
#include "mgr/pages.h"

namespace loligo::mgr {

void page_bans(const PageContext& c, std::string& out) {
  const std::vector<BanRow> rows = ask(c.sources.bans);
  print(out, "Purges in force: {}\n\n", rows.size());
  print(out, "{:<18} {:<30} {:<10} {:<5} {:>10} {:>10} {:<9} {}\n", "Ban", "Since", "Kind", "How", "Taken", "Held", "State", "What");
  for (const BanRow& row : rows)
    print(out, "{:<18} {:<30} {:<10} {:<5} {:>10} {:>10} {:<9} {}\n", row.id, date(base::WallMicroseconds(row.id)), row.kind, row.soft ? "soft" : "hard",
          row.taken, row.held, row.swept ? "complete" : "looking", one_line(row.text));
}

}  // namespace loligo::mgr
