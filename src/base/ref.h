// A reference-counted pointer for the shared immutable things of the store.
// One word wide, so that it can be passed through a C callback or an atomic.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace loligo::base {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void add_ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  uint32_t references() const { return references_.load(std::memory_order_relaxed); }   // as of some moment
  // True when the last reference is gone and the caller must destroy the object.
  bool drop_ref() const { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> references_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { if (object_) object_->add_ref(); }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U> Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref& operator=(Ref other) noexcept { std::swap(object_, other.object_); return *this; }
  ~Ref() { if (object_ && object_->drop_ref()) delete object_; }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { *this = Ref(); }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) { return Ref<T>(new T(std::forward<Args>(args)...)); }

}  // namespace loligo::base
