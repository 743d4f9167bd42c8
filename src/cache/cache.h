// HTTP caching over the store: what a request finds, what a response becomes.
// Memory is asked at once, the disk through find_on_disk(); what comes from there
// is promoted to memory. What is admitted goes to both, each within its limits.
//
// Cache is shared by all workers and thread-safe. Policy is one configuration's
// compiled rules, immutable, part of a snapshot.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "access/rules.h"
#include "cache/arriving.h"
#include "cache/ban_keeper.h"
#include "cache/flights.h"
#include "cache/recent_purges.h"
#include "cache/refresh_patterns.h"
#include "cache/response.h"
#include "cache/settings.h"
#include "cache/sparse.h"
#include "cache/store_events.h"
#include "http/cache_control.h"
#include "http/range.h"
#include "http/surrogate.h"
#include "store/disk/disk.h"
#include "store/memory.h"

namespace loligo::cache {

using ResponseRef = base::Ref<Response>;

struct Policy {
  Settings settings;
  RefreshPatterns refresh_patterns;
  access::Rules cache, send_hit, store_miss, collapsed_forwarding_access;
  Collapse collapsed_forwarding = Collapse::off;
  struct RangeLimit { int64_t bytes; access::Rules condition; };
  std::vector<RangeLimit> range_limits;
  // Of other rooms' settings, for what is made and kept here (bytes).
  uint64_t read_ahead_gap = 16384;
  uint64_t min_object = 0, max_object = store::kUnknownLength;
  bool memory_enabled = true;           // cache_mem allows storing
  bool keep_network = true, keep_disk = true;   // memory_cache_mode: what memory keeps, by where it came from
  http::Surrogate surrogate;            // who we are to the origins behind an accelerator

  // range_offset_limit for a request: how far into an object its range may begin for the whole to be fetched.
  // -1 = however far, 0 = never.
  int64_t range_offset_limit(const access::Facts&) const;

  static Policy compile(const Settings&, const access::AclSet&, config::Problems&);
};

// What a response says to this cache: an accelerator follows what its origin says to surrogates, in the place of what it
// says to all caches.
http::ResponseCacheControl control_of(const http::Head&, const char* bytes, bool accelerated, const Policy&);

// The key of a canonical URL (XXH3, 128 bits). GET and HEAD share it.
store::Key key_of(std::string_view canonical_url);

// What lookup needs of a request; views live during the call.
struct Question {
  store::Key key;
  std::string_view url;
  const http::Head* request;
  const char* bytes;
  http::RequestCacheControl control;
  http::FreshnessLimits limits;
  base::WallSeconds now;
};

enum class Finding : unsigned char {
  miss,
  hit,             // serve it
  hit_revalidate,  // serve it, and validate in the background
  stale,           // validate first
};
struct Found {
  Finding finding = Finding::miss;
  ResponseRef response;
  int64_t age = 0;
  bool other_variant = false;   // there was one for other selecting fields
  bool purged = false;          // there was one that a ban has taken
  http::CacheReason why = http::CacheReason::none;   // of what was found: why it is not a plain hit
};

// What the disk had.
struct OnDisk {
  ResponseRef response;
  bool other_variant = false, purged = false;
};

// How a response came to be, for admission.
struct Arrival {
  store::Key key;
  std::string_view url;
  const http::Head* request;           // as the client sent it (selecting fields, Authorization)
  const char* request_bytes;
  http::Method method;
  base::WallSeconds request_time, response_time;
  bool accelerated = false;            // it came through an accelerator's port: CDN-Cache-Control and Surrogate-Control are for us
  bool authorized = false;             // credentials for the origin went with it, from wherever (RFC 9111 section 3.5)
  http::StoreVerdict refusal = http::kStore;   // why it may not be stored, whatever it says: rules, proxy-only peers, methods
  uint64_t length = store::kUnknownLength;
  uint64_t purges_seen = 0;            // Cache::purges_seen() when the request went out
  uint64_t moment = 0;                 // Cache::moment() then
  ResponseRef refreshed;               // what was found, and is asked for anew
  const Gap* gap = nullptr;            // what it was asked to fill, if anything
};

struct Inspection;

class Cache {
 public:
  Cache(const store::MemoryLimits&, unsigned workers);
  ~Cache();
  // Before the first lookup. May be null: no disk.
  void use_disk(std::unique_ptr<store::Disk>);
  const store::Disk* disk() const { return disk_.get(); }
  // Before the first lookup: who is told what becomes of objects.
  void use_store_log(log::StoreLog* log) { events_.use(log); }
  store::DiskObserver* disk_observer() { return &events_; }

