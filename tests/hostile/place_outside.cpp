// Answers a core that may not be used.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class Outside final : public BasePlacement {
  CoreId misplace(const PlacementRequest& request, const SystemView&) override {
    for (u32 i = 0; i < max_cores; ++i) {
      if (!request.candidates.contains(CoreId{i})) return CoreId{i};
    }
    return CoreId{max_cores};
  }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Outside, "test.outside", "hostile: answers a core that may not be used")
