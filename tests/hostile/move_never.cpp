// Says whom to ask, and that nobody ever should.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Never final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override { return {request.candidates.lowest(), never}; }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Never, "test.never", "hostile: names whom to ask, at no time")
