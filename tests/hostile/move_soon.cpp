// Every answer is: in a moment. Not wrong, but nobody may be kept from running, nor cores from sleeping.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Soon final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override {
    return {request.candidates.lowest(), request.now + nanoseconds(1)};
  }
  Instant leave_badly(const LeaveRequest& request) override { return request.now + nanoseconds(1); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Soon, "test.soon", "hostile: always wants to be asked again in a moment")
