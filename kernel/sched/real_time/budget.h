// RealTimeBudget: how much of each period the real-time class may use on a core while others wait there, so that a
// real-time thread that never stops does not stop the system: 950 ms of each second, as Linux has it.
//
// What is used up counts only when somebody of the timeline waits: real-time threads alone may use all of a core.
// Periods begin at multiples of their length since boot, so that nothing has to be remembered while nobody uses them.
// Source: Linux Documentation/scheduler/sched-rt-group.
#pragma once

#include "lib/atomic.h"
#include "lib/planted.h"
#include "lib/types.h"

namespace corral::sched {

// For all cores; any core reads and writes.
struct RealTimeLimits {
  Atomic<i64> runtime_ns{950'000'000};  // below 0, or not less than the period: no limit
  Atomic<i64> period_ns{1'000'000'000};  // above 0
};

inline RealTimeLimits& real_time_limits() {
  static constinit RealTimeLimits limits;
  return limits;
}

// Of one core; only that core uses it.
class RealTimeBudget {
 public:
  // A real-time entity has run for `used` until now.
  void charge(Duration used, Instant now) {
    begin_period(now);
    used_ = used_ + used;
    if (const Duration passed = now - begin_; used_ > passed) used_ = passed;  // the rest was of earlier periods
  }
  // Until when real-time entities may run before those that wait: `now`: no longer; never: without limit.
  Instant end(Instant now) {
    begin_period(now);
    runtime_ = Duration{real_time_limits().runtime_ns.load(Order::relaxed)};
    if (runtime_ < Duration{} || runtime_ >= period_) return never;
    return used_ >= runtime_ ? now : now + (runtime_ - used_);
  }
  // When the period ends; after end().
  [[nodiscard]] Instant renewal() const { return begin_ + period_; }
  // As in force at the last end().
  [[nodiscard]] Duration period() const { return period_; }
  [[nodiscard]] Duration runtime() const { return runtime_; }

 private:
  void begin_period(Instant now) {
    if (now >= begin_ && now < begin_ + period_) return;
    if (planted(Plant::real_time_throttled_forever) && used_ != Duration{}) return;
    period_ = Duration{real_time_limits().period_ns.load(Order::relaxed)};
    begin_ = Instant{now.ns - now.ns % period_.ns};
    used_ = {};
  }

  Instant begin_{};
  Duration period_{};
  Duration runtime_{};
  Duration used_{};  // in this period
};

}  // namespace corral::sched
