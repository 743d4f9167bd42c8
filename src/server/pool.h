// Idle connections to servers, by what they may be reused for. Bounded: the
// oldest goes when there are too many. A server that closes or speaks while idle
// loses its connection at once. One worker.
#pragma once
#include <array>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/loop.h"
#include "server/connection.h"

namespace loligo::server {

class Pool {
 public:
  static constexpr size_t kMaxIdle = 1024, kMaxIdlePerKey = 128;

  explicit Pool(net::Loop& loop);
  ~Pool();

  // The most recently used idle connection, or null.
  ServerConnectionPtr take(std::string_view key);
  void put(ServerConnectionPtr, base::Milliseconds idle_timeout, base::Milliseconds lifetime);
  void close_all();

  size_t idle() const { return size_; }
  // How many connections ended after serving N requests, for mgr:pconn; the last row gathers the rest.
  static constexpr size_t kHistogram = 64;
  const std::array<uint64_t, kHistogram>& requests_per_connection() const { return histogram_; }
  void ended(const ServerConnection&);   // a connection that will not come back
  template <class F> void for_each_key(F&& f) const {
    for (auto& [key, list] : idle_) f(key, list.size());
  }
  void for_each_idle(const std::function<void(const ServerConnection&)>&) const;

 private:
  struct Idle;
  void drop(Idle&);
  net::Loop& loop_;
  std::unordered_map<std::string, std::list<std::unique_ptr<Idle>>> idle_;
  std::list<Idle*> order_;   // oldest first
  size_t size_ = 0;
  std::array<uint64_t, kHistogram> histogram_{};
};

}  // namespace loligo::server