  // In memory, or on its way to the disk (the body is not retained then, and must be joined).
  Found lookup(const Question&);
  // What a request may do with a response that was found.
  static void judge(Found&, const Question&);
  // False: surely not there; no I/O.
  bool may_be_on_disk(const store::Key& key) const { return disk_ && disk_->may_have(key); }
  // True: `now` is the answer. False: `later` is called once, on a thread of the store. The question's request must live
  // as long as `request_owner`.
  bool find_on_disk(const Question&, std::shared_ptr<const void> request_owner, std::shared_ptr<const Policy>, OnDisk& now,
                    std::function<void(OnDisk)> later);
  // What there is of the question's URL, for somebody who only wants to know (cache/inspection.h). `done` is called once, at
  // once or on a thread of the store; the question's request must live as long as `request_owner`.
  void inspect(const Question&, std::shared_ptr<const void> request_owner, std::shared_ptr<const Policy>, bool accelerated,
               std::function<void(Inspection)> done) const;
  // What freshness of a stored response depends on beside response and request.
  http::FreshnessLimits limits(const Policy&, bool ignore_client_reload, bool if_modified_since) const;
  // Makes the Response of a received head; stores it when the rules allow.
  ResponseRef admit(const http::Head&, const char* bytes, const Arrival&, const Policy&);
  // A 304 for `old`: a new head over the same body takes its place, or none where it may not be stored any more.
  ResponseRef freshen(const Response& old, const http::Head& not_modified, const char* bytes, const Arrival&, const Policy&);
  // A 200 to HEAD tells of `known`, which is stored: its head is renewed, or it is gone (RFC 9111 section 4.3.5).
  void compare(const Response& known, const http::Head&, const char* bytes, const Arrival&, const Policy&);
  // The body of a stored response holds more memory now.
  void grown(const Response& response) { memory_.recharge(response); }
  // The body of a response has ended. If it is stored: it is counted, or removed when it failed; then the stale one that it
  // replaced is back (a refresh that fails takes nothing away).
  void settled(Response&);
  // No longer fit to stay (too large, failed, invalidated).
  void drop(Response&);
  // Its growing body is larger than memory keeps; the disk may still follow it.
  void outgrown(Response&, const Policy&);
  // What an unsafe request has changed is no longer known (RFC 9111 section 4.4): its target, what Location and
  // Content-Location name on the same origin, and the groups that Cache-Group-Invalidation names (RFC 9875). How many objects went. Before admit(): what the request itself brought stays.
  unsigned invalidate(const http::Head& response, const char* bytes, Arrival&);
  // All variants; how many there were in memory. `done`, if given, hears how many there were in all when the disk will not
  // bring them back, or nothing when it may, on any thread, perhaps before this returns.
  unsigned purge(std::string_view canonical_url, store::Disk::Erased done = {});
  // Purges that name no object: by tag, by expression, soft ones (cache/bans.h).
  BanKeeper& ban_keeper() { return ban_keeper_; }
  const Bans& bans() const { return bans_; }
  uint64_t moment() const { return bans_.newest(); }
  // Whether there may be anything of that URL, in memory, on disk, or on its way there.
  bool may_have(const store::Key& key) const { return memory_.has(key) || sparses_.has(key) || may_be_on_disk(key) || (disk_ && disk_->is_writing(key)); }
  // For Arrival: what is purged after this moment is not stored by a fetch that began before.
  uint64_t purges_seen() const { return purges_.now(); }

