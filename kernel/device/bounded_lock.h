// A lock for devices that the log and panics write to: it gives up rather than hang.
//
// The log's sinks run with the log's lock held and in the middle of a panic, when the holder may be the very core that
// panics. So this lock has no rank, is held for a bounded time only, and acquire() answers false after a bounded number
// of looks; the caller then goes on without it, which at worst mixes characters. Not for data that must stay whole.
// Any context. Neighbours: serial line, screen, PIT.
#pragma once

#include "arch/processor.h"
#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

class BoundedLock {
 public:
  constexpr BoundedLock() = default;
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;

  // At most `looks` looks, with a pause between them (10^6: some milliseconds to a second under emulation).
  [[nodiscard]] bool acquire(u32 looks) {
    for (u32 i = 0; i < looks; ++i) {
      if (held_.load(Order::relaxed) == 0 && held_.exchange(1, Order::acquire) == 0) return true;
      arch::pause();
    }
    return false;
  }
  void release() { held_.store(0, Order::release); }

 private:
  Atomic<u32> held_{0};
};

// Holds the lock, or has given up, for a scope.
class BoundedGuard {
 public:
  explicit BoundedGuard(BoundedLock& lock, u32 looks = 1'000'000) : lock_{lock}, held_{lock.acquire(looks)} {}
  ~BoundedGuard() {
    if (held_) lock_.release();
  }
  BoundedGuard(const BoundedGuard&) = delete;
  BoundedGuard& operator=(const BoundedGuard&) = delete;

 private:
  BoundedLock& lock_;
  bool held_;
};

}  // namespace corral
