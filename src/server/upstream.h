// What one worker needs to reach servers: its loop, resolver, pool and the
// current routing rules; and the fetches under way. One worker.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/rules.h"
#include "cache/cache.h"
#include "icp/selection.h"
#include "net/dns.h"
#include "server/connector.h"
#include "server/pool.h"
#include "server/settings.h"

namespace loligo::net { class TlsClientContext; }

namespace loligo::server {

class Fetch;
class FetchOwner;
struct FetchRequest;

// One configuration's rules for the server side; immutable, part of a snapshot.
struct Routing {
  Settings settings;
  access::Rules always_direct, never_direct, pconn_for_nonretriable;
  icp::PeerTable peers;
  bool nonhierarchical_direct = true, prefer_direct = false;
  base::Milliseconds write_timeout{900'000};                                          // a directive of the client side
  int receive_buffer = 0;                                                             // tcp_recv_bufsize, of the net room
  std::shared_ptr<SpareAttempts> spares;                                              // shared by all workers
  std::shared_ptr<const net::TlsClientContext> outgoing_tls;                          // https:// origins
  std::map<std::string, std::shared_ptr<const net::TlsClientContext>> peer_tls;      // by peer name
  struct Outgoing { net::Address address; access::Rules condition; };
  std::vector<Outgoing> outgoing_addresses;

  static Routing compile(const Settings&, const icp::Settings&, const access::AclSet&, icp::PeerRegistry&, config::Problems&);
  // tcp_outgoing_address for a connection to that destination.
  OutgoingAddresses outgoing(access::Facts, const icp::Destination&) const;
  // How to connect to a destination. Direct: to host and port, which the caller fills in with what TLS needs.
  ConnectTarget connect_target(const icp::Destination&, base::Milliseconds left) const;
  // What chooses the destinations of a request (not of a tunnel).
  icp::SelectionQuestion selection(const access::Facts&, bool accelerated, bool allow_direct) const;
  icp::Direct direct_for(const access::Facts&, bool accelerated, bool allow_direct) const;
};

class Upstream {
 public:
  Upstream(net::Loop&, net::Resolver&, cache::Cache&);
  ~Upstream();

  // Starts a fetch; `owner` hears of it until it abandons it. The fetch ends and destroys itself.
  Fetch* start(FetchRequest, FetchOwner* owner);
  size_t fetches() const { return fetches_.size(); }
  template <class F> void for_each_fetch(F&& f) const {
    for (auto& fetch : fetches_) f(*fetch);
  }
  // Connects to dead peers now and then, to take them back. Call about once a second on one worker.
  void probe_dead_peers();

  net::Loop& loop;
  net::Resolver& resolver;
  cache::Cache& cache;
  Pool pool;
  http::ReasonCounts reasons;                                 // of this worker's fetches and requests
  std::shared_ptr<const Routing> routing;
  std::shared_ptr<const cache::Policy> policy;
  std::vector<char> scratch = std::vector<char>(64 * 1024);   // reads of this worker, one at a time

 private:
  friend class Fetch;
  struct Probe;
  void ended(Fetch*);
  std::list<std::unique_ptr<Fetch>> fetches_;
  std::list<std::unique_ptr<Probe>> probes_;
};

}  // namespace loligo::server
