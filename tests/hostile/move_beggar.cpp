// An idle core asks everybody, whether they have something or not. Not wrong, but it costs messages.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Beggar final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override {
    return {request.candidates.lowest(), request.now};
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Beggar, "test.beggar",
                        "hostile: asks everybody, also those that have nothing")
