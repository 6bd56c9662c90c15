// None: where a thread was placed it stays until it is placed again.
#include "sched/migration_policy.h"

namespace corral::sched {

class NoMigration final : public MigrationPolicy {};

}  // namespace corral::sched

CORRAL_MIGRATION_POLICY(corral::sched::NoMigration, "none", "a thread stays until it is placed again")
