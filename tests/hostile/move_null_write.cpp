// Writes to address 0 when somebody could leave.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class NullWrite final : public BaseMigration {
  Instant leave_badly(const LeaveRequest& request) override {
    write_to_address_0();
    return request.now;
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::NullWrite, "test.null-write", "hostile: writes to address 0")
