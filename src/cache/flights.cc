#include "cache/flights.h"

#include <algorithm>

namespace loligo::cache {

bool Flights::lead_or_follow(const store::Key& key, Follower* follower) {
  Shard& shard = shard_of(key);
  std::lock_guard lock(shard.mutex);
  auto [it, first] = shard.flights.try_emplace(key);
  if (!first && follower) it->second.push_back(follower);
  return first;
}

void Flights::land(const store::Key& key, Landing how) {
  Shard& shard = shard_of(key);
  std::lock_guard lock(shard.mutex);
  auto it = shard.flights.find(key);
  if (it == shard.flights.end()) return;
  std::vector<Follower*> followers = std::move(it->second);
  shard.flights.erase(it);
  for (Follower* f : followers) f->landed(how);
}

void Flights::leave(const store::Key& key, Follower* follower) {
  Shard& shard = shard_of(key);
  std::lock_guard lock(shard.mutex);
  auto it = shard.flights.find(key);
  if (it == shard.flights.end()) return;
  std::erase(it->second, follower);
}

}  // namespace loligo::cache
