// Bans: "whatever was fetched before now and matches this is gone" (or stale).
// One is in force the moment it is added, however many objects there are: each
// object is asked when it is next used, by those that are newer than what it was
// asked about before. BanKeeper looks through the rest and ends bans.
//
// Time is the order of bans alone, no clock: an object's moment is the newest
// ban there was when its request went out, and a ban concerns the objects whose
// moment is before it. Ids grow over restarts as well.
//
// Shared by all workers, any thread. The common case, no ban since the object was
// last asked, is one load and a comparison. Bounded in number and length.
#pragma once
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/response.h"

namespace re2 { class RE2; }

namespace loligo::cache {

enum class BanKind : uint8_t { pattern, tag, url };   // a regular expression of URLs; a tag; one URL

struct BanRequest {
  BanKind kind = BanKind::pattern;
  bool soft = false;         // stale rather than gone
  std::string text;
};

struct Ban {
  explicit Ban(BanRequest request);
  ~Ban();
  uint64_t id = 0;           // microseconds since 1970, or the next number; does not change once it is in force
  const BanRequest what;
  uint64_t hash = 0;         // of a tag, or the URL's key
  std::unique_ptr<re2::RE2> regex;
  std::atomic<uint64_t> taken{0};        // objects that went, or that were found stale by it
  std::atomic<uint64_t> held{0};         // soft: how many there still were when last looked
  std::atomic<bool> swept{false};        // all objects there were have been asked
};
using BanRef = std::shared_ptr<Ban>;

class Bans {
 public:
  static constexpr size_t kMostPatterns = 500, kMostOthers = 10'000, kMostText = 4096;

  Bans();
  ~Bans();
  uint64_t newest() const { return newest_.load(std::memory_order_acquire); }
  // Of bans up to this one some have ended: what was asked for before it cannot be judged any more.
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }

  // False: it is gone. Marks it when it is stale. `count`: the caller removes it, here and now.
  bool allows(const Response& response, bool count = false) const {
    return response.asked.load(std::memory_order_relaxed) >= newest() || ask(response, count);
  }
  // Asks again all that are newer than the object. The ban that made it stale, if one did.
  bool ask_all(const Response&, bool count, BanRef& stale_by) const;

  // The ban that concerns it, and whether it is gone by that or stale; 0 = none. Leaves no trace.
  uint64_t concerning(const Response&, bool& gone) const;

  // Null, and why not. What origins ask for never takes the last places.
  BanRef add(BanRequest, std::string& error, bool by_origin = false);
  std::vector<BanRef> all() const;
  void end(const std::vector<BanRef>&);

  // To keep, and back. False: not what text() wrote; then everything older than now is gone, as one cannot know.
  std::string text() const;
  bool load(std::string_view text);
  void ban_everything();

 private:
  struct Pair { BanRef hard, soft; };
  using Table = boost::unordered_flat_map<uint64_t, Pair>;
  struct Finding { Ban* hard = nullptr; BanRef soft; };
  bool ask(const Response&, bool count) const;
  Finding look(const Response&, uint64_t since) const;
  bool insert(const BanRef&, size_t most_others = kMostOthers);
  uint64_t next_id() const;

  mutable std::shared_mutex mutex_;
  std::vector<BanRef> patterns_;        // by id
  Table tags_, urls_;
  size_t others_ = 0;                   // in the tables
  std::atomic<uint64_t> newest_{0}, ended_{0};
};

}  // namespace loligo::cache
