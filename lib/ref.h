// Shared ownership by an intrusive count: derive from RefCounted<T>, hold Ref<T>. The last Ref deletes.
#pragma once

#include <utility>

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <class T>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() { references_.fetch_add(1, Order::relaxed); }
  // For tables that hold no reference of their own: false when the last one is gone and the object about to be deleted.
  [[nodiscard]] bool retain_if_alive() {
    u32 count = references_.load(Order::relaxed);
    while (count != 0) {
      if (references_.compare_exchange(count, count + 1, Order::relaxed, Order::relaxed)) return true;
    }
    return false;
  }
  void drop() {
    if (references_.fetch_sub(1, Order::acq_rel) == 1) static_cast<T*>(this)->last_reference_gone();
  }
  // A class that has something to do before its derived parts go hides this one.
  void last_reference_gone() { delete static_cast<T*>(this); }
  [[nodiscard]] u32 references() const { return references_.load(Order::acquire); }

 protected:
  ~RefCounted() = default;

 private:
  friend T;  // nobody else derives from RefCounted<T>
  RefCounted() = default;
  Atomic<u32> references_{1};  // the creator's
};

template <class T>
class [[clang::trivial_abi]] Ref {  // travels in a register
 public:
  Ref() = default;
  // Takes over the creator's reference.
  static Ref adopt(T* object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  static Ref share(T& object) {
    object.retain();
    return adopt(&object);
  }
  Ref(const Ref& other) : object_{other.object_} {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_{std::exchange(other.object_, nullptr)} {}
  template <class U>
  Ref(const Ref<U>& other) : object_{other.get()} {  // a Ref to a base class
    if (object_ != nullptr) object_->retain();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->drop();
  }

  [[nodiscard]] T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace corral
