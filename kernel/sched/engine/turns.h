// How often entities got a core, and how long they had waited for it: what /proc/schedstat and /proc/[pid]/schedstat tell.
// An entity's own account moves with it; a core's has the turns that it gave. Own core writes, any reads.
#pragma once

#include "sched/core_statistics.h"

namespace corral::sched {

class Turns {
 public:
  // `entity` waits from now on. A switch pays for all this with seven instructions; relaxed loads and stores become additions.
  static void begin_wait(SchedulingEntity& entity, Instant now) {
    entity.queued_at = now;
    __atomic_store_n(&entity.waited_ns, __atomic_load_n(&entity.waited_ns, __ATOMIC_RELAXED) - now.ns, __ATOMIC_RELAXED);
  }
  // It gets the core, or goes to wait elsewhere. Also the waits that end in a migration count where they were.
  void end_wait(SchedulingEntity& entity, Instant now) {
    __atomic_store_n(&entity.waited_ns, __atomic_load_n(&entity.waited_ns, __ATOMIC_RELAXED) + now.ns, __ATOMIC_RELAXED);
    const i64 waited = (now - entity.queued_at).ns;
    waited_ns_.store(waited_ns_.load(Order::relaxed) + waited, Order::relaxed);
  }
  void count() { CoreStatistics::count(taken_); }

  // Any core: how long `entity` has waited, the wait that is under way included.
  [[nodiscard]] static Duration waited(const SchedulingEntity& entity, Instant now) {
    const i64 word = __atomic_load_n(&entity.waited_ns, __ATOMIC_RELAXED);
    return Duration{word < 0 ? word + now.ns : word};
  }
  // Waits that have ended on this core; turns that it gave.
  [[nodiscard]] Duration waited() const { return Duration{waited_ns_.load(Order::relaxed)}; }
  [[nodiscard]] u64 taken() const { return taken_.load(Order::relaxed); }

 private:
  Atomic<u64> taken_{0};
  Atomic<i64> waited_ns_{0};
};

}  // namespace corral::sched
