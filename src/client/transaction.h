// One request and its answer, whatever the wire. A machine of steps: each step
// does what it can with what is known, and either goes on to the next or waits
// for an event (a name lookup, another's fetch, the server, the client).
//
//   begin -> target -> access -> route -> lookup -> hit | fetch -> replying -> done
//
// Owned by its connection; one worker. Objects are reused: reset() between requests.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "access/facts.h"
#include "cache/cache.h"
#include "client/connection.h"
#include "client/found_word.h"
#include "client/target.h"
#include "client/tunnel_peer.h"
#include "log/record.h"
#include "server/fetch.h"
#include "server/range_feed.h"

namespace loligo::client {

class Transaction final : server::FetchOwner, server::RangeFeedOwner {
 public:
  Transaction() = default;
  ~Transaction();
  void reset();

  // ---- events from the connection ----
  // The head lies in `bytes` until begin() returns; what waits keeps a copy.
  void begin(Connection&, const char* bytes, const http::Framing&);
  void begin_malformed(Connection&, std::string_view bytes, ErrorId, int status, std::string_view detail);
  void client_left(bool timed_out = false);
  void reply_ended(ReplyEnd);
  void tunnel_ended(server::Relay::End);
  void body_too_large();
  void body_malformed();
  bool done() const { return step_ == Step::done; }
  bool wants_close() const { return close_; }

  http::Head head;            // parsed by the connection into this place

  // ---- for the manager ----
  const Target& target() const { return target_; }
  log::ResultTag tag() const { return tag_; }
  int64_t started_us() const { return started_us_; }
  uint64_t reply_offset() const;

 private:
  enum class Step : unsigned char { idle, access, route, lookup, fetching, following, replying, tunnelling, done };
  struct FlightCell;          // hears of a flight's end on the leader's thread

  // server::FetchOwner
  void fetch_interim(int status, std::string_view head) override;
  void fetch_response(cache::ResponseRef, server::Source, const server::FetchFacts&) override;
  void fetch_switched(server::ServerConnectionPtr, cache::ResponseRef, std::string early, const server::FetchFacts&) override;
  void fetch_failed(server::FetchError, const server::FetchFacts&) override;
  void fetch_ended(const server::FetchFacts&) override;
  // server::RangeFeedOwner
  void feed_ready() override;
  void feed_changed(cache::ResponseRef, server::Fetch*, const server::FetchFacts&) override;
  void feed_failed(server::FetchError, const server::FetchFacts&) override;
  void feed_interim(int status, std::string_view head) override;

  void keep();                                     // copies the head out of the connection's buffer
  void run();                                      // steps until one waits
  void run_again(Step);                            // after a wait
  void know_facts();                               // fills facts_ once, of malformed requests too
  void check_access();
  void route();
  void route_special();
  void answer_manager();
  void manager_answered(ManagerReply&);
  void answer_purge();
  void purged(std::optional<unsigned> gone);
  void ban(std::vector<cache::BanRequest>, bool count);
  void banned(const cache::BanAnswer&, bool count, bool soft);
  void answer_trace();
  void answer_options();
  void begin_tunnel();
  void tunnel_next();
  void tunnel_connected(server::ServerConnectionPtr);
  void tunnel_failed(server::FetchError, std::string detail, int system_error);
  void look_up();
  void not_cached();
  cache::Question question();
  bool may_collapse() const;
  bool joins(const cache::ResponseRef&);
  bool look_on_disk(cache::Found&);                // false: the answer comes later
  void disk_answered(cache::OnDisk);
  void serve_hit(cache::Found&, log::ResultTag);
  void revalidate_in_background(cache::ResponseRef);
  void begin_fetch(cache::ResponseRef stale, bool leads);
  bool passes_condition(http::FieldId, bool validates) const;
  server::FetchRequest fetch_request(cache::ResponseRef stale);
  http::StoreVerdict refusal() const;
  void request_fields(std::string& out);
  bool looping() const;
  bool looping_own_address() const { return connection_->port().config.mode != Port::Mode::accel && looping(); }
  ErrorFacts error_facts(int status, std::string_view detail, int error_number) const;
  std::string upgrade_allowed() const;
  void follow_forwarded();
  net::Address logged_client() const;
  bool reply_passes(const cache::Response&);
  void describe_for_fields(log::Record&) const;
  void flight_over(cache::Landing);
  bool wants_whole_for_range() const;
  bool answer_from_parts();
  void append_range(std::string& out) const;
  bool load_parts();
  cache::ResponseRef whole_of_parts() const;
  bool takes_parts(const cache::Response&, http::Ranges&);
  void serve_parts(cache::ResponseRef head_of_whole);
  void drop_feed();
  void note_fetch(const server::FetchFacts&);

