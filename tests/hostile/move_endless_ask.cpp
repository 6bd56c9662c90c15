// An idle core does not come to know whom to ask.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class EndlessAsk final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest&, const SystemView&) override { never_come_back(); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::EndlessAsk, "test.endless-ask", "hostile: does not say whom to ask")
