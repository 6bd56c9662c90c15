// Least weight: the core whose entities weigh least together, so that two light threads may share a core and a heavy one has
// another for itself. Those on the way count as of nice 0. Cost: O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

struct LoadInWeight {
  static u64 load(const CoreStatistics& core) { return core.load_weight(); }
  static u64 load_without(const CoreStatistics& core, const SchedulingEntity& child) {
    const u64 all = load(core);
    return all > child.weight ? all - child.weight : 0;  // creator and child weigh the same, as a rule
  }
  static CoreScore score(u64 load, Instant) { return {load, ScoreUnit::weight}; }
  static constexpr u64 busy = 1;
  static constexpr u64 worth_moving = 2 * u64{weight_of_nice_0};
};
using LeastWeight = LeastOf<LoadInWeight>;

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::LeastWeight, "least-weight",
                        "the core whose threads weigh least together; its own when idle")
