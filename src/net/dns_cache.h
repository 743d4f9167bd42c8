// The table behind both directions of name lookups: answers by key with least
// recently used ones leaving first, each entry with those who wait for it and
// the job that asks. Owner: Resolver; one thread.
#pragma once
#include <list>
#include <unordered_map>

#include "net/dns.h"

namespace loligo::net {

template <class Value>
class DnsWaiters {
 public:
  using Waiter = BasicLookup<Value>;
  DnsWaiters() = default;
  DnsWaiters(const DnsWaiters&) = delete;
  DnsWaiters& operator=(const DnsWaiters&) = delete;
  ~DnsWaiters() {
    while (head_) head_->cancel();
  }

  void add(Waiter& waiter, typename Waiter::Callback callback, size_t& total) {
    waiter.cancel();
    waiter.callback_ = std::move(callback);
    waiter.total_ = &total;
    ++total;
    waiter.next_ = head_;
    if (head_) head_->previous_ = &waiter.next_;
    waiter.previous_ = &head_;
    head_ = &waiter;
  }
  bool empty() const { return head_ == nullptr; }

  // Moves the waiters of `other` here, the first who asked to the front; they can still be cancelled one by one.
  void take(DnsWaiters& other) {
    while (Waiter* waiter = other.head_) {
      other.head_ = waiter->next_;
      if (other.head_) other.head_->previous_ = &other.head_;
      waiter->next_ = head_;
      if (head_) head_->previous_ = &waiter->next_;
      waiter->previous_ = &head_;
      head_ = waiter;
    }
  }
  void call_all(const std::shared_ptr<const Value>& answer) {
    while (head_) {
      auto callback = std::move(head_->callback_);
      head_->cancel();
      callback(answer);
    }
  }

 private:
  Waiter* head_ = nullptr;
};

template <class Value, class Job>
class DnsCache {
 public:
  struct Entry {
    std::string name;
    std::shared_ptr<const Value> answer;   // null until first known
    int64_t last_reference_ms = 0;
    DnsWaiters<Value> waiters;
    std::unique_ptr<Job> job;              // set while questions are out
    typename std::list<Entry>::iterator self;
  };

  // Makes the entry the most recently used.
  Entry* find(std::string_view name, int64_t now_ms) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    Entry& entry = *found->second;
    entry.last_reference_ms = now_ms;
    entries_.splice(entries_.begin(), entries_, entry.self);
    return &entry;
  }
  Entry& insert(std::string_view name, int64_t now_ms) {
    entries_.emplace_front();
    Entry& entry = entries_.front();
    entry.name = name;
    entry.last_reference_ms = now_ms;
    entry.self = entries_.begin();
    by_name_.emplace(entry.name, entry.self);
    return entry;
  }
  void erase(Entry& entry) {
    by_name_.erase(entry.name);
    entries_.erase(entry.self);
  }
  // Down to `limit` entries. Those with a job stay: the resolver bounds the number of jobs.
  void trim(size_t limit) {
    auto at = entries_.end();
    while (entries_.size() > limit && at != entries_.begin()) {
      --at;
      if (at->job) continue;
      by_name_.erase(at->name);
      at = entries_.erase(at);
    }
  }
  void clear() {
    by_name_.clear();
    entries_.clear();
  }

  std::list<Entry>& entries() { return entries_; }
  const std::list<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

 private:
  std::list<Entry> entries_;   // most recently used first
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> by_name_;   // keys point into the entries
};

}  // namespace loligo::net
