// Round robin: the candidates in turn, whatever their load. One counter for all askers, so placements at the same moment
// by several cores go to different cores. Cost: O(cores).
#include "sched/placement/nth_candidate.h"

namespace corral::sched {

class RoundRobinPlacement final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView&) override {
    return nth_candidate(request.candidates, turn_.fetch_add(1, Order::relaxed));
  }

 private:
  Atomic<u64> turn_{0};
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::RoundRobinPlacement, "round-robin", "the cores in turn, whatever their load")
