// Both: push at the end of a slice, which evens out cores that are all busy, and pull, which leaves none idle. This is what
// the paper of rules.h calls pull migration: it adds that to its push.
#include "sched/migration/rules.h"

namespace corral::sched {

class Both final : public MigrationPolicy {
 public:
  static constexpr bool pushes = true;
  static constexpr bool pulls = true;
  static constexpr Tunable tunables[] = {
      {"emptier", Unit::number, 1, 10'000, 2, "push: threads that the other core must have less, the preempted one counted"},
      {"threshold", Unit::number, 0, 10'000, 0, "pull: threads that wait on a core before another one gets any of them"},
      {"interval", Unit::microseconds, 0, 10'000'000, 100, "pull: shortest time between two requests of one core"},
      {"hot", Unit::microseconds, 0, 10'000'000, 0, "pull: time for which a thread that has run is left on its core"},
  };
  enum : size_t { emptier, threshold, interval, hot };

  CoreId push(const PushRequest& request, const SystemView& system) override {
    return push_to_emptiest(request, system, system.tunables.number(emptier));
  }
  PullAnswer ask(const PullRequest& request, const SystemView& system) override {
    return {busiest(request, system, system.tunables.number(threshold)), request.last_asked + system.tunables.time(interval)};
  }
  Instant leaves_at(const LeaveRequest& request, const SystemView& system) override {
    if (request.spare <= system.tunables.number(threshold)) return never;
    return request.cold_after(system.tunables.time(hot));
  }
};

}  // namespace corral::sched

CORRAL_MIGRATION_POLICY(corral::sched::Both, "both", "push at the end of a slice, and pull by idle cores", tunables)
