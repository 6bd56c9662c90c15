// How many references to files of a file system the kernel itself has for a moment (fs/passing_use.h): as many as have begun and not
// ended. Whoever counts references to files reads what has ended before them, and what has begun behind them: no more than the difference
// can be among those that were counted. Any context, no lock.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::fs {

class PassingUses {
 public:
  // Before there is the reference.
  void begin() {
    begun_.fetch_add(1, Order::relaxed);
    fence(Order::release);  // whoever counts the reference finds this
  }
  // The reference has gone.
  void end() { ended_.fetch_add(1, Order::release); }
  [[nodiscard]] u64 begun() const { return begun_.load(Order::relaxed); }  // behind RefCounted::references, which acquires
  [[nodiscard]] u64 ended() const { return ended_.load(Order::acquire); }

 private:
  Atomic<u64> begun_{0}, ended_{0};
};

}  // namespace corral::fs
