// Seeded interleaving points, for runs that repeat: at each point a generator of this core decides, from the boot's
// seed alone, whether other cores get ahead. In an emulator that runs all cores in one thread and counts instructions
// as time, the same seed is the same run and another seed another interleaving (docs/deterministic-runs.md).
//
// Invariants: off unless begin() was called, and then a point costs one load and one branch that is never taken; a
// core's generator is touched by that core alone; nothing here reads a clock, an address or the hardware's random numbers.
// Any context with interrupts off in which arch::core_index() is valid. Neighbours: sync/spin_lock.cpp,
// sync/guarded_section.h, core/core.cpp, sched/engine/scheduler.cpp and task/executive.cpp have the points.
#pragma once

#include "lib/atomic.h"
#include "lib/random.h"
#include "lib/types.h"

namespace corral::interleave {

// What one core decides. Pure: the same seed and core give the same decisions.
//
// How often and how long a core gives way, how soon its timer comes and how often that ends a slice differ from seed to
// seed by orders of magnitude: dense points find short windows, sparse ones let a core get far ahead of the others.
class Plan {
 public:
  constexpr Plan() = default;
  Plan(u64 seed, u32 core);

  // How many times the core gives way at this point; mostly 0.
  [[nodiscard]] u32 pauses();
  // After how long a busy core's timer interrupts it, at the latest: 4 to 1024 microseconds.
  [[nodiscard]] Duration distance();
  // Whether this timer interrupt ends the running thread's slice.
  [[nodiscard]] bool ends_slice();

 private:
  Random random_{1};
  u32 between_points_ = 1;    // one point in so many gives way
  u32 longest_distance_ = 0;  // as a power of two above the shortest
  u32 between_ends_ = 1;      // one timer interrupt in so many ends the slice
};

namespace detail {
extern constinit Atomic<bool> on;  // written once, before there is a second core
void give_way();
}  // namespace detail

// Boot context, one core only: from now on points give way. `seed` 0: they stay off.
void begin(u64 seed);
[[nodiscard]] inline bool active() {
  return detail::on.load(Order::relaxed);
}
// A place where it matters which core comes first.
inline void point() {
  if (active()) [[unlikely]]
    detail::give_way();
}
// The calling core's plan. Only while active().
[[nodiscard]] Plan& plan();

// The points inside a GuardedSection (its template parameter).
struct Points {
  static void point() { interleave::point(); }
};

}  // namespace corral::interleave
