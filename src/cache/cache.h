// HTTP caching over the store: what a request finds, what a response becomes.
//
// Cache is shared by all workers and thread-safe. Policy is one configuration's
// compiled rules, immutable, part of a snapshot.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "access/rules.h"
#include "cache/flights.h"
#include "cache/refresh_patterns.h"
#include "cache/response.h"
#include "cache/settings.h"
#include "http/cache_control.h"
#include "store/memory.h"

namespace loligo::cache {

using ResponseRef = base::Ref<Response>;

struct Policy {
  Settings settings;
  RefreshPatterns refresh_patterns;
  access::Rules cache, send_hit, store_miss, collapsed_forwarding_access;
  bool collapsed_forwarding = false;
  uint64_t read_ahead_gap = 16384;      // bytes; of the server room's settings, for the bodies made here
  bool memory_enabled = true;           // memory_cache_mode and cache_mem allow storing

  static Policy compile(const Settings&, const access::AclSet&, config::Problems&);
};

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
};

// How a response came to be, for admission.
struct Arrival {
  store::Key key;
  std::string_view url;
  const http::Head* request;           // as the client sent it (selecting fields, Authorization)
  const char* request_bytes;
  http::Method method;
  base::WallSeconds request_time, response_time;
  bool may_store = true;               // `cache` and `store_miss` rules, proxy-only peers, methods
  uint64_t length = store::kUnknownLength;
};

class Cache {
 public:
  Cache(const store::MemoryLimits&, unsigned workers);

  Found lookup(const Question&);
  // Makes the Response of a received head; stores it when the rules allow.
  ResponseRef admit(const http::Head&, const char* bytes, const Arrival&, const Policy&);
  // A 304 for `old`: a new head over the same body takes its place.
  ResponseRef freshen(const Response& old, const http::Head& not_modified, const char* bytes, const Arrival&, const Policy&);
  // The body of a stored response has ended (or failed: it is removed).
  void settled(Response&);
  // No longer fit to stay (too large, failed, invalidated).
  void drop(Response&);
  // All variants; how many there were.
  unsigned purge(std::string_view canonical_url);

  Flights& flights() { return flights_; }
  store::Memory& memory() { return memory_; }
  const store::Memory& memory() const { return memory_; }

 private:
  store::Memory memory_;
  Flights flights_;
};

}  // namespace loligo::cache
