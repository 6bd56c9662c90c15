// Answers always the same core: not wrong, but everybody has to get on.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class One final : public BasePlacement {
  CoreId misplace(const PlacementRequest& request, const SystemView&) override { return request.candidates.lowest(); }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::One, "test.one", "hostile: answers always the same core")
