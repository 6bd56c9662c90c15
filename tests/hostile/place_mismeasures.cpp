// Chooses as it should, but does not come to an answer when it is asked what a core counts: while placements are traced.
#include "sched/placement_policy.h"
#include "tests/hostile/wrongs.h"

namespace corral::sched::hostile {

class Mismeasures final : public PlacementPolicy {
  CoreId select(const PlacementRequest& request, const SystemView&) override { return request.candidates.lowest(); }
  [[nodiscard]] CoreScore score(const PlacementRequest&, const SystemView&, CoreId) const override { never_come_back(); }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Mismeasures, "test.mismeasures",
                        "hostile: does not come to an answer when it is asked for a score")
