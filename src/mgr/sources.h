// Where the manager's numbers come from: main fills a Sources with functions
// that look at the other rooms; the pages only print. A source that is not
// there counts as empty.
//
// Called on the thread that answers the manager's request; a source that looks
// into another worker must itself be safe to call there. Rows are snapshots.
// Units: the last word of a name, otherwise bytes and counts.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "client/explain.h"
#include "http/cache_reason.h"

namespace loligo::mgr {

// What is counted once for the process rather than by a worker (peering, disk).
//  X(field)
#define LOLIGO_OTHER_COUNTERS(X)                                                                          \
  X(icp_packets_sent) X(icp_packets_received) X(icp_queries_sent) X(icp_queries_received)                 \
  X(icp_replies_sent) X(icp_replies_received) X(icp_query_timeouts) X(icp_replies_queued)                 \
  X(icp_query_bytes_sent) X(icp_query_bytes_received) X(icp_reply_bytes_sent) X(icp_reply_bytes_received) \
  X(icp_times_used) X(htcp_packets_sent) X(htcp_packets_received)                                         \
  X(digest_times_used) X(digest_messages_sent) X(digest_messages_received)                                \
  X(digest_memory_bytes) X(digest_local_memory_bytes) X(digest_bytes_sent) X(digest_bytes_received)       \
  X(swap_outs) X(swap_ins) X(swap_files_cleaned) X(unlink_requests)                                       \
  X(disk_opens) X(disk_closes) X(disk_reads) X(disk_writes) X(disk_seeks) X(disk_unlinks)                 \
  X(sock_binds) X(sock_recvfroms) X(sock_sendtos)

struct OtherCounters {
#define X(field) uint64_t field = 0;
  LOLIGO_OTHER_COUNTERS(X)
#undef X
};

struct Times {
  base::WallMicroseconds wall_us = 0;
  int64_t steady_us = 0;
  int64_t cpu_us = 0;      // user and system time of the process so far
};
Times read_times();         // of this process, now

struct ProcessFacts {
  base::WallMicroseconds start_wall_us = 0;
  int64_t start_steady_us = 0;
  uint64_t resident_kb = 0, page_faults = 0;   // read_process_facts() knows these ...
  int open_descriptors = 0, largest_descriptor = 0;
  int max_descriptors = 0;                     // ... and main these
  int reserved_descriptors = 0, queued_opens = 0, store_files = 0;
};
// Fills what the system knows: maximum resident size, page faults, descriptors in use.
ProcessFacts read_process_facts();

struct TagCount { std::string_view tag; uint64_t count = 0; bool hit = false; };

struct ClientRow {
  std::string address, name;                   // name empty = not known
  unsigned connections = 0;
  uint64_t icp_requests = 0, http_requests = 0;
  std::vector<TagCount> icp_tags, http_tags;
};

struct PeerRow {
  std::string type;                            // "Parent", "Sibling", "Multicast Group"
  std::string name, host;
  unsigned http_port = 0, icp_port = 0;
  std::string options;                         // as configured: "htcp no-digest"
  std::vector<std::string> addresses;
  bool up = true;
  uint64_t fetches = 0, open_connections = 0;
  int rtt_ms = 0;
  int64_t last_query_seconds = -1, last_reply_seconds = -1;   // ago; -1 = never
  uint64_t pings_sent = 0, pings_acked = 0, ignored = 0;
  std::vector<TagCount> acked;                 // "ICP_HIT" ...
  uint64_t keepalives_asked = 0, keepalives_granted = 0;
  int64_t last_failure_seconds = -1;           // a connection that could not be made; -1 = never
};

struct StoreDirectoryRow {
  std::string type, path, policy;
  uint64_t max_bytes = 0, current_bytes = 0;
  uint64_t filesystem_used_kb = 0, filesystem_total_kb = 0, inodes_used = 0, inodes_total = 0;
  unsigned block_bytes = 0;
  bool selected = false, read_only = false;
  double reference_age_days = 0;               // of the next object to go
};
// Of the disk store since the start: what was done, and why something was not. Printed in this order.
struct DiskCount { std::string_view name; uint64_t count = 0; };
struct StoreFacts {
  uint64_t entries = 0, entries_in_memory = 0, hot_entries = 0, disk_entries = 0;
  uint64_t memory_bytes = 0, memory_capacity_bytes = 0;
  uint64_t disk_bytes = 0, disk_capacity_bytes = 0;
  std::vector<StoreDirectoryRow> directories;
  uint64_t creates = 0, create_refusals = 0, create_failures = 0;   // objects offered to the disk
  std::vector<DiskCount> disk_counts;
  double write_amplification = 0;              // bytes written for each byte stored
};

struct PoolRow {
  std::string name;
  uint64_t object_bytes = 0;
  uint64_t in_use = 0, idle = 0, in_use_high = 0, allocated_high = 0, idle_high = 0;
  double in_use_high_hours = 0, allocated_high_hours = 0;   // how long ago the highest number was seen
  uint64_t allocations = 0, reused = 0, freed = 0;   // calls; reused = served without the system
};

struct NameRow {
  std::string host;
  bool negative = false, from_hosts_file = false;
  int64_t last_use_seconds = 0, ttl_seconds = 0;     // ttl -1 = for ever
  struct Target { std::string address; bool ok = true; };
  std::vector<Target> addresses;
};
struct NameCacheFacts {
  uint64_t requests = 0, hits = 0, negative_hits = 0, numeric_hits = 0, misses = 0;
  uint64_t a_records = 0, aaaa_records = 0, cname_records = 0, cname_only = 0, invalid = 0;
  std::vector<NameRow> rows;
};
struct ReverseRow {
  std::string address;
  bool negative = false, from_hosts_file = false;
  int64_t ttl_seconds = 0;
  std::vector<std::string> names;
};
struct ReverseCacheFacts {
  uint64_t requests = 0, hits = 0, negative_hits = 0, misses = 0;
  std::vector<ReverseRow> rows;
};
struct ResolverFacts {
  struct Server { std::string address; uint64_t queries = 0, replies = 0; };
  struct Waiting { unsigned id = 0, bytes = 0, sends = 0; double first_send_seconds = 0, last_send_seconds = 0; std::string name; };
  struct Code { int code = 0; uint64_t attempts[3] = {}; };   // replies by RCODE and attempt
  std::vector<Server> servers;
  std::vector<Waiting> queue;
  std::vector<Code> codes;
};

struct IdlePoolFacts {
  std::string name;                                  // "server-peers"
  std::vector<std::pair<unsigned, uint64_t>> requests_per_connection;   // requests, connections
  std::vector<std::pair<std::string, unsigned>> idle;                   // key, connections
};

struct DescriptorRow {
  int fd = 0;
  std::string type;                                  // "Socket", "File", "Pipe", "Log"
  int timeout_seconds = 0;
  uint64_t read_bytes = 0, written_bytes = 0;
  bool reading = false, writing = false;             // waits for input, output
  std::string remote, description;
};
// What /proc knows of the open descriptors, at most `limit` rows, by number.
std::vector<DescriptorRow> read_descriptors(size_t limit = 65'536);

struct ActiveRequestRow {
  uint64_t connection = 0, entry = 0;                // numbers that tell them apart
  int fd = -1;
  uint64_t read_bytes = 0, written_bytes = 0;        // of the connection
  std::string description, remote, local;
  uint64_t buffer_used = 0, buffer_free = 0, connection_requests = 0;
  std::string url, tag, user, key;
  uint64_t out_offset = 0, out_size = 0, request_bytes = 0;
  base::WallMicroseconds start_wall_us = 0;
  double age_seconds = 0;
};

struct TimerRow { std::string name; double seconds = 0; unsigned weight = 1; bool cancellable = false; };
struct TimerFacts { std::string last; std::vector<TimerRow> rows; };

// One object of the cache, wherever it is. Times are seconds since 1970; -1 = not known.
struct ObjectRow {
  uint64_t key_high = 0, key_low = 0;
  bool complete = true, in_memory = false;
  enum class OnDisk : unsigned char { no, writing, done } on_disk = OnDisk::no;
  bool described = false, negative = false, must_validate = false;   // described: its head is known
  int64_t validated = -1, last_used = -1, last_modified = -1, expires = -1;
  unsigned locks = 0, clients = 0, uses = 0;         // who holds it, who reads its body as it comes, as the policy counts
  int directory = -1;
  uint32_t file = 0xFFFFFFFF;                        // the segment's number
  std::string url;                                   // empty = not known
  uint64_t arrived_bytes = 0, queued_bytes = 0;      // of the body; what waits to be written
  int64_t body_bytes = -1;
  uint64_t disk_bytes = 0;
};
enum class Objects : unsigned char { all, in_memory, being_written };
class ObjectRows {
 public:
  virtual ~ObjectRows() = default;
  // Appends some, perhaps none. False: these were the last.
  virtual bool next(std::vector<ObjectRow>& rows) = 0;
};

// A purge that is still in force (cache/bans.h).
struct BanRow {
  uint64_t id = 0;                                   // microseconds since 1970, about
  std::string_view kind;                             // "url-regex", "tag", "url"
  bool soft = false, swept = false;                  // all objects have been asked
  uint64_t taken = 0, held = 0;                      // that went or became stale; that it still concerns
  std::string text;
};

template <class T> using Source = std::function<T()>;

struct Sources {
  std::string service_name = "loligo", version = "0.1.0", build_info, hostname;
  std::vector<const base::Counters*> workers;        // live as long as the Manager
  std::vector<const http::ReasonCounts*> reasons;    // of each worker
  Source<Times> times = read_times;
  Source<OtherCounters> other;
  Source<ProcessFacts> process = read_process_facts;
  Source<std::vector<ClientRow>> clients;
  Source<std::vector<PeerRow>> peers;
  Source<StoreFacts> store;
  Source<std::vector<PoolRow>> pools;
  Source<NameCacheFacts> names;
  Source<ReverseCacheFacts> reverse_names;
  Source<ResolverFacts> resolver;
  Source<std::vector<IdlePoolFacts>> idle_pools;
  Source<std::vector<DescriptorRow>> descriptors = [] { return read_descriptors(); };
  Source<std::vector<ActiveRequestRow>> active_requests;
  Source<TimerFacts> timers;
  std::function<std::unique_ptr<ObjectRows>(Objects)> objects;   // all at once would be too many
  Source<std::vector<BanRow>> bans;
  Source<std::string> config;                        // mgr:config, whole
  // What would become of a request. The second is called once, on any thread.
  std::function<void(client::ExplainQuestion, std::function<void(client::ExplainAnswer)>)> explain;
  // Effects. They must only note what to do: the answer is sent first.
  std::function<void()> shut_down, reconfigure, rotate;
  Source<bool> toggle_offline;                       // the new state
};

template <class T> T ask(const Source<T>& source) { return source ? source() : T(); }

}  // namespace loligo::mgr
