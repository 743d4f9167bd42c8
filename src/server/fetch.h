// One request to a server, and the one writer of the response's body.
//
// It tries the destinations it is given, best first; sends the request (on a
// pooled connection where a retry would be safe), relays 1xx, judges the reply's
// framing, turns it into a cache::Response and feeds its body. It may outlive
// the client that asked (quick_abort), or have none (background validation).
//
// A machine of callbacks on one worker; Upstream owns it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cache.h"
#include "http/chunked.h"
#include "http/framing.h"
#include "icp/selection.h"
#include "log/record.h"
#include "server/connector.h"
#include "server/request_body.h"
#include "server/upstream.h"

namespace loligo::server {

// A request head kept beyond the buffer it came in.
struct KeptHead {
  std::string bytes;
  http::Head head;
};

enum class FetchError : unsigned char {
  none, cannot_forward, dns, connect, connect_timeout, tls, no_sockets, write, read, read_timeout, zero_reply,
  bad_reply, reply_too_large, forward_timeout, gateway_loop,
};

FetchError fetch_error(ConnectError);

struct FetchRequest {
  std::shared_ptr<const KeptHead> original;   // as the client sent it
  http::Method method = http::Method::get;
  std::string method_text, url, scheme, host, path_query;
  uint16_t port = 80;
  bool ipv6_literal = false;
  std::string host_field;                     // value of Host
  std::string fields;                         // end-to-end field lines, without Host, framing, Connection, validators and credentials
  std::string authorization;                  // the client's Authorization value; passed on or replaced by login=
  std::string proxy_authorization;            // for login=PASSTHRU
  std::string user, password;                 // proxy credentials, for login=PASS (base64 decoded "user:password")
  std::string validators;                     // field lines to validate `stale`, or the client's own conditions
  std::string upgrade;                        // value of Upgrade to send, empty = none
  std::shared_ptr<RequestBody> body;          // null = none
  bool expect_continue = false;
  cache::ResponseRef stale;                   // being validated
  cache::ResponseRef fallback;                // what is stored, validated or not: should the server fail
  cache::ResponseRef known;                   // for HEAD: what is stored, for comparison with what comes
  http::StoreVerdict refusal = http::kStore;   // why the reply may not be stored, whatever it says
  bool accelerated = false;                   // by an accelerator's port
  bool ignores_cc = false;                    // ignore-cc of its port
  bool leads_flight = false;
  bool always_finish = false;                 // what may be stored is fetched to its end, whoever leaves (range_offset_limit none)
  store::Key key;
  store::Key flight;                          // that it leads; by default that of its key
  cache::Gap gap;                             // of a representation of which parts are known: what this is to bring
  std::vector<icp::Destination> destinations;
  std::shared_ptr<const Routing> routing;     // holds what destinations point to
  std::shared_ptr<const cache::Policy> policy;
  std::vector<OutgoingAddresses> outgoing;    // by destination; empty = any address of ours
  bool pool_for_nonretriable = false;         // server_pconn_for_nonretriable
};

// Does the origin see credentials of this client's (see login= of cache_peer)?
bool sends_credentials(const FetchRequest&, const icp::PeerEntry*);

// How a fetch went, for logs and decisions. Views live with the fetch.
struct FetchFacts {
  log::HierarchyCode code = log::HierarchyCode::none;
  std::string peer_host;                      // peer name or origin address text
  net::Address server, local;
  int server_status = 0;
  int64_t dns_us = -1, peer_us = -1, total_us = -1;
  uint64_t body_bytes = 0;                    // of the reply, as framed by the server
  unsigned attempts = 0;
  bool reused_connection = false;
  // Why the reply was not stored, or did not stay; why `stale` could not stand in for a failure.
  http::CacheReason not_stored = http::CacheReason::none, not_served = http::CacheReason::none;
  int system_error = 0;
  std::string detail;
};

enum class Source : unsigned char { fresh, unmodified, failed_old };

class FetchOwner {
 public:
  virtual void fetch_interim(int status, std::string_view head) = 0;   // a 1xx head, end-to-end fields, with empty line
  virtual void fetch_response(cache::ResponseRef, Source, const FetchFacts&) = 0;
  virtual void fetch_switched(ServerConnectionPtr, cache::ResponseRef head, std::string early_bytes, const FetchFacts&) = 0;
  virtual void fetch_failed(FetchError, const FetchFacts&) = 0;
  virtual void fetch_ended(const FetchFacts&) = 0;   // after fetch_response(): the fetch is gone

