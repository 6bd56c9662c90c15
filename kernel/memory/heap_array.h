// Room on the heap that goes with its scope: for what a step reads, writes or puts together.
#pragma once

#include <span>
#include <type_traits>

#include "memory/heap.h"

namespace corral::memory {

template <class T>
class HeapArray {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

 public:
  HeapArray() = default;
  HeapArray(const HeapArray&) = delete;
  HeapArray& operator=(const HeapArray&) = delete;
  ~HeapArray() { release(data_); }
  // Once; enomem. What the elements are is not known. 0: there are none. `count` times their size must not overflow.
  Result<void> allocate(u64 count) {
    if (count == 0) return {};
    data_ = static_cast<T*>(memory::allocate(count * sizeof(T)));  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    if (data_ == nullptr) return Errno::enomem;
    count_ = count;
    return {};
  }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] T& operator[](u64 index) const { return data_[index]; }
  [[nodiscard]] u64 size() const { return count_; }
  [[nodiscard]] std::span<T> all() const { return {data_, count_}; }
  [[nodiscard]] std::span<T> first(u64 count) const { return all().first(count); }

 private:
  T* data_ = nullptr;
  u64 count_ = 0;
};

}  // namespace corral::memory
