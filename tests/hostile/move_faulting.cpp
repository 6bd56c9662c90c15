// Reads through an address with nothing behind it.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Faulting final : public BaseMigration {
  PullAnswer ask_badly(const PullRequest& request, const SystemView&) override {
    return {CoreId{read_where_nothing_is()}, request.now};
  }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Faulting, "test.faulting", "hostile: reads where nothing is")
