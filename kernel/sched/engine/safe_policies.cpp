// See safe_policies.h. These are not registered: nobody finds them by name.
#include "sched/engine/safe_policies.h"

namespace corral::sched {

constinit const AlgorithmDescriptor SafeTimeline::descriptor{
    {"safe", "everyone in turn, a tick each: the engine's own, after a policy has failed"}, sizeof(SafeTimeline), nullptr};

constinit const PlacementDescriptor SafePlacement::descriptor{
    {"safe", "the core with the fewest threads: the engine's own, after a policy has failed"}, sizeof(SafePlacement), nullptr};

constinit const MigrationDescriptor SafeMigration::descriptor{
    {"safe", "nobody moves: the engine's own, after a policy has failed"},
    SafeMigration::pushes,
    SafeMigration::pulls,
    sizeof(SafeMigration),
    nullptr};

namespace {
constinit const SafeGrouping safe_grouping;
}
constinit const GroupingDescriptor SafeGrouping::descriptor{
    {"safe", "a thread is sent to cores of its group alone: the engine's own, after a method has failed", GroupTunables::all},
    &safe_grouping};

CoreId SafePlacement::select(const PlacementRequest& request, const SystemView& system) {
  CoreId best = request.candidates.contains(request.here) ? request.here : request.candidates.lowest();
  request.candidates.for_each([&](CoreId core) {
    if (system.cores[core.value].load() < system.cores[best.value].load()) best = core;
  });
  return best;
}

}  // namespace corral::sched