  void answer(const cache::ResponseRef&, bool from_cache, int64_t age);
  bool answer_condition(const cache::Response&, int64_t age);
  bool answer_range(const cache::ResponseRef&, bool from_cache, int64_t age);
  void append_common(std::string& tail, const cache::Response*, bool from_cache, int64_t age);
  void append_connection(std::string& tail);
  std::string_view reply_lines(const cache::Response&, bool from_cache, std::string& filtered);
  std::string filtered_own(const std::string& text);
  void pass_lines(std::string_view lines, std::string& out);
  bool hides_surrogate_control(const cache::Response&) const;
  bool filters(const cache::Response&) const;
  void filtered_head(const cache::Response&, bool from_cache, std::string& out);
  void error(ErrorId, int status = 0, std::string_view detail = {}, int error_number = 0);
  void failure_page(server::FetchError, std::string_view detail, int system_error);
  void deny(const access::Verdict&, ErrorId = ErrorId::access_denied, log::ResultTag = log::ResultTag::denied);
  void simple_answer(int status, std::string_view reason, std::string_view fields, std::string_view body, std::string_view content_type = {},
                     base::Ref<store::Body> growing = {});   // `growing`: instead of `body`
  void send(Reply&&);
  void finish();
  void log_it();
  void count_it(uint64_t sent, int64_t elapsed_us);
  void record_request(log::Record&) const;
  void record_server(log::Record&) const;
  bool persist() const;
  void append_cache_status(std::string& out, bool from_cache, const cache::Response*) const;
  http::CacheReason not_stored() const;

  Connection* connection_ = nullptr;
  Worker* worker_ = nullptr;
  std::shared_ptr<const Snapshot> snapshot_;
  const char* bytes_ = nullptr;                    // the head's bytes: the connection's buffer, or kept_
  std::shared_ptr<server::KeptHead> kept_;
  http::Framing framing_;
  Target target_;
  access::Facts facts_;
  std::vector<net::Address> destinations_;
  std::string reverse_name_;
  net::Address indirect_client_;                   // by follow_x_forwarded_for
  std::unique_ptr<http::Head> reply_head_;         // the reply for rules, where there are such
  std::string reply_bytes_;
  uint64_t reply_limit_ = store::kUnknownLength;   // a body that turns out longer is cut off
  net::Lookup lookup_;
  net::ReverseLookup reverse_lookup_;
  access::Verdict verdict_;
  http::RequestCacheControl control_;
  FoundWord found_ = FoundWord::none;
  http::CacheReason reason_ = http::CacheReason::none;   // why it is no plain hit
  http::CacheReason served_ = http::CacheReason::none;   // why it was served though stale, or something else was
  store::Key key_, flight_key_;
  Step step_ = Step::idle;
  bool close_ = false, malformed_ = false, collapsed_ = false, cacheable_request_ = false, keeps_post_ = false, no_collapse_ = false;
  bool in_run_ = false, facts_filled_ = false, whole_for_range_ = false;
  unsigned flights_followed_ = 0;
  bool disk_asked_ = false;                        // by this lookup; what it gave is in on_disk_
  cache::OnDisk on_disk_;
  server::Fetch* fetch_ = nullptr;
  std::unique_ptr<server::RangeFeed> feed_;        // of ranges that are answered from parts
  cache::SparseRef sparse_;
  std::vector<http::ByteRange> wanted_;
  cache::ResponseRef range_body_;                  // what the feed makes: the wanted ranges, one behind the other
  unsigned parts_tries_ = 0;
  bool parts_asked_ = false;                       // of the disk
  std::unique_ptr<server::Connector> connector_;   // of a tunnel
  std::vector<icp::Destination> tunnel_destinations_;
  size_t next_tunnel_ = 0;
  unsigned tunnel_tries_ = 0;
  std::unique_ptr<TunnelPeer> tunnel_peer_;
  std::string early_bytes_, upgrade_reply_;
  std::shared_ptr<FlightCell> flight_;
  std::shared_ptr<Transaction*> token_;            // nulled at the end; what waits elsewhere holds it
  cache::ResponseRef response_;                    // what is being sent
  cache::ResponseRef stale_;
  cache::ResponseRef known_;   // for HEAD: what is stored
  // For the log
  log::ResultTag tag_ = log::ResultTag::none;
  server::FetchFacts fetch_facts_;
  log::HierarchyCode code_ = log::HierarchyCode::none;
  int status_ = 0;
  uint64_t head_size_ = 0;
  int64_t started_us_ = 0;
  int64_t started_steady_us_ = 0;
  ErrorId error_ = ErrorId::none;
  std::string error_detail_, method_text_, malformed_url_, malformed_bytes_, extra_fields_;
  std::string_view content_type_;
  std::string own_content_type_;
  std::string access_rule_;
  bool aborted_ = false, timed_out_ = false;
  uint64_t tunnel_up_ = 0, tunnel_down_ = 0;
};

}  // namespace loligo::client
