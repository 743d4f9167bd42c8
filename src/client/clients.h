// What each client address has done: connections open now (maxconn, shared by
// all workers) and requests by result (mgr:client_list, a worker's own).
// Bounded: beyond kMaxClients new addresses share one row.
#pragma once
#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/counters.h"
#include "log/record.h"
#include "net/address.h"

namespace loligo::client {

inline constexpr unsigned kResultTags = unsigned(log::ResultTag::udp_miss_nofetch) + 1;

// One row of one worker. Written by its worker, read by the manager.
struct ClientRow {
  net::Address address;
  base::Counter requests;
  std::array<base::Counter, kResultTags> by_tag;
  base::Counter bytes_out, hit_bytes_out;
};

// Connections open by address, over all workers: only where rules ask for it (maxconn) or client_db shows it.
class ConnectionCounts {
 public:
  std::shared_ptr<std::atomic<int>> of(const net::Address&);

 private:
  struct Less { bool operator()(const std::array<unsigned char, 16>& a, const std::array<unsigned char, 16>& b) const { return a < b; } };
  std::mutex mutex_;
  std::map<std::array<unsigned char, 16>, std::weak_ptr<std::atomic<int>>, Less> counts_;
  size_t since_cleaned_ = 0;
};

class ClientTable {
 public:
  static constexpr size_t kMaxClients = 100'000;
  explicit ClientTable(size_t limit = kMaxClients) : limit_(limit) {}
  ClientRow& row(const net::Address&);
  size_t size() const;
  template <class F> void for_each(F&& f) const {
    std::lock_guard lock(mutex_);
    for (auto& [key, row] : rows_) f(*row);
  }

 private:
  const size_t limit_;
  mutable std::mutex mutex_;   // the map's shape; rows are counters
  std::map<std::array<unsigned char, 16>, std::unique_ptr<ClientRow>> rows_;
};

}  // namespace loligo::client
