// Whether a core idles while threads wait here that could run there: the check of "The Linux scheduler: a decade of wasted cores"
// (Lozi et al., 2016). One for each core, which looks on its tick and in its rounds, as long as somebody waits.
//
// A violation is that for longer than `bound` one other core slept without a break, and that each look found somebody here who
// may go there: by mask and group, and because it is real-time, or because the migration policy says so. What no policy in use
// promises (migration `none`, a threshold, threads kept as long as they are hot) is no violation; the time is counted all the same.
//
// Why a host that stops cores is no false alarm: between two looks this core has offered what it can spare, so who is still
// beside a sleeping core after several of them was kept; and a core counts as idle only when it sleeps, having asked for work.
// Context: own core, between two steps, interrupts off.
#pragma once

#include "sched/core_statistics.h"

namespace corral {
class Scheduler;
}  // namespace corral

namespace corral::sched {

class RunQueue;

class IdleWatch {
 public:
  // How long a core may be left idle. A core with somebody to spare gives it away in microseconds.
  static constexpr Duration bound = seconds(1);

  // Somebody waits in `queue`, which is that of the calling core.
  void look(Scheduler& scheduler, RunQueue& queue, Instant now);
  // Any core: how long somebody waited here beside idle cores, as far as looks tell.
  [[nodiscard]] Duration waited() const { return Duration{waited_ns_.load(Order::relaxed)}; }

 private:
  // Looks are not closer to each other: each reads what every core publishes. A longer time between two counts as `longest`, so
  // that `bound` is several of them; after `stale`, nobody waited here or the core was stopped meanwhile.
  static constexpr Duration shortest = milliseconds(20);
  static constexpr Duration longest = milliseconds(250);
  static constexpr Duration stale = milliseconds(750);
  static constexpr u32 most_looked_at = 32;

  // Of the other cores, those that sleep without anything to run.
  [[nodiscard]] static CoreSet idle_beside(CoreId here);
  void watch(CoreId core, Duration idle_time, Instant now);

  Instant last_look_{};
  // The core that is watched, how long it had idled in all, since when, and for how much of the time since then it was found so.
  CoreId core_{max_cores};
  Duration idle_then_{};
  Instant since_{};
  Duration found_idle_{};
  Atomic<i64> waited_ns_{0};
};

}  // namespace corral::sched
