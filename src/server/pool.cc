#include "server/pool.h"

#include <sys/epoll.h>

#include <algorithm>

namespace loligo::server {

struct Pool::Idle final : net::Watcher, net::Timer {
  Idle(Pool& pool, ServerConnectionPtr c) : pool(pool), connection(std::move(c)) {}
  // Whatever an idle server says cannot belong to a request of ours: a close, or an answer that nobody asked for.
  void on_event(uint32_t events) override {
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) pool.drop(*this);
  }
  void on_timer() override { pool.drop(*this); }

  Pool& pool;
  ServerConnectionPtr connection;
  std::list<Idle*>::iterator place;
};

Pool::Pool(net::Loop& loop) : loop_(loop) {}
Pool::~Pool() { close_all(); }

void Pool::put(ServerConnectionPtr connection, base::Milliseconds idle_timeout, base::Milliseconds lifetime) {
  bool too_old = lifetime.count() > 0 && loop_.now_ms() - connection->opened_ms >= lifetime.count();
  if (connection->peer_closed || too_old) {
    ended(*connection);
    return loop_.delete_later(std::move(connection));   // its event may be what brought us here
  }
  if (idle_timeout.count() <= 0) {
    ended(*connection);
    return loop_.delete_later(std::move(connection));
  }
  auto& list = idle_[connection->pool_key];
  static_assert(kMaxIdlePerKey > 1);   // drop() would take the list away with its last one
  if (list.size() >= kMaxIdlePerKey) drop(*list.front());   // the newest will live longest
  auto idle = std::make_unique<Idle>(*this, std::move(connection));
  idle->connection->user = idle.get();
  loop_.arm(*idle, idle_timeout);
  idle->place = order_.insert(order_.end(), idle.get());
  list.push_back(std::move(idle));
  if (++size_ > kMaxIdle) drop(*order_.front());
}

ServerConnectionPtr Pool::take(std::string_view key) {
  auto it = idle_.find(std::string(key));
  if (it == idle_.end()) return nullptr;
  std::unique_ptr<Idle> idle = std::move(it->second.back());
  it->second.pop_back();
  if (it->second.empty()) idle_.erase(it);
  order_.erase(idle->place);
  --size_;
  idle->connection->user = nullptr;
  return std::move(idle->connection);
}

void Pool::drop(Idle& idle) {
  auto it = idle_.find(idle.connection->pool_key);
  auto& list = it->second;
  auto at = std::find_if(list.begin(), list.end(), [&](auto& p) { return p.get() == &idle; });
  idle.connection->user = nullptr;
  ended(*idle.connection);
  order_.erase(idle.place);
  --size_;
  idle.cancel();
  loop_.delete_later(std::move(*at));
  list.erase(at);
  if (list.empty()) idle_.erase(it);
}

void Pool::close_all() {
  while (!order_.empty()) drop(*order_.front());
}

void Pool::for_each_idle(const std::function<void(const ServerConnection&)>& f) const {
  for (const Idle* idle : order_) f(*idle->connection);
}

void Pool::ended(const ServerConnection& c) { ++histogram_[std::min<size_t>(c.requests, kHistogram - 1)]; }

}  // namespace loligo::server
