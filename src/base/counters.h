// What the proxy counts: each fact once in a table, from which the struct, the
// manager's pages, JSON and the metrics derive.
//
// One Counters per worker. Only its worker writes (a plain load and store, no
// locked instruction); any thread may read and sums over workers.
// Units: k = kilobytes are kept as bytes and divided when shown.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

namespace loligo::base {

//  X(field, "name on the manager's counters page or for metrics", "help")
#define LOLIGO_COUNTERS(X)                                                                         \
  X(client_requests, "client_http.requests", "requests received from clients")                     \
  X(client_hits, "client_http.hits", "requests answered from the cache")                           \
  X(client_memory_hits, "client_http.memory_hits", "requests answered from memory")                \
  X(client_disk_hits, "client_http.disk_hits", "requests answered from disk")                      \
  X(client_errors, "client_http.errors", "requests answered with an error of our own")             \
  X(client_bytes_in, "client_http.bytes_in", "bytes received from clients")                        \
  X(client_bytes_out, "client_http.bytes_out", "bytes sent to clients")                            \
  X(client_hit_bytes_out, "client_http.hit_bytes_out", "bytes sent to clients from the cache")     \
  X(client_connections, "client_http.connections", "connections accepted")                         \
  X(client_denied, "client_http.denied", "requests refused by http_access")                        \
  X(client_bad_requests, "client_http.bad_requests", "requests refused as malformed")              \
  X(server_requests, "server.http.requests", "requests sent to origins and peers")                 \
  X(server_errors, "server.http.errors", "fetches that failed")                                    \
  X(server_bytes_in, "server.http.bytes_in", "bytes received from origins and peers")              \
  X(server_bytes_out, "server.http.bytes_out", "bytes sent to origins and peers")                  \
  X(server_other_requests, "server.other.requests", "tunnels opened")                              \
  X(server_other_errors, "server.other.errors", "tunnels that could not be opened")                \
  X(server_other_bytes_in, "server.other.bytes_in", "tunnel bytes received from servers")          \
  X(server_other_bytes_out, "server.other.bytes_out", "tunnel bytes sent to servers")              \
  X(server_connections, "server.connections", "connections opened to origins and peers")           \
  X(server_connections_reused, "server.connections_reused", "requests sent on a pooled connection") \
  X(server_retries, "server.retries", "requests sent again after a stale pooled connection")       \
  X(bad_replies, "server.bad_replies", "replies refused as malformed")                             \
  X(aborted_requests, "aborted_requests", "requests whose client left before the end")             \
  X(collapsed_requests, "collapsed_requests", "requests that followed another's fetch")            \
  X(ranges_joined, "ranges.from_parts", "requests for ranges answered from parts alone")           \
  X(ranges_completed, "ranges.completed", "requests for ranges of which something was missing")    \
  X(gaps_fetched, "ranges.gaps_fetched", "missing parts asked of origins and peers")               \
  X(stored_objects, "store.stored", "objects admitted to memory")                                  \
  X(refused_objects, "store.refused", "replies not stored")                                        \
  X(purged_objects, "store.purged", "objects removed by PURGE or invalidation")                    \
  X(laggards_cut, "store.laggards_cut", "readers cut off for holding a transfer back")             \
  X(dns_lookups, "dns.lookups", "names asked of a name server")                                    \
  X(dns_failures, "dns.failures", "lookups without an address")                                    \
  X(page_faults, "page_faults", "major page faults")                                               \
  X(select_loops, "select_loops", "turns of the main loop")                                        \
  X(select_events, "select_fds", "descriptor events handled")                                      \
  X(sock_accepts, "syscalls.sock.accepts", "accept calls")                                         \
  X(sock_sockets, "syscalls.sock.sockets", "socket calls")                                         \
  X(sock_connects, "syscalls.sock.connects", "connect calls")                                      \
  X(sock_closes, "syscalls.sock.closes", "close calls on sockets")                                 \
  X(sock_reads, "syscalls.sock.reads", "recv calls")                                               \
  X(sock_writes, "syscalls.sock.writes", "send calls")                                             \
  X(log_lines, "log.lines", "access log lines written")                                            \
  X(log_lines_dropped, "log.lines_dropped", "access log lines lost because the log could not keep up")         \
  X(log_store_lines, "log.store_lines", "store log lines written")                                 \
  X(log_store_lines_dropped, "log.store_lines_dropped", "store log lines lost because the log could not keep up")

// A counter with one writer.
class Counter {
 public:
  void add(uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Service times in microseconds, eight buckets to each power of two (at most 12 % off).
class Histogram {
 public:
  static constexpr unsigned kBuckets = 8 * 33;
  static constexpr unsigned bucket_of(uint64_t microseconds) {
    if (microseconds < 8) return unsigned(microseconds);
    unsigned exponent = std::bit_width(microseconds) - 4;
    unsigned index = 8 * (exponent + 1) + unsigned((microseconds >> exponent) & 7) ;
    return index < kBuckets ? index : kBuckets - 1;
  }
  // The least value that falls into bucket `index`.
  static constexpr uint64_t lower_bound(unsigned index) {
    return index < 8 ? index : uint64_t(8 + index % 8) << (index / 8 - 1);
  }
  void record(uint64_t microseconds) { buckets_[bucket_of(microseconds)].add(); }
  uint64_t count(unsigned index) const { return buckets_[index].get(); }

 private:
  std::array<Counter, kBuckets> buckets_;
};

// Kinds of service time, in the order of the manager's service_times page.
#define LOLIGO_SERVICE_TIMES(X)               \
  X(all, "HTTP Requests (All)")               \
  X(misses, "Cache Misses")                   \
  X(hits, "Cache Hits")                       \
  X(near_hits, "Near Hits")                   \
  X(not_modified, "Not-Modified Replies")     \
  X(dns, "DNS Lookups")                       \
  X(icp, "ICP Queries")

struct alignas(64) Counters {
#define X(field, name, help) Counter field;
  LOLIGO_COUNTERS(X)
#undef X
  struct {
#define X(field, name) Histogram field;
    LOLIGO_SERVICE_TIMES(X)
#undef X
  } service_time;
};

struct CounterRow {
  std::string_view field, name, help;
  Counter Counters::*member;
};
inline constexpr CounterRow kCounterRows[] = {
#define X(field, name, help) {#field, name, help, &Counters::field},
    LOLIGO_COUNTERS(X)
#undef X
};

}  // namespace loligo::base
