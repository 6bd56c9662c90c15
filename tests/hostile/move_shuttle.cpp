// Pushes every thread on to the next core, wherever it comes from.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Shuttle final : public BaseMigration {
  CoreId push_badly(const PushRequest& request, const SystemView&) override {
    const CoreId next = request.candidates.next(request.here.value + 1);
    return next.value < max_cores ? next : request.candidates.lowest();
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Shuttle, "test.shuttle", "hostile: sends threads round and round")
