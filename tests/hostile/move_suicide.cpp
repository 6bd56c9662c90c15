// Writes over itself; whoever calls it then finds no function.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Suicide final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView& system) override {
    write_over(*this);
    return ask_well(request, system);
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Suicide, "test.suicide", "hostile: writes over itself")
