// A thread that has to go is kept for ever.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class EndlessPush final : public BaseMigration {
  CoreId push_badly(const PushRequest&, const SystemView&) override { never_come_back(); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::EndlessPush, "test.endless-push",
                        "hostile: does not say where a thread goes")
