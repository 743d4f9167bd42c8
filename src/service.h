// The running proxy: workers, the current configuration, signals, the end.
// Worker 0 runs on the calling thread and owns signals, the manager and reloads.
#pragma once
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache/cache.h"
#include "client/listener.h"
#include "client/worker.h"
#include "icp/peers.h"
#include "log/access_log.h"
#include "log/event_log.h"
#include "log/store_log.h"
#include "log/writer.h"
#include "main_options.h"
#include "mgr/manager.h"
#include "net/dns.h"
#include "process_control.h"
#include "settings.h"
#include "worker_report.h"

namespace loligo {

// One worker and all that is its own.
struct WorkerThread {
  WorkerThread(unsigned index, const net::DnsSettings&, std::shared_ptr<const net::HostsFile>, cache::Cache&, log::Writer&, log::LogPlanPtr,
               client::ConnectionCounts&);
  ~WorkerThread();
  void adopt(std::shared_ptr<const client::Snapshot>);

  net::Loop loop;
  net::Resolver resolver;
  server::Upstream upstream;
  log::WorkerLog log;
  client::Worker worker;
  std::vector<std::unique_ptr<client::Listener>> listeners;
  net::FunctionTimer second;
  WorkerGauges gauges;
  std::thread thread;   // not for worker 0
};

class ManagerRoom;

class Service {
 public:
  Service(const MainOptions&, Settings, std::string config_path, config::ReadOptions);
  ~Service();

  // Prepares everything that can fail: logs, snapshot, listening sockets. One line per problem; empty = ready.
  // Runs before privileges are dropped.
  std::vector<std::string> prepare();
  // Opens the cache_dir lines, as the user that will use them. One line per problem; empty = ready.
  std::vector<std::string> open_disk();
  uint64_t descriptor_limit = 1024;
  // Serves until told to stop.
  int run(Readiness&);

 private:
  friend class ManagerRoom;   // fills mgr::Sources from what is here
  void command(Command);
  void reconfigure();
  void reconfigured(std::shared_ptr<Settings>, std::shared_ptr<const client::Snapshot>, std::vector<std::string> complaints);
  std::vector<std::string> open_listeners(const client::Snapshot&);
  void rotate();
  void stop(bool now);
  void check_stopped();
  void every_second();
  void feed_process_counters();
  void announce() const;

  MainOptions options_;
  Settings settings_;
  std::string config_path_;
  config::ReadOptions read_options_;
  log::Writer writer_;
  log::EventLog event_log_;
  log::AccessLog access_log_;
  log::StoreLog store_log_;
  icp::PeerRegistry peers_;
  std::unique_ptr<cache::Cache> cache_;
  client::ConnectionCounts connection_counts_;
  std::shared_ptr<const client::Snapshot> snapshot_;
  std::vector<std::unique_ptr<WorkerThread>> workers_;
  std::unique_ptr<ManagerRoom> manager_;
  std::unique_ptr<Signals> signals_;
  struct SignalWatcher;
  std::unique_ptr<SignalWatcher> signal_watcher_;
  std::thread loader_;            // reads a new configuration while the workers serve
  bool loading_ = false, again_ = false, stopping_ = false;
  int exit_code_ = 0;
  int64_t stop_deadline_ms_ = 0;
  uint64_t page_faults_ = 0, lines_written_ = 0, lines_dropped_ = 0, store_lines_written_ = 0, store_lines_dropped_ = 0;   // as counted so far
  base::WallMicroseconds started_wall_us_ = 0;
  int64_t started_steady_us_ = 0;
};

}  // namespace loligo
