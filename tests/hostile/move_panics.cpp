// Fails an assertion.
#include "tests/hostile/migrations.h"
#include "trace/panic.h"

namespace corral::sched::hostile::moves {

class Panics final : public BaseMigration {
  CoreId push_badly(const PushRequest&, const SystemView&) override { panic("a policy failed an assertion"); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Panics, "test.panics", "hostile: fails an assertion")
