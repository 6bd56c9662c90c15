// Adds a core to those that it may answer, and answers it.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Forged final : public BaseMigration {
  CoreId push_badly(const PushRequest& request, const SystemView&) override {
    const_cast<CoreSet&>(request.candidates).add(CoreId{max_cores - 1});
    return CoreId{max_cores - 1};
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Forged, "test.forged",
                        "hostile: adds a core to the candidates, and pushes to that")
