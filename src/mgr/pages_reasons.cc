// mgr:reasons, a page of our own: how often each reason of http/cache_reason.h was one.
#include "mgr/pages.h"

namespace loligo::mgr {

void page_reasons(const PageContext& c, std::string& out) {
  print(out, "{:<14} {:<40} {:>12} {}\n", "Family", "Reason", "Count", "Meaning");
  for (unsigned i = 1; i < http::kCacheReasons; ++i) {   // not the first: no reason
    const http::CacheReasonRow& row = http::kCacheReasonRows[i];
    uint64_t count = 0;
    for (const http::ReasonCounts* worker : c.sources.reasons) count += worker->of[i].get();
    print(out, "{:<14} {:<40} {:>12} {}\n", row.word.substr(0, row.word.find('.')), row.word, count, row.meaning);
  }
}

}  // namespace loligo::mgr
