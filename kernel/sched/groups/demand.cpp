// See demand.h.
#include "sched/groups/demand.h"

namespace corral::sched {

namespace {

constexpr i64 one = 1000;  // a thread, a core

// Threads that could run, on average over the busy time of `passed`, and at its end.
i64 runnable(const GroupLoad& before, const GroupLoad& after, i64 passed) {
  const i64 busy = after.busy_ns - before.busy_ns;  // clocks of cores may differ a little
  return (busy > 0 ? busy * one / passed : 0) + i64{after.waiting} * one;
}

}  // namespace

void Demand::begin(const GroupLoads& loads, Instant now) {
  *this = {};
  before_ = loads;
  since_ = now;
}

void Demand::take(const GroupLoads& loads, Instant now) {
  const i64 passed = (now - since_).ns;
  if (passed <= 0) return;
  real_time_ = runnable(before_.real_time, loads.real_time, passed);
  normal_ = runnable(before_.normal, loads.normal, passed);
  before_ = loads;
  since_ = now;
}

u32 Demand::next(const GroupLoads& loads, Instant now, u32 cores, u32 present, u32 hysteresis) {
  take(loads, now);
  if (real_time_ <= i64{present} * one && normal_ <= i64{cores - present} * one) return present;
  const i64 wanted = i64{cores} * one * real_time_ / (real_time_ + normal_);
  if (share_ == 0) share_ = i64{present} * one;
  share_ += (wanted - share_) / 4;
  const i64 distance = share_ - i64{present} * one;
  if ((distance < 0 ? -distance : distance) * 100 <= i64{hysteresis} * one) return present;
  const i64 nearest = (share_ + one / 2) / one;
  if (nearest < 1) return 1;
  return nearest < i64{cores} ? static_cast<u32>(nearest) : cores - 1;
}

}  // namespace corral::sched
