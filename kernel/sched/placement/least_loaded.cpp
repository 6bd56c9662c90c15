// Least loaded: the core with the fewest entities, running, waiting or on the way. Cost: O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

using LeastLoaded = LeastOf<LoadInThreads>;

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::LeastLoaded, "least-loaded", "the core with the fewest threads; its own when idle")
