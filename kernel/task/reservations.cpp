#include "task/reservations.h"

#include "core/core.h"
#include "sched/engine/manager.h"
#include "sched/real_time/budget.h"
#include "task/thread.h"

namespace corral::reservations {

namespace {

constinit u64 given GUARDED_BY(lock) = 0;  // the sum of all shares

// What may be given of each core.
u64 limit() {
  const sched::RealTimeLimits& limits = sched::real_time_limits();
  const i64 runtime = limits.runtime_ns.load(Order::relaxed);
  const i64 period = limits.period_ns.load(Order::relaxed);
  if (runtime < 0) return ~u64{0};
  return sched::Reservation{Duration{runtime}, Duration{period}, Duration{period}}.share();
}

// How many cores `shares` take.
u32 cores_for(u64 shares) {
  const u64 of_each = limit();
  if (of_each == 0 || of_each == ~u64{0}) return shares == 0 ? 0 : 1;
  return static_cast<u32>((shares + of_each - 1) / of_each);
}

}  // namespace

Result<void> assign(Thread& thread, const sched::Reservation& wanted) {
  const u64 others = given - thread.reservation.share();
  const u32 needed = cores_for(others + wanted.share());
  if (!wanted.none() && (limit() == 0 || needed > scheduling().group_of(true).count())) return Errno::ebusy;
  given = others + wanted.share();
  sched::cores_reserved.store(needed, Order::relaxed);
  thread.reservation = wanted;
  return {};
}

sched::Reservation of(const Thread& thread) {
  LockGuard guard{lock};
  return thread.reservation;
}

}  // namespace corral::reservations
