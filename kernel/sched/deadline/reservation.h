// Reservation: a thread of SCHED_DEADLINE gets `runtime` of a core in each `period`, before `deadline` has passed of it.
// Pure. Source: Linux sched(7), Documentation/scheduler/sched-deadline.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::sched {

struct Reservation {
  Duration runtime{}, deadline{}, period{};  // 0 < runtime <= deadline <= period; all 0: none

  bool operator==(const Reservation&) const = default;
  [[nodiscard]] bool none() const { return runtime == Duration{}; }
  // The part of a core that it takes, in 2^-20; for one whose parts are at most some seconds.
  static constexpr u64 whole_core = u64{1} << 20;
  [[nodiscard]] u64 share() const {
    return none() ? 0 : static_cast<u64>(runtime.ns) * whole_core / static_cast<u64>(period.ns);
  }
};

// How many cores all reservations together need, as the real-time budget leaves them: kept by who gives them
// (task/reservations.h), read by who gives cores away.
inline constinit Atomic<u32> cores_reserved{0};

}  // namespace corral::sched
