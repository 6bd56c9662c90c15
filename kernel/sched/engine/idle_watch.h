// Whether a core idles while threads wait here, or in the global queue, that could run there: the check of "The Linux scheduler: a
// decade of wasted cores" (Lozi et al., 2016). One for each core, which looks on its tick and in its rounds, as long as somebody waits.
//
// A violation is that for longer than `bound` one other core slept without a break, and that each look found somebody who may go there.
// From here: by mask and group, and because it is real-time, or because the migration policy says so. What no policy in use
// promises (migration `none`, a threshold, threads kept as long as they are hot) is no violation; the time is counted all the same.
// From the global queue: whoever waits there may run on every core of its group, and no policy is asked.
//
// Why a host that stops cores is no false alarm: between two looks this core has offered what it can spare, so who is still
// beside a sleeping core after several of them was kept; and a core counts as idle only when it sleeps, having asked for work.
// Nobody gives away what waits in the global queue: there a sleeping core that was told to look does not count as idle, however
// late it is, and takes one of those who wait; and time counts only when all cores have got on (core/core_progress.h), also one
// that has put somebody in and is to tell an idle core of it.
// Context: own core, between two steps, interrupts off.
#pragma once

#include "core/core_progress.h"
#include "sched/core_statistics.h"
#include "sched/engine/idle_spell.h"

namespace corral {
class Scheduler;
}  // namespace corral

namespace corral::sched {

class RunQueue;

class IdleWatch {
 public:
  // Somebody waits in `queue`, which is that of the calling core.
  void look(Scheduler& scheduler, RunQueue& queue, Instant now);
  // Somebody waits in the global queue.
  void look_beside_global(Scheduler& scheduler, RunQueue& queue, Instant now);
  // Any core: how long somebody waited here beside idle cores, as far as looks tell.
  [[nodiscard]] Duration waited() const { return Duration{waited_ns_.load(Order::relaxed)}; }

 private:
  static constexpr u32 most_looked_at = 32;

  IdleSpell beside_own_;
  IdleSpell beside_global_;
  CoreProgress progress_;  // of all cores, between looks at the global queue
  u32 progress_then_ = 0;
  Atomic<i64> waited_ns_{0};
};

}  // namespace corral::sched
