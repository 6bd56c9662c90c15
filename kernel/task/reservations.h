// Reservations of processor time (SCHED_DEADLINE): given only while all of them together leave the rest of the machine
// what its real-time budget leaves it. Who has one is due in time then, on one core; on several it is late by a bound.
// Source: Linux sched(7), Documentation/scheduler/sched-deadline (admission control).
#pragma once

#include "lib/result.h"
#include "sched/deadline/reservation.h"
#include "sync/spin_lock.h"

namespace corral {
class Thread;
}

namespace corral::reservations {

inline constinit SpinLock lock{Rank::reservations, "reservations"};

// Gives `thread` the reservation instead of the one it has; none(): takes it back. Any core.
// ebusy: too much is given away already, and nothing changed.
Result<void> assign(Thread& thread, const sched::Reservation& wanted) REQUIRES(lock);
[[nodiscard]] sched::Reservation of(const Thread& thread) EXCLUDES(lock);

}  // namespace corral::reservations
