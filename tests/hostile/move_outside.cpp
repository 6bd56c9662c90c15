// Pushes to a core that may not be used.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Outside final : public BaseMigration {
  CoreId push_badly(const PushRequest& request, const SystemView&) override {
    for (u32 i = 0; i < max_cores; ++i) {
      if (!request.candidates.contains(CoreId{i}) && CoreId{i} != request.here) return CoreId{i};
    }
    return CoreId{max_cores + 1};
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Outside, "test.outside",
                        "hostile: pushes to a core that may not be used")
