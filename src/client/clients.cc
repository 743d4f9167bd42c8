#include "client/clients.h"

namespace loligo::client {

namespace {
std::array<unsigned char, 16> key_of(const net::Address& address) {
  std::array<unsigned char, 16> key;
  address.mapped_bytes(key.data());
  return key;
}
}  // namespace

std::shared_ptr<std::atomic<int>> ConnectionCounts::of(const net::Address& address) {
  std::lock_guard lock(mutex_);
  if (++since_cleaned_ > 1024 && since_cleaned_ > counts_.size()) {
    std::erase_if(counts_, [](auto& entry) { return entry.second.expired(); });
    since_cleaned_ = 0;
  }
  auto& slot = counts_[key_of(address)];
  if (auto known = slot.lock()) return known;
  auto made = std::make_shared<std::atomic<int>>(0);
  slot = made;
  return made;
}

ClientRow& ClientTable::row(const net::Address& address) {
  std::lock_guard lock(mutex_);
  auto key = key_of(address);
  bool beyond = rows_.size() >= limit_ && !rows_.contains(key);
  if (beyond) key = {};
  auto& slot = rows_[key];
  if (!slot) {
    slot = std::make_unique<ClientRow>();
    if (beyond) return *slot;   // the row of all others bears no address
    slot->address = address;
    slot->address.set_port(0);
  }
  return *slot;
}

size_t ClientTable::size() const {
  std::lock_guard lock(mutex_);
  return rows_.size();
}

}  // namespace loligo::client
