// Everything a connection needs of its worker. One thread.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "client/clients.h"
#include "client/snapshot.h"
#include "log/access_log.h"
#include "net/dns.h"
#include "net/loop.h"
#include "server/upstream.h"

namespace loligo::client {

class Connection;
class Transaction;

// A request for the cache manager. It is answered by the mgr room, through a function that main hands down, on whatever
// thread; `done` may be called there and passes the reply back to the worker that asked.
struct ManagerRequest {
  std::string scheme, path;          // of the effective URL: "cache_object" or "http"; "/info@password", "/squid-internal-mgr/info"
  std::string authorization;         // value of Authorization, may be empty
  std::string origin;                // value of Origin
  std::string client;                // address text, for the event log
};
struct ManagerReply {
  int status = 200;
  std::string fields;                // further field lines, each with CRLF (Content-Type, WWW-Authenticate, ...)
  std::string body;
  ErrorId error = ErrorId::none;     // answer this page with `status` instead of the body
  base::Ref<store::Body> growing;    // the body, if it is made while it is sent
};
using ManagerHandler = std::function<void(ManagerRequest, std::function<void(ManagerReply)> done)>;

struct Worker {
  Worker(net::Loop&, net::Resolver&, server::Upstream&, cache::Cache&, log::WorkerLog&, ConnectionCounts&);
  ~Worker();

  net::Loop& loop;
  net::Resolver& resolver;
  server::Upstream& upstream;
  cache::Cache& cache;
  log::WorkerLog& log;
  ConnectionCounts& connection_counts;
  ClientTable clients;
  std::shared_ptr<const Snapshot> snapshot;
  ManagerHandler manager;
  unsigned index = 0;
  unsigned generation = 0;                     // of the snapshot: connections look for their port again when it changes
  bool draining = false;                       // shutting down: no connection persists
  uint64_t next_sequence = 0;

  std::vector<char> scratch = std::vector<char>(64 * 1024);   // one read at a time
  std::string text;                                           // one reply's changing fields at a time

  // All connections of this worker, for the manager and for the end.
  Connection* connections = nullptr;
  std::atomic<size_t> connection_count{0};   // read by worker 0 while shutting down

  void end_old_connections();                  // client_lifetime; call about once a second

  // Transactions are large (a head's table of fields) and short: they are reused.
  std::unique_ptr<Transaction> take_transaction();
  void give_back(std::unique_ptr<Transaction>);
  size_t idle_transactions() const { return idle_transactions_.size(); }
  uint64_t transactions_made = 0;              // the others were there already

 private:
  int64_t next_look_ms_ = 0;
  std::vector<std::unique_ptr<Transaction>> idle_transactions_;
};

}  // namespace loligo::client
