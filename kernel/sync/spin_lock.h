// Spin locks for the slow paths, ranked. Test-and-test-and-set with a pause (no ticket: FIFO locks collapse when
// there are more virtual than host cores). The kernel runs with interrupts off, so no variant saves flags.
//
// A core may take a lock only if its rank is higher than that of every lock it holds; checked in every build.
// Nothing blocks, sends-and-waits, or touches user memory that may fault in a waiting way while holding one.
#pragma once

#include "lib/atomic.h"
#include "lib/thread_annotations.h"
#include "lib/types.h"

namespace corral {

// Ranks, lowest is taken first (outermost).
enum class Rank : u8 {
  process_table = 10,
  process = 20,
  files = 30,
  directory = 35,
  file = 40,
  terminal = 45,
  pipe = 50,
  address_space = 60,
  page_cache = 65,
  wait_queue = 70,
  scheduling_manager = 75,
  device_manager = 80,
  timer_hardware = 82,
  heap = 85,
  slab = 86,
  pages = 90,
  kernel_map = 92,
  console = 95,
  log = 97,
};

class CAPABILITY("lock") SpinLock {
 public:
  constexpr SpinLock(Rank rank, const char* name) : rank_{rank}, name_{name} {}
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() ACQUIRE();
  void unlock() RELEASE();
  [[nodiscard]] const char* name() const { return name_; }

 private:
  Atomic<u32> held_{0};
  Rank rank_;
  const char* name_;
};

class SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(SpinLock& lock) ACQUIRE(lock) : lock_{lock} { lock_.lock(); }
  ~LockGuard() RELEASE() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  SpinLock& lock_;
};

// How often any lock was found taken and how long was spun for it, summed over all locks (see /proc/locks).
struct LockStatistics {
  Atomic<u64> acquisitions{0};
  Atomic<u64> contended{0};
};

}  // namespace corral
