// Reservation: a thread of SCHED_DEADLINE gets `runtime` of a core in each `period`, before `deadline` has passed of it.
// Pure. Source: Linux sched(7), Documentation/scheduler/sched-deadline.
#pragma once

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

}  // namespace corral::sched
