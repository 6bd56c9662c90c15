// For a few instructions at a time, among threads of which there may be more than processors.
#pragma once

#include <sched.h>

#include <atomic>

namespace corral::cache_model {

class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      for (int looks = 0; held_.load(std::memory_order_relaxed); ++looks) {
        if (looks < looks_before_yielding) {
          __builtin_ia32_pause();
        } else {
          sched_yield();  // its holder may be without a processor
        }
      }
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int looks_before_yielding = 200;
  std::atomic<bool> held_{false};
};

}  // namespace corral::cache_model
