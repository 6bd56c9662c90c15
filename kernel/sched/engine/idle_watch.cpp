// See idle_watch.h.
#include "sched/engine/idle_watch.h"

#include "sched/engine/manager.h"

namespace corral::sched {

namespace {

// Of the other cores, those that sleep without anything to run.
CoreSet idle_beside(CoreId here) {
  CoreSet idle;
  scheduling().cores().for_each([&](CoreId core) {
    if (core != here && scheduling().statistics(core).load() == 0 && cores::get(core).asleep()) idle.add(core);
  });
  return idle;
}

// Of the cores that take from the global queue, those that sleep and were not told to look: all that wait there, less one for each
// that has nothing to run and is about to look, should go there. Empty when that is nobody.
CoreSet left_idle_beside_global(CoreId here) {
  CoreSet idle;
  u32 about_to_look = 0;
  scheduling().group_of(false).for_each([&](CoreId core) {
    if (core == here || scheduling().statistics(core).load() != 0) return;
    if (cores::get(core).sleeps_uncalled()) {
      idle.add(core);
    } else {
      ++about_to_look;
    }
  });
  const GlobalQueue& queue = scheduling().global_queue();
  return queue.in_use() && queue.waiting() > about_to_look ? idle : CoreSet{};
}

// Of a core, until `now`.
auto idle_time_until(Instant now) {
  return [now](CoreId core) { return scheduling().statistics(core).idle_time(now); };
}

}  // namespace

void IdleWatch::look(Scheduler& scheduler, RunQueue& queue, Instant now) {
  if (!beside_own_.begin_look(now)) return;
  const CoreId here = queue.core();
  const CoreSet idle = idle_beside(here);
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
  const auto look_at = [&](const SchedulingEntity& waiting) {
    if (runs_next(waiting)) return false;
    const CoreSet possible = manager.cores_for(waiting) & idle;
    beside = beside | possible;
    if (possible.empty()) return false;
    const LeaveRequest request{waiting, possible, here, scheduler.spare(), now};
    if (waiting.real_time == 0 && manager.migrator().leaves_at(request) > now) return false;
    promised = promised | possible;
    number = waiting.number;
    return possible.contains(beside_own_.core());
  };
  if (!idle.empty()) (void)queue.find_waiting(most_looked_at, look_at);
  if (!beside.empty()) waited_ns_.store(waited_ns_.load(Order::relaxed) + beside_own_.step().ns, Order::relaxed);
  if (!beside_own_.found(promised, true, now, idle_time_until(now))) return;
  scheduler.violated(
      {invariants::Invariant::idle_beside_waiting, invariants::During::tick, beside_own_.core(), number, queue.decisions()});
}

void IdleWatch::look_beside_global(Scheduler& scheduler, RunQueue& queue, Instant now) {
  if (!beside_global_.begin_look(now)) return;
  const CoreSet idle = left_idle_beside_global(queue.core());
  const u32 progress = idle.empty() ? progress_then_ : progress_.look();
  const bool got_on = progress != progress_then_;
  progress_then_ = progress;
  if (!beside_global_.found(idle, got_on, now, idle_time_until(now))) return;
  scheduler.violated({invariants::Invariant::idle_beside_waiting, invariants::During::tick, beside_global_.core(),
                      scheduling().global_queue().somebody(), queue.decisions()});
}

}  // namespace corral::sched
