// Random: any candidate, all equally likely. The baseline that the others must beat.
#include "sched/placement_policy.h"

namespace corral::sched {

class RandomPlacement final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    u64 skip = system.random() % request.candidates.count();
    CoreId core = request.candidates.lowest();
    while (skip-- > 0) core = request.candidates.next(core.value + 1);
    return core;
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::RandomPlacement, "random", "any core, all equally likely")
