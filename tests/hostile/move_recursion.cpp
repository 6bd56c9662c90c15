// Calls itself until the stack ends.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Recursion final : public BaseMigration {
  CoreId push_badly(const PushRequest&, const SystemView&) override { return CoreId{static_cast<u32>(use_up_the_stack())}; }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Recursion, "test.recursion",
                        "hostile: calls itself until the stack ends")
