// The two moves that the policies of this folder are made of. Pure; cost: O(cores) for each decision.
//
// Source of both: "SMP scheduling on the Raspberry Pi 3" (the project's second paper), section 2: push at preemption, and
// pull by a core that has become idle, from the tail of a queue.
#pragma once

#include "sched/migration_policy.h"

namespace corral::sched {

// The candidates after `here` come first, so that cores that ask at the same time do not all ask the same.
template <class Visitor>
void for_each_after(const CoreSet& candidates, CoreId here, Visitor&& visit) {
  for (CoreId core = candidates.next(here.value + 1); core.value < max_cores; core = candidates.next(core.value + 1))
    visit(core);
  for (CoreId core = candidates.next(0); core.value <= here.value; core = candidates.next(core.value + 1)) visit(core);
}

// The emptiest candidate, if it has at least `emptier` entities less than `here`, the preempted one included there.
inline CoreId push_to_emptiest(const PushRequest& request, const SystemView& system, i64 emptier) {
  CoreId best = no_core;
  i64 least = i64{system.cores[request.here.value].runnable()} - emptier + 1;
  for_each_after(request.candidates, request.here, [&](CoreId core) {
    const i64 load = system.cores[core.value].load();
    if (load >= least) return;
    least = load;
    best = core;
  });
  return best;
}

// The candidate with the most entities, if more than `kept` wait there.
inline CoreId busiest(const PullRequest& request, const SystemView& system, i64 kept) {
  CoreId best = no_core;
  i64 most = kept + 1;  // one of them runs
  for_each_after(request.candidates, request.here, [&](CoreId core) {
    const i64 runnable = system.cores[core.value].runnable();
    if (runnable <= most) return;
    most = runnable;
    best = core;
  });
  return best;
}

}  // namespace corral::sched
