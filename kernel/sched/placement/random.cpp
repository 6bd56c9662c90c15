// Random: any candidate, all equally likely. The baseline that the others must beat. Cost: O(cores).
#include "sched/placement/nth_candidate.h"

namespace corral::sched {

class RandomPlacement final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    return nth_candidate(request.candidates, system.random());
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::RandomPlacement, "random", "any core, all equally likely")
