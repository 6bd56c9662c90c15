// An idle core asks itself.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Itself final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override { return {request.here, request.now}; }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Itself, "test.itself", "hostile: an idle core asks itself")
