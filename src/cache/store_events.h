// Puts what the store tells of its objects into cache_store_log.
//
// An object that the disk took is the disk's to report, even while memory has it
// too: it is marked when the disk has it no longer, and only then does its
// leaving memory count. So every object ends with one RELEASE for each place
// that it was in alone.
//
// Owner: the cache. Any thread.
#pragma once
#include "cache/response.h"
#include "log/store_log.h"
#include "store/memory.h"
#include "store/observer.h"

namespace loligo::cache {

class StoreEvents final : public store::MemoryObserver, public store::DiskObserver {
 public:
  explicit StoreEvents(store::Memory& memory) : memory_(memory) {}
  // Before the first event; null = nobody listens.
  void use(log::StoreLog* log) { log_ = log; }

  bool wants() const override { return log_ && log_->on(); }
  // A response that was not to be kept has passed, whole or not.
  void passed(const Response&);
  // The disk did not take it.
  void refused(const Response&);

 private:
  void removed(const store::Object&) override;
  void stored(const Event&) override;
  void given_up(const Event&) override;
  void withdrawn(const Event&) override;
  void removed(const Event&) override;
  void lost(uint64_t events) override { log_->lost(events); }

  bool left_to_memory(const Event&);
  void write(log::StoreRecord::Action, const Response&);
  void write(log::StoreRecord::Action, const Event&);

  store::Memory& memory_;
  log::StoreLog* log_ = nullptr;
};

}  // namespace loligo::cache
