#include "task/reservations.h"

#include "core/core.h"
#include "sched/real_time/budget.h"
#include "task/thread.h"

namespace corral::reservations {

namespace {

constinit u64 given GUARDED_BY(lock) = 0;  // the sum of all shares

// What may be given in all.
u64 limit() {
  const sched::RealTimeLimits& limits = sched::real_time_limits();
  const i64 runtime = limits.runtime_ns.load(Order::relaxed);
  const i64 period = limits.period_ns.load(Order::relaxed);
  if (runtime < 0) return ~u64{0};
  return sched::Reservation{Duration{runtime}, Duration{period}, Duration{period}}.share() * cores::online_count();
}

}  // namespace

Result<void> assign(Thread& thread, const sched::Reservation& wanted) {
  const u64 others = given - thread.reservation.share();
  if (!wanted.none() && others + wanted.share() > limit()) return Errno::ebusy;
  given = others + wanted.share();
  thread.reservation = wanted;
  return {};
}

sched::Reservation of(const Thread& thread) {
  LockGuard guard{lock};
  return thread.reservation;
}

}  // namespace corral::reservations
