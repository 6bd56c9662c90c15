// Spin locks for the slow paths, ranked. Test-and-test-and-set with a pause (no ticket: FIFO locks collapse when
// there are more virtual than host cores). The kernel runs with interrupts off, so no variant saves flags.
//
// A core may take a lock only if its rank is higher than that of every lock it holds; checked in every build: a wrong
// order, taking a lock twice and giving up a lock that is not held are panics that name the locks.
// Nothing blocks, sends-and-waits, or touches user memory that may fault in a waiting way while holding one.
#pragma once

#include "lib/atomic.h"
#include "lib/thread_annotations.h"
#include "lib/types.h"
#include "sync/spin_word.h"

namespace corral {

// Ranks, lowest is taken first (outermost).
enum class Rank : u8 {
  process_table = 10,
  process = 20,
  process_timer = 25,
  thread_names = 26,
  users = 27,
  files = 30,
  directory = 35,
  file = 40,
  file_end = 42,
  file_signals = 43,
  terminals = 44,
  terminal = 45,
  in_flight = 46,
  socket_names = 47,
  socket = 48,
  ipc_names = 49,
  pipe = 50,
  ipc_object = 51,
  file_watches = 52,
  file_events = 53,
  poll_nesting = 54,
  event_poll = 56,
  address_space = 60,
  address_spaces = 61,
  file_names = 62,
  page_cache = 65,
  page_cache_lists = 66,
  wait_queue = 70,
  file_server = 72,
  reservations = 74,
  scheduling_manager = 75,
  decision_recorder = 78,
  cache_model = 79,
  device_manager = 80,
  disk_requests = 81,
  timer_hardware = 82,
  device_queue = 83,
  clock_page = 84,
  heap = 85,
  slab = 86,
  kernel_map = 88,
  large_pages = 89,
  pages = 90,
  global_queue = 93,
  console = 95,
  log = 97,
};

class CAPABILITY("lock") SpinLock {
 public:
  constexpr SpinLock(Rank rank, const char* name) : rank_{rank}, name_{name} {}
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  // Any context with interrupts off.
  void lock() ACQUIRE();
  void unlock() RELEASE();
  // One attempt; since it never waits, the rank does not matter.
  [[nodiscard]] bool try_lock() TRY_ACQUIRE(true);
  [[nodiscard]] bool held_here() const;  // by the calling core
  // Panics unless held_here(); tells the analysis that the lock is held.
  void assert_held() const ASSERT_CAPABILITY(this);
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] Rank rank() const { return rank_; }

 private:
  void spin();
  void lock_with_care();
  SpinWord<> word_;  // the holder's core number + 1
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

// How often any lock was taken, and how often it was found taken, summed over all locks and cores (see /proc/locks).
struct LockStatistics {
  u64 acquisitions = 0;
  u64 contended = 0;
};
[[nodiscard]] LockStatistics lock_statistics();  // any context

// For a panic alone: from now on the rules are not checked, and lock() gives up waiting after a while, so that the
// message gets out although the cores that hold the locks were stopped.
void abandon_locks();

}  // namespace corral
