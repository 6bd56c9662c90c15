// Making allocations fail on purpose: every path that answers enomem can be walked in a test. Any context.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::memory {

class FailurePlan {
 public:
  constexpr FailurePlan() = default;
  // The nth allocation from now fails, then every `every`-th after it (0: only that one). nth 0: none at all.
  void set(u64 nth, u64 every) {
    every_.store(every, Order::relaxed);
    left_.store(nth, Order::relaxed);
  }
  // How many allocations until one fails; 0: none will.
  [[nodiscard]] u64 left() const { return left_.load(Order::relaxed); }
  // To be asked once for each allocation: must this one fail?
  [[nodiscard]] bool strikes() {
    if (left_.load(Order::relaxed) == 0) [[likely]]
      return false;
    u64 left = left_.load(Order::relaxed);
    while (left != 0) {
      const u64 next = left == 1 ? every_.load(Order::relaxed) : left - 1;
      if (left_.compare_exchange(left, next, Order::relaxed, Order::relaxed)) return left == 1;
    }
    return false;
  }

 private:
  Atomic<u64> left_{0};  // 0: no plan
  Atomic<u64> every_{0};
};

// Asks the kernel's one plan (set by fail_allocation, memory/page_allocator.h).
[[nodiscard]] bool allocation_must_fail();

}  // namespace corral::memory
