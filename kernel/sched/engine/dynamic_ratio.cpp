// See dynamic_ratio.h.
#include "sched/engine/dynamic_ratio.h"

#include "core/core.h"
#include "device/clock.h"
#include "lib/container.h"
#include "sched/engine/manager.h"

namespace corral {

void DynamicRatio::set(Core& here, Duration interval) {
  anew_.store(true, Order::release);
  interval_ns_.store(interval.ns, Order::seq_cst);
  if (interval.ns != 0 && !armed_.exchange(true, Order::seq_cst)) arm(here);
}

void DynamicRatio::arm(Core& here) {
  here.timers().add(event_, clock::now() + Duration{interval_ns()});
  here.rearm_timer();
}

void DynamicRatio::on_time(TimerEvent& event) {
  container_of(event, &DynamicRatio::event_).look();
}

void DynamicRatio::look() {
  Core& here = this_core();
  if (interval_ns_.load(Order::seq_cst) == 0) {
    armed_.store(false, Order::seq_cst);
    // Either who wants it again finds the event free, or it is found here that it is wanted.
    if (interval_ns_.load(Order::seq_cst) == 0 || armed_.exchange(true, Order::seq_cst)) return;
  }
  scheduling().adapt_groups(demand_, anew_.exchange(false, Order::acq_rel));
  real_time_.store(demand_.real_time(), Order::relaxed);
  normal_.store(demand_.normal(), Order::relaxed);
  arm(here);
}

}  // namespace corral
