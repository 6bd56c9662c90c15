// Pull: a core that has nothing to run gets what would run last on the busiest core.
#include "sched/migration/rules.h"

namespace corral::sched {

class Pull final : public MigrationPolicy {
 public:
  static constexpr bool pulls = true;
  static constexpr Tunable tunables[] = {
      {"threshold", Unit::number, 0, 10'000, 0, "threads that wait on a core before another one gets any of them"},
      {"interval", Unit::microseconds, 0, 10'000'000, 100, "shortest time between two requests of one core"},
      {"hot", Unit::microseconds, 0, 10'000'000, 0, "time for which a thread that has run is left on its core"},
  };
  enum : size_t { threshold, interval, hot };

  PullAnswer ask(const PullRequest& request, const SystemView& system) override {
    return {busiest(request, system, system.tunables.number(threshold)), request.last_asked + system.tunables.time(interval)};
  }
  Instant leaves_at(const LeaveRequest& request, const SystemView& system) override {
    if (request.spare <= system.tunables.number(threshold)) return never;
    return request.cold_after(system.tunables.time(hot));
  }
};

}  // namespace corral::sched

CORRAL_MIGRATION_POLICY(corral::sched::Pull, "pull", "an idle core gets what would run last on the busiest one", tunables)
