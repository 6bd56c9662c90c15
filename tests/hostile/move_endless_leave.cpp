// A core that is asked for a thread does not come to answer.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class EndlessLeave final : public BaseMigration {
  Instant leave_badly(const LeaveRequest&) override { never_come_back(); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::EndlessLeave, "test.endless-leave",
                        "hostile: does not say who may leave")
