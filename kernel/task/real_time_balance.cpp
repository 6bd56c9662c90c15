// The real-time class between cores: the highest runnable threads are to run, each on a core of its own. See executive.h
// and sched/real_time/placement.h. On the way out of the kernel or between two threads, interrupts off; not under a lock.
#include "lib/planted.h"
#include "sched/engine/manager.h"
#include "task/executive.h"

namespace corral {

namespace {

// Threads that are looked at, at most, in one go: those behind them are lower, and whoever changes something looks again.
constexpr u32 longest_look = 32;

}  // namespace

void Executive::balance_real_time() {
  Scheduler& own = *core_.scheduler;
  own.real_time_looked_at();
  if (cores::online_count() == 1 || planted(Plant::real_time_not_balanced)) return;
  scheduling().note_real_time_waits(own.real_time_waiting() != 0);
  CoreSet taken = CoreSet::of(core_.id());  // and cores that one was sent to just now: they stand higher soon
  // Who is no higher than one that found no core has none among the same ones: most that wait are of one kind.
  u64 too_low = 0;
  CoreSet in_vain;
  for (;;) {
    CoreId target{max_cores};
    u32 looked_at = 0;
    const sched::SchedulingEntity* stop = nullptr;
    sched::SchedulingEntity* entity = own.find_real_time([&](sched::SchedulingEntity& waiting) {
      const CoreSet candidates = scheduling().real_time_candidates(waiting).without(taken);
      if (waiting.urgency() > too_low || candidates != in_vain) {
        target = scheduling().real_time_target(waiting, candidates);
        if (target.value < max_cores) return true;
        too_low = waiting.urgency();
        in_vain = candidates;
      }
      if (++looked_at == longest_look) stop = &waiting;
      return stop != nullptr;
    });
    if (entity == nullptr || entity == stop) break;
    (void)own.remove(*entity);
    taken.add(target);
    scheduling().send(*entity, target);
    send_to(Thread::of(*entity), target, sched::EnqueueReason::migrated, sched::MigrationReason::real_time);
  }
  scheduling().note_real_time_waits(own.real_time_waiting() != 0);
  // Only then: cores that all have somebody waiting would tell each other for ever.
  if (own.real_time_fell()) scheduling().offer_room();
  own.real_time_looked_at();  // taking one out is no news
}

}  // namespace corral
