// Opens one connection to a host: name lookup, then attempts over all its
// addresses (RFC 8305, "happy eyeballs": the next one starts when one fails or
// takes longer than happy_eyeballs_connect_timeout), then the TLS handshake.
//
// Owner: a fetch or tunnel; destroying the connector cancels everything. The
// callback runs once, never from within start().
#pragma once
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/dns.h"
#include "net/loop.h"
#include "server/connection.h"

namespace loligo::net { class TlsClientContext; }

namespace loligo::server {

// What tcp_outgoing_address says for one connection, by family; invalid = any address of ours.
struct OutgoingAddresses {
  net::Address v4, v6;
  const net::Address& of(int family) const { return family == AF_INET ? v4 : v6; }
  void add(const net::Address& a) {   // the first of a family stands
    if (net::Address& slot = a.family() == AF_INET ? v4 : v6; !slot.valid()) slot = a;
  }
};

// Attempts beside another one for the same request ("spare" ones), counted over all workers: happy_eyeballs_connect_gap and
// happy_eyeballs_connect_limit. Any thread.
class SpareAttempts {
 public:
  SpareAttempts(base::Milliseconds gap, int limit) : gap_ms_(gap.count()), limit_(limit) {}
  // A place among them, given back when it goes.
  struct Release { void operator()(SpareAttempts* s) const { s->open_.fetch_sub(1, std::memory_order_relaxed); } };
  using Place = std::unique_ptr<SpareAttempts, Release>;
  // Fills `place` and returns 0, or returns how many milliseconds to wait before asking again.
  int64_t take(int64_t now_ms, Place& place);

 private:
  const int64_t gap_ms_;   // below 0 = none
  const int limit_;        // below 0 = none
  std::atomic<int> open_{0};
  std::atomic<int64_t> last_ms_{-(int64_t(1) << 40)};
};

enum class ConnectError : unsigned char { none, dns, refused, timeout, tls, no_sockets };

struct ConnectTarget {
  std::string host;                       // name or address literal
  uint16_t port = 0;
  std::shared_ptr<const net::TlsClientContext> tls;   // null = plain
  std::string tls_name;                   // verified and sent as SNI
  base::Milliseconds timeout{60'000};     // for all attempts together
  base::Milliseconds stagger{250};
  std::shared_ptr<SpareAttempts> spares;  // null = no bounds
  int receive_buffer = 0;                 // bytes, 0 = the kernel's choice (tcp_recv_bufsize)
  int attempts_per_address = 1;           // 1 + connect_retries
  unsigned max_attempts = 25;             // what forward_max_tries leaves, at least 1
  OutgoingAddresses local;
  std::shared_ptr<icp::PeerState> peer;
  int peer_fail_limit = 10;
};

struct ConnectResult {
  ConnectError error = ConnectError::none;
  int system_error = 0;
  std::string detail;                     // DNS or TLS text
  ServerConnectionPtr connection;
  net::Address last_address;              // the one that failed last, for the log
  int64_t dns_us = -1;
  unsigned attempts = 0;
};

class Connector {
 public:
  Connector(net::Loop&, net::Resolver&);
  ~Connector();
  void start(ConnectTarget, std::function<void(ConnectResult)> done);

 private:
  struct Attempt;
  void addresses_known(const net::Addresses&);
  bool more_to_try() const { return next_ < addresses_.size() && attempts_ < target_.max_attempts; }
  void start_next();
  bool start_attempt(const net::Address&, SpareAttempts::Place&);
  int open_socket(const net::Address&);
  void attempt_failed(Attempt&, int error);
  void attempt_connected(Attempt&);
  void attempt_secured(Attempt&);
  void finish(ConnectResult);
  void finish_later(ConnectResult);
  void fail(ConnectError, int system_error, std::string detail);

  net::Loop& loop_;
  net::Resolver& resolver_;
  ConnectTarget target_;
  std::function<void(ConnectResult)> done_;
  net::Lookup lookup_;
  int64_t started_us_ = 0;
  int64_t dns_us_ = -1;
  std::vector<net::Address> addresses_;   // still to try, in order
  size_t next_ = 0;
  unsigned attempts_ = 0;
  std::vector<std::unique_ptr<Attempt>> running_;
  net::FunctionTimer deadline_, stagger_;
  int last_error_ = 0;
  std::string last_tls_error_;
  net::Address last_address_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace loligo::server