 protected:
  ~FetchOwner() = default;
};

class Fetch final : net::Watcher, store::Writer, RequestBody::Consumer {
 public:
  Fetch(Upstream&, FetchRequest, FetchOwner*);
  ~Fetch();
  void begin();
  // The owner leaves. Others that read the body keep it going; then, if `may_finish`, what quick_abort says.
  void abandon(bool may_finish = true);
  void change_owner(FetchOwner* owner) { owner_ = owner; }
  const FetchFacts& facts() const { return facts_; }
  const std::string& url() const { return request_.url; }
  const ServerConnection* connection() const { return connection_.get(); }

 private:
  enum class State : unsigned char { idle, connecting, exchanging, body, done };
  // net::Watcher, store::Writer, RequestBody::Consumer
  void on_event(uint32_t events) override;
  void writer_woken() override;
  void body_arrived() override { if (connection_) flush(); }

  void try_next();
  void connect(const icp::Destination&);
  ConnectTarget target_of(const icp::Destination&) const;
  OutgoingAddresses outgoing() const { return request_.outgoing.empty() ? OutgoingAddresses{} : request_.outgoing[next_destination_ - 1]; }
  bool more_destinations() const;
  std::string pool_key(const icp::Destination&) const;
  void connected(ServerConnectionPtr, bool reused);
  void compose(const icp::Destination&);
  void flush();
  bool request_sent() const;
  void read_some();
  bool process(std::string_view input);        // false: stop reading
  bool process_head(std::string_view& input);
  bool concerns_us(const http::Head& not_modified, const char* bytes) const;
  void ask_without_conditions();
  bool may_serve_stale();
  bool reply_head(const http::Head&, std::string_view text, std::string_view rest);
  void switch_protocols(std::string_view early);
  bool process_body(std::string_view& input);
  void deliver();
  void body_ended(std::string trailers, bool reusable);
  void connection_lost(FetchError, int error);
  bool may_retry() const;
  void fail(FetchError, int error = 0, std::string detail = {});
  void land(cache::Landing);
  void release_connection(bool reusable);
  void finish();
  void check_reader();
  void timed_out();
  bool may_finish_for_cache() const;
  bool unwanted() const;
  void not_kept(http::CacheReason);
  bool outgrows();

  Upstream& upstream_;
  net::Loop& loop_;
  FetchRequest request_;
  FetchOwner* owner_;
  State state_ = State::idle;
  size_t next_destination_ = 0;
  unsigned tries_ = 0;                         // connections begun or taken from the pool, at most forward_max_tries
  icp::Destination destination_;
  std::unique_ptr<Connector> connector_;
  ServerConnectionPtr connection_;
  bool reused_ = false, allow_pool_ = true;
  std::string output_;                         // request bytes not yet sent
  size_t output_sent_ = 0;
  bool last_chunk_written_ = false;
  uint64_t body_sent_ = 0;
  std::string input_;                          // an incomplete reply head
  bool reply_begun_ = false;
  cache::ResponseRef response_;
  Source source_ = Source::fresh;
  bool delivered_ = false;
  http::Framing framing_;
  http::ChunkedDecoder chunked_;
  uint64_t body_left_ = 0;
  bool body_done_ = false, paused_ = false, read_deferred_ = false, may_finish_ = true;
  bool drained_ = false;                       // the last read took all there was
  bool write_blocked_ = false;                 // the server takes no bytes now: write_timeout runs
  bool write_failed_ = false;                  // the server stopped reading; what it says still counts
  unsigned interim_heads_ = 0;
  uint64_t charged_ = 0;           // of the body, to cache_mem
  net::FunctionTimer timer_;
  int64_t started_ms_ = 0, first_write_ms_ = 0;
  int64_t started_us_ = 0;
  base::WallSeconds request_time_ = 0;
  uint64_t purges_seen_ = 0, moment_ = 0;   // when the request went out
  FetchFacts facts_;
  std::shared_ptr<Fetch*> self_;               // nulled at the end; what posts hold
};

}  // namespace loligo::server
