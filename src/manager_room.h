// The manager of the running service: asks every worker for its rows, on the
// worker's own thread, then answers with all of them at once. Nobody waits: the
// reply goes back when the last worker has reported.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "client/worker.h"
#include "mgr/manager.h"
#include "service.h"

namespace loligo {

class ManagerRoom {
 public:
  explicit ManagerRoom(Service&);
  void ask(client::ManagerRequest, std::function<void(client::ManagerReply)> done);   // any thread
  void tick();
  void settings_changed();

 private:
  // What one worker knows at one moment.
  struct Report {
    std::vector<mgr::ClientRow> clients;
    std::vector<mgr::ActiveRequestRow> active;
    std::vector<mgr::DescriptorRow> sockets;
    mgr::NameCacheFacts names;
    mgr::ReverseCacheFacts reverse_names;
    mgr::ResolverFacts resolver;
    mgr::IdlePoolFacts pool;
    size_t queued_lookups = 0;
  };
  using Reports = std::vector<Report>;
  static Report report(WorkerThread&);
  static void report_clients(WorkerThread&, Report&);
  static void report_connections(WorkerThread&, Report&);
  static void report_names(WorkerThread&, Report&);
  mgr::Sources sources();
  std::vector<mgr::ClientRow> clients() const;
  std::vector<mgr::PeerRow> peers() const;
  mgr::StoreFacts store() const;
  std::vector<mgr::DescriptorRow> descriptors() const;
  void answer(const client::ManagerRequest&, const Reports&, const std::function<void(client::ManagerReply)>&);

  Service& service_;
  const Reports* current_ = nullptr;   // while a page is rendered
  std::unique_ptr<mgr::Manager> manager_;
};

}  // namespace loligo
