// Asks a core that cannot be.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Huge final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override { return {CoreId{~u32{0}}, request.now}; }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Huge, "test.huge", "hostile: asks a core that cannot be")
