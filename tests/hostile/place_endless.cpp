// Does not come to an answer.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class Endless final : public BasePlacement {
  CoreId misplace(const PlacementRequest&, const SystemView&) override { never_come_back(); }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Endless, "test.endless", "hostile: does not come to an answer")
