// Least loaded: the core with the fewest entities, running, waiting or on the way. Cost: O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

struct LoadInThreads {
  static u64 load(const CoreStatistics& core) { return core.load(); }
  static u64 load_without(const CoreStatistics& core, const SchedulingEntity&) {
    const u64 load = core.load();
    return load > 0 ? load - 1 : 0;
  }
  static bool is_idle(u64 load) { return load == 0; }
  static constexpr u64 worth_moving = 2;
};
using LeastLoaded = LeastOf<LoadInThreads>;

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::LeastLoaded, "least-loaded", "the core with the fewest threads; its own when idle")
