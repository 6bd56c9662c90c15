// Lets threads leave in a hundred years.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Later final : public BaseMigration {
  Instant leave_badly(const LeaveRequest& request) override { return request.now + seconds(3'155'760'000); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Later, "test.later", "hostile: lets threads leave in a hundred years")
