// Pushes a thread to the core that it has to leave.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Back final : public BaseMigration {
  CoreId push_badly(const PushRequest& request, const SystemView&) override { return request.here; }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Back, "test.back", "hostile: pushes a thread to where it is")
