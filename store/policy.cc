#include "store/policy.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <deque>
#include <vector>

#include "store/policy_adaptive.h"

namespace loligo::store {

namespace {

// An intrusive list, newest at the front.
class List {
 public:
  explicit List(uint8_t id) : id_(id) {}
  void push_front(PolicyNode& n) {
    n.queue = id_;
    n.previous = nullptr;
    n.next = head_;
    (head_ ? head_->previous : tail_) = &n;
    head_ = &n;
    bytes_ += n.size;
  }
  void remove(PolicyNode& n) {
    (n.previous ? n.previous->next : head_) = n.next;
    (n.next ? n.next->previous : tail_) = n.previous;
    n.previous = n.next = nullptr;
    n.queue = 0;
    bytes_ -= n.size;
  }
  void resize(PolicyNode& n, uint64_t size) {
    bytes_ += size - n.size;
    n.size = size;
  }
  PolicyNode* tail() const { return tail_; }
  uint64_t bytes() const { return bytes_; }

 private:
  PolicyNode *head_ = nullptr, *tail_ = nullptr;
  uint64_t bytes_ = 0;
  uint8_t id_;
};

class Lru final : public Policy {
 public:
  void added(PolicyNode& n) override { list_.push_front(n); }
  void used(PolicyNode& n) override {
    list_.remove(n);
    list_.push_front(n);
  }
  void removed(PolicyNode& n) override { if (n.queue) list_.remove(n); }
  void resized(PolicyNode& n, uint64_t size) override { list_.resize(n, size); }
  PolicyNode* victim() override { return list_.tail(); }
  void set_capacity(uint64_t) override {}

 private:
  List list_{1};
};

// S3-FIFO (Yang et al., SOSP 2023): a small queue that most objects leave unused, a main queue with second chances, and
// a memory of what left the small queue lately. A scan passes through the small queue and hurts nobody. A use only
// counts: nothing moves on a hit.
class S3Fifo final : public Policy {
 public:
  explicit S3Fifo(uint64_t capacity) { set_capacity(capacity); }
  void set_capacity(uint64_t bytes) override { small_target_ = bytes / 10; capacity_ = bytes; }
  void added(PolicyNode& n) override {
    n.frequency = 0;
    if (ghost_.erase(n.key_hash)) main_.push_front(n);
    else small_.push_front(n);
  }
  void used(PolicyNode& n) override { if (n.frequency < 3) ++n.frequency; }
  void removed(PolicyNode& n) override {
    if (n.queue == kSmall) small_.remove(n);
    else if (n.queue == kMain) main_.remove(n);
  }
  void resized(PolicyNode& n, uint64_t size) override { (n.queue == kMain ? main_ : small_).resize(n, size); }
  PolicyNode* victim() override {
    for (;;) {
      PolicyNode* n = nullptr;
      if (small_.tail() && (small_.bytes() > small_target_ || !main_.tail())) {
        n = small_.tail();
        if (n->frequency > 1) {
          n->frequency = 0;
          small_.remove(*n);
          main_.push_front(*n);
          continue;
        }
        remember(*n);
        return n;
      }
      n = main_.tail();
      if (!n) return nullptr;
      if (n->frequency == 0) return n;
      --n->frequency;
      main_.remove(*n);
      main_.push_front(*n);
    }
  }

 private:
  static constexpr uint8_t kSmall = 1, kMain = 2;
  static constexpr size_t kMaxGhosts = 1 << 20;
  void remember(const PolicyNode& n) {
    if (!ghost_.insert(n.key_hash).second) return;
    ghost_order_.push_back({n.key_hash, n.size});
    ghost_bytes_ += n.size;
    while (!ghost_order_.empty() && (ghost_bytes_ > capacity_ || ghost_order_.size() > kMaxGhosts)) {
      ghost_.erase(ghost_order_.front().key_hash);
      ghost_bytes_ -= ghost_order_.front().size;
      ghost_order_.pop_front();
    }
  }
  struct Ghost { uint64_t key_hash, size; };
  List small_{kSmall}, main_{kMain};
  boost::unordered_flat_set<uint64_t> ghost_;
  std::deque<Ghost> ghost_order_;
  uint64_t ghost_bytes_ = 0, small_target_ = 0, capacity_ = 0;
};

// The heap family of Squid: the object with the least priority goes, and its priority becomes the age that later
// objects start from, so that old fame fades.
class Heap : public Policy {
 public:
  void added(PolicyNode& n) override {
    n.uses = 1;
    n.queue = 1;
    n.priority = priority(n);
    n.heap_index = uint32_t(heap_.size());
    heap_.push_back(&n);
    up(n.heap_index);
  }
  void used(PolicyNode& n) override {
    ++n.uses;
    update(n);
  }
  void removed(PolicyNode& n) override {
    if (!n.queue) return;
    uint32_t i = n.heap_index;
    PolicyNode* last = heap_.back();
    heap_.pop_back();
    if (last != &n) {
      heap_[i] = last;
      last->heap_index = i;
      up(i);
      down(last->heap_index);
    }
    n.queue = 0;
  }
  void resized(PolicyNode& n, uint64_t size) override {
    n.size = size;
    update(n);
  }
  PolicyNode* victim() override {
    if (heap_.empty()) return nullptr;
    age_ = std::max(age_, heap_[0]->priority);
    return heap_[0];
  }
  void set_capacity(uint64_t) override {}

 protected:
  virtual double priority(const PolicyNode&) = 0;
  double age_ = 0;

 private:
  void update(PolicyNode& n) {
    n.priority = priority(n);
    up(n.heap_index);
    down(n.heap_index);
  }
  void place(uint32_t i, PolicyNode* n) {
    heap_[i] = n;
    n->heap_index = i;
  }
  void up(uint32_t i) {
    PolicyNode* n = heap_[i];
    for (; i > 0 && n->priority < heap_[(i - 1) / 2]->priority; i = (i - 1) / 2) place(i, heap_[(i - 1) / 2]);
    place(i, n);
  }
  void down(uint32_t i) {
    PolicyNode* n = heap_[i];
    for (uint32_t child; (child = 2 * i + 1) < heap_.size(); i = child) {
      if (child + 1 < heap_.size() && heap_[child + 1]->priority < heap_[child]->priority) ++child;
      if (n->priority <= heap_[child]->priority) break;
      place(i, heap_[child]);
    }
    place(i, n);
  }
  std::vector<PolicyNode*> heap_;
};

class HeapLru final : public Heap {
  double priority(const PolicyNode&) override { return double(++clock_); }
  uint64_t clock_ = 0;
};
// Greedy-Dual-Size-Frequency: prefers many small popular objects, for the object hit ratio.
class Gdsf final : public Heap {
  double priority(const PolicyNode& n) override { return age_ + 1000.0 * n.uses / double(std::max<uint64_t>(n.size, 1)); }
};
// Least Frequently Used with Dynamic Aging: size plays no part, for the byte hit ratio.
class Lfuda final : public Heap {
  double priority(const PolicyNode& n) override { return age_ + n.uses; }
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name, uint64_t capacity) {
  if (name == "adaptive" || name.empty()) return std::make_unique<Adaptive>();
  if (name == "s3fifo") return std::make_unique<S3Fifo>(capacity);
  if (name == "lru") return std::make_unique<Lru>();
  if (name == "heap LRU") return std::make_unique<HeapLru>();
  if (name == "heap GDSF") return std::make_unique<Gdsf>();
  if (name == "heap LFUDA") return std::make_unique<Lfuda>();
  return nullptr;
}

}  // namespace loligo::store
