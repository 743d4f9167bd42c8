// The manager of the running service: asks every worker for its rows, on the
// worker's own thread, then answers with all of them at once. Nobody waits: the
// reply goes back when the last worker has reported.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "client/worker.h"
#include "mgr/manager.h"
#include "page_sender.h"
#include "service.h"
#include "worker_report.h"

namespace loligo {

// The questions that one worker has put to the manager, each with a deadline: a worker that hangs must not keep the
// client of another one waiting. The worker's thread only.
class ManagerQuestions {
 public:
  static constexpr int64_t kDeadlineMs = 10'000;
  explicit ManagerQuestions(net::Loop& loop) : loop_(loop) {}
  // Wraps a question's `done`: what it returns may be called on any thread, and calls `done` on this one, once.
  std::function<void(client::ManagerReply)> add(std::function<void(client::ManagerReply)> done);
  void tick();   // about once a second

 private:
  struct Question {
    std::function<void(client::ManagerReply)> done;
    int64_t deadline_ms;
  };
  net::Loop& loop_;
  std::vector<std::shared_ptr<Question>> open_;
};

class ManagerRoom {
 public:
  explicit ManagerRoom(Service&);
  void ask(client::ManagerRequest, std::function<void(client::ManagerReply)> done);   // any thread
  void tick();
  void settings_changed();

 private:
  using Reports = std::vector<WorkerReport>;
  // The highest numbers that were seen, once a second, and when.
  struct Marks {
    uint64_t in_use = 0, allocated = 0, idle = 0;
    int64_t in_use_us = 0, allocated_us = 0;
    void see(uint64_t now_in_use, uint64_t now_idle, int64_t now_us);
  };
  mgr::Sources sources();
  std::vector<mgr::ClientRow> clients() const;
  std::vector<mgr::PeerRow> peers() const;
  mgr::StoreFacts store() const;
  std::vector<mgr::DescriptorRow> descriptors() const;
  std::vector<mgr::PoolRow> pools() const;
  mgr::TimerFacts timers() const;
  mgr::IdlePoolFacts idle_pool() const;
  void answer(const client::ManagerRequest&, const Reports&, const std::function<void(client::ManagerReply)>&);

  Service& service_;
  const Reports* current_ = nullptr;   // while a page is rendered
  Marks marks_[kHoldings], stored_;
  std::unique_ptr<mgr::Manager> manager_;
  static constexpr size_t kMostPages = 16;
  std::vector<std::shared_ptr<PageSender>> pages_;   // that are being sent
};

}  // namespace loligo
