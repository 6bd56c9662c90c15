// Push: whoever loses its core at the end of a slice goes to an emptier one.
#include "sched/migration/rules.h"

namespace corral::sched {

class Push final : public MigrationPolicy {
 public:
  static constexpr bool pushes = true;
  static constexpr Tunable tunables[] = {
      {"emptier", Unit::number, 1, 10'000, 2, "threads that the other core must have less, the preempted one counted"},
  };
  enum : size_t { emptier };

  CoreId push(const PushRequest& request, const SystemView& system) override {
    return push_to_emptiest(request, system, system.tunables.number(emptier));
  }
};

}  // namespace corral::sched

CORRAL_MIGRATION_POLICY(corral::sched::Push, "push", "at the end of its slice a thread goes to an emptier core", tunables)
