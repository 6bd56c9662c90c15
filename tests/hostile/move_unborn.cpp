// Faults while it is made.
#include "tests/hostile/migrations.h"

namespace corral::sched::hostile::moves {

class Unborn final : public BaseMigration {
 public:
  Unborn() { write_to_address_0(); }
};

}  // namespace corral::sched::hostile::moves

CORRAL_MIGRATION_POLICY(corral::sched::hostile::moves::Unborn, "test.unborn", "hostile: faults while it is made")
