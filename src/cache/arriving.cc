#include "cache/arriving.h"

namespace loligo::cache {

void Arriving::add(const base::Ref<Response>& response) {
  std::lock_guard lock(mutex_);
  boost::unordered::erase_if(map_, [](const auto& one) { return !one.second->body->followed(); });
  if (map_.size() < kMost || map_.contains(response->key)) map_[response->key] = response;
  count_.store(map_.size(), std::memory_order_release);
}

void Arriving::erase(const store::Key& key) {
  if (empty()) return;
  std::lock_guard lock(mutex_);
  map_.erase(key);
  count_.store(map_.size(), std::memory_order_release);
}

base::Ref<Response> Arriving::find(const store::Key& key) {
  if (empty()) return {};
  std::lock_guard lock(mutex_);
  auto it = map_.find(key);
  if (it == map_.end()) return {};
  if (it->second->body->followed()) return it->second;
  map_.erase(it);
  count_.store(map_.size(), std::memory_order_release);
  return {};
}

}  // namespace loligo::cache
