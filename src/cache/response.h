// A response: its head as stored (fields that end at a hop removed, those that
// belong to the first client alone kept apart), what caching needs of it, and the
// body that may still be growing. The same object carries what is stored and
// what merely passes through, so replies have one code path.
//
// Immutable once made. Any thread.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "cache/tags.h"
#include "http/freshness.h"
#include "http/head.h"
#include "store/object.h"

namespace loligo::cache {

struct Response final : store::Object {
  using Object::Object;
  uint64_t head_memory() const override;

  std::string url;              // canonical; compared on every hit, so that no hash collision serves another's page
  // "HTTP/1.1 200 OK\r\n" and the end-to-end field lines, each with CRLF, without the empty line, Age, Set-Cookie and
  // what the connection named. Views below lie in it.
  std::string head;
  std::string first_only;       // field lines for the client whose request fetched it: Age as received, what is kept apart
  int status = 0;
  http::Method method = http::Method::get;   // whose answer it is
  bool by_http10 = false;       // the message came as HTTP/1.0: Via says so
  uint64_t content_length = store::kUnknownLength;   // of the body, when the head told it
  std::string_view etag, last_modified, content_type, date_text;
  bool has_date = false, has_surrogate_control = false;
  http::Lifetimes lifetimes;
  http::RefreshRule rule;       // the refresh_pattern line that applied when it was stored
  std::vector<std::string> vary_names;   // empty = none
  std::string selecting_key;    // of the request that fetched it
  bool stored = false;          // it was put into the cache: into memory, on disk, or both
  uint64_t disk_id = 0;         // its name on disk; 0 = not there
  mutable std::atomic<bool> memory_only{false};   // the disk did not take it after all, or has it no longer; for the store log
  // Bans (cache/bans.h): the newest when its request went out, the newest that has been asked, and since when one has made
  // it stale (seconds since 1970; 0 = none has).
  uint64_t moment = 0;
  mutable std::atomic<uint64_t> asked{0};
  mutable std::atomic<int64_t> stale_since{0};
  Tags tags;
  bool has_disk_copy() const override { return disk_id != 0; }
  void set_moment(uint64_t m) {
    moment = m;
    asked.store(m, std::memory_order_relaxed);
  }
  // As they are now: a soft purge ends freshness.
  http::Lifetimes current_lifetimes() const;
  // While it arrives: the stale one whose place it takes, and which comes back should this one be cut. The fetch's alone.
  base::Ref<Response> before;
  uint64_t before_purges = 0;   // Cache::purges_seen() when it was taken
  // What of a representation this is, where it is not all of it: [first, end) of `complete` bytes (cache/sparse.h).
  struct Part { store::Key whole; uint64_t epoch = 0, number = 0, first = 0, end = 0, complete = 0; };
  Part part;                    // epoch 0: it is no part that is kept
  bool partly = false;          // the head of a representation of which parts are known; it has no body
  bool fits_gap = false;        // it is what was asked for to fill a gap
  bool passing = false;         // in memory only while it arrives (memory_cache_mode disk)
  bool negative = false;        // kept by negative_ttl
  http::StoreVerdict verdict = http::kStore;   // why it was not stored, or did not stay
};

// Which fields a stored head does without: Set-Cookie, unless cookies are kept, and those that no-cache="..." and
// private="..." name (RFC 9111 sections 5.2.2.4 and 5.2.2.7), but for the ones that say what the stored bytes are.
class Apart {
 public:
  explicit Apart(bool keeps_cookies = false) : keeps_cookies_(keeps_cookies) {}
  // The control must outlive this.
  Apart(const http::ResponseCacheControl& control, const http::RefreshRule& rule, bool keeps_cookies);
  bool operator()(http::FieldId id, std::string_view name) const;

 private:
  const std::vector<std::string_view>*no_cache_ = nullptr, *private_ = nullptr;
  bool keeps_cookies_;
};

// Rewrites a received head: keeps the status line (as HTTP/1.1) and the end-to-end fields, in order.
// `first_only` receives Age and what is kept apart. Content-Length is kept as one canonical line when `length` is known.
void write_stored_head(const http::Head& head, const char* bytes, uint64_t length, const Apart& apart, std::string& stored, std::string& first_only);

// The head of `stored` with the fields of a 304 in place of its own (RFC 9111 section 3.2: all but Content-Length,
// Content-Encoding and Content-Range).
std::string freshened_head(const std::string& stored, const http::Head& not_modified, const char* bytes, const Apart& apart);

// Fills the views and flags that derive from `response.head`.
void index_head(Response& response);

}  // namespace loligo::cache
