// What would become of a request, and why: the rules and the cache are asked as a
// transaction asks them, by the same functions, for a text to read (mgr:explain).
//
// Nothing is counted, promoted or removed, no name is looked up, nobody is
// contacted. What depends on that is said to. Any thread; `done` is called once,
// at once or on a thread of the store.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/snapshot.h"

namespace loligo::client {

struct ExplainQuestion {
  std::string method = "GET", url;     // of the request line
  std::vector<std::string> headers;    // "Name: value", without line ends
  std::string client;                  // an address
  std::optional<uint16_t> port;        // a listening port; a fitting one otherwise
};
struct ExplainAnswer {
  bool understood = true;              // false: it is no request; the text says why
  std::string text;
};

void explain(std::shared_ptr<const Snapshot>, const cache::Cache&, ExplainQuestion, base::WallSeconds now, std::function<void(ExplainAnswer)> done);

}  // namespace loligo::client
