// See idle_watch.h.
#include "sched/engine/idle_watch.h"

#include <algorithm>

#include "sched/engine/manager.h"

namespace corral::sched {

CoreSet IdleWatch::idle_beside(CoreId here) {
  CoreSet idle;
  scheduling().cores().for_each([&](CoreId core) {
    if (core != here && scheduling().statistics(core).load() == 0 && cores::get(core).asleep()) idle.add(core);
  });
  return idle;
}

void IdleWatch::watch(CoreId core, Duration idle_time, Instant now) {
  core_ = core;
  idle_then_ = idle_time;
  since_ = now;
  found_idle_ = {};
}

void IdleWatch::look(Scheduler& scheduler, RunQueue& queue, Instant now) {
  const Duration passed = now - last_look_;
  if (passed < shortest) return;
  last_look_ = now;
  if (passed > stale) watch(no_core, {}, now);
  const Duration step = passed > stale ? Duration{} : std::min(passed, longest);
  const CoreId here = queue.core();
  const CoreSet idle = idle_beside(here);
  if (idle.empty()) return watch(no_core, {}, now);

  SchedulingManager& manager = scheduling();
  // Who is the next to run here at once does not wait for another core.
  const SchedulingEntity* const running = queue.running();
  const auto runs_next = [&](const SchedulingEntity& waiting) {
    if (running == nullptr) return waiting.real_time != 0 || queue.waiting() == 1;
    return waiting.urgency() > running->urgency();
  };
  CoreSet beside;  // idle cores where somebody may go, and of these those where somebody should
  CoreSet promised;
  i32 number = 0;
  (void)queue.find_waiting(most_looked_at, [&](const SchedulingEntity& waiting) {
    if (runs_next(waiting)) return false;
    const CoreSet possible = manager.cores_for(waiting) & idle;
    beside = beside | possible;
    if (possible.empty()) return false;
    const LeaveRequest request{waiting, possible, here, scheduler.spare(), now};
    if (waiting.real_time == 0 && manager.migrator().leaves_at(request) > now) return false;
    promised = promised | possible;
    number = waiting.number;
    return possible.contains(core_);
  });
  if (!beside.empty()) waited_ns_.store(waited_ns_.load(Order::relaxed) + step.ns, Order::relaxed);
  if (promised.empty()) return watch(no_core, {}, now);
  const auto idle_time = [&](CoreId core) { return manager.statistics(core).idle_time(now); };
  if (!promised.contains(core_) || idle_time(core_) - idle_then_ != now - since_) {
    return watch(promised.lowest(), idle_time(promised.lowest()), now);
  }
  found_idle_ = found_idle_ + step;
  if (found_idle_ <= bound) return;
  scheduler.violated({invariants::Invariant::idle_beside_waiting, invariants::During::tick, core_, number, queue.decisions()});
  watch(no_core, {}, now);
}

}  // namespace corral::sched
