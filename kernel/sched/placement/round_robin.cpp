// Round robin: the candidates in turn, whatever their load. One counter for all askers, so placements at the same moment
// by several cores go to different cores.
#include "sched/placement_policy.h"

namespace corral::sched {

class RoundRobinPlacement final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView&) override {
    u64 skip = turn_.fetch_add(1, Order::relaxed) % request.candidates.count();
    CoreId core = request.candidates.lowest();
    while (skip-- > 0) core = request.candidates.next(core.value + 1);
    return core;
  }

 private:
  Atomic<u64> turn_{0};
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::RoundRobinPlacement, "round-robin", "the cores in turn, whatever their load")
