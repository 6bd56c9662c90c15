// DynamicRatio: computes the ratio of the core groups anew at an interval, while that is wanted (paper 003, section 5.2). One
// timer event of the core that began it; none while nobody wants it. What is computed from what: sched/groups/demand.h.
#pragma once

#include "core/timer_queue.h"
#include "lib/atomic.h"
#include "sched/groups/demand.h"

namespace corral {

class Core;

class DynamicRatio {
 public:
  constexpr DynamicRatio() = default;
  // From now on every `interval`, or no longer (an interval of zero). Any core, from a step or at boot; one at a time.
  void set(Core& here, Duration interval);
  [[nodiscard]] i64 interval_ns() const { return interval_ns_.load(Order::relaxed); }
  // Thousandths of a thread, as computed last.
  [[nodiscard]] i64 real_time_demand() const { return real_time_.load(Order::relaxed); }
  [[nodiscard]] i64 normal_demand() const { return normal_.load(Order::relaxed); }

 private:
  static void on_time(TimerEvent& event);
  void look();
  void arm(Core& here);

  Atomic<i64> interval_ns_{0};  // 0: not wanted
  Atomic<bool> armed_{false};   // some core has the event
  Atomic<bool> anew_{false};    // what was before does not count
  Atomic<i64> real_time_{0}, normal_{0};
  sched::Demand demand_;        // of the core that has the event
  TimerEvent event_{on_time};   // the same
};

}  // namespace corral
