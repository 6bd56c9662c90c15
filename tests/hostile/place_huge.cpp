// Answers a core that cannot be.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class Huge final : public BasePlacement {
  CoreId misplace(const PlacementRequest&, const SystemView&) override { return CoreId{~u32{0}}; }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Huge, "test.huge", "hostile: answers a core that cannot be")