  // ---- parts (cache/sparse.h, cache/cache_parts.cc) ----
  // What is known of the parts of what is asked for; `found` says how fresh its head is. Null: nothing.
  SparseRef lookup_parts(const Question&, Found& found);
  // Whether [first, end) is there, or on its way; no I/O. Sets `on_disk` where it is there alone.
  bool covers(Sparse&, uint64_t first, uint64_t end, bool* on_disk = nullptr);
  // Whether this, found as a part, is what it was kept as: the part that begins at `first`.
  static bool is_part(const Response&, const Sparse&, uint64_t first);
  // A part's bytes: in memory, or on disk. As find_on_disk().
  bool find_part(const SparseRef&, uint64_t part, std::shared_ptr<const Policy>, OnDisk& now, std::function<void(OnDisk)> later);
  // Something else has been seen in its place.
  void outdate(const SparseRef&);
  // The body of a part breaks off: what has come of it is a part as well. False: nothing has, or it is not kept.
  bool shorten(Response&);
  // What a process before this one has kept on disk is read when it is first asked for. True: there is nothing (more) to wait
  // for. False: `later` is called once, on a thread of the store. As find_on_disk().
  bool may_have_record(const store::Key& key) const { return may_be_on_disk(Sparse::record_key(key)); }
  bool load_parts(const Question&, std::shared_ptr<const void> request_owner, std::shared_ptr<const Policy>, std::function<void()> later);
  // Keeps on disk what is new. Call about once a second on one thread; `at_once` at the end.
  void keep_records(bool at_once = false);
  const Sparses& sparses() const { return sparses_; }

  // The largest body that memory keeps, bytes.
  uint64_t max_object(const Policy& policy) const { return std::min(policy.max_object, memory_.max_object()); }

  // offline_mode: the configuration's until somebody turns it (mgr:offline_toggle). Process-wide.
  bool offline() const { return offline_.load(std::memory_order_relaxed); }
  void set_offline(bool on) { offline_.store(on, std::memory_order_relaxed); }

  Flights& flights() { return flights_; }
  store::Memory& memory() { return memory_; }
  const store::Memory& memory() const { return memory_; }

 private:
  // `whole`: the key that it is purged by, where that is another.
  OnDisk promote(store::Disk::Found&&, const store::Key&, std::string_view url, const Policy&, uint64_t purges_seen, const store::Key* whole = nullptr);
  struct PartPlace {
    SparseRef sparse;            // null: a new one
    uint64_t epoch = 0, number = 0;
    bool fits_gap = false;
  };
  PartPlace place_part(const http::Head&, const char* bytes, const http::KnownPart&, const Arrival&, const http::Lifetimes&, bool storable);
  void keep_part(const ResponseRef&, PartPlace&, const http::Head&, const char* bytes, const Arrival&, const Policy&);
  ResponseRef freshen_parts(const Response& old, const ResponseRef& fresh, bool keep);
  void part_settled(Response&);
  void end_parts(Sparse&);
  void keep_record(const SparseRef&, bool at_once);
  void take_record(const store::Key& whole, store::Disk::Found&&, const Policy&, uint64_t purges_seen);
  void erase(const store::Key& key, const store::Key& record, unsigned objects, unsigned partly, store::Disk::Erased done);
  void end_parts_of(const Response& whole);
  template <class Select> void join_arriving(Found&, const Question&, Select&);
  void arrive(const ResponseRef&);
  void remove_banned(const store::Key&);
  bool banned_meanwhile(const Response&) const;
  store::Memory memory_;
  Arriving arriving_;
  Sparses sparses_;
  StoreEvents events_{memory_};
  std::unique_ptr<store::Disk> disk_;
  std::atomic<bool> offline_{false};
  Flights flights_;
  RecentPurges purges_;
  Bans bans_;
  BanKeeper ban_keeper_{bans_, memory_, arriving_};   // the last: its thread looks at all of the above
};

}  // namespace loligo::cache
