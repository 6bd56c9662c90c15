// Least loaded: the core with the fewest entities, running, waiting or on the way.
//
// A new entity: its creator is not counted (it will soon wait for its children, as a rule); among equals the cores after
// the asking one come first, that one itself last. So N threads that one thread creates and then waits for spread evenly
// over all cores, and N - 1 threads beside a creator that works too get a core each.
// A woken entity: its last core while that is idle (the caches know it, and nothing has to be sent); else an idle
// core; else its last core, unless another one has at least two entities less.
#include "sched/placement_policy.h"

namespace corral::sched {

class LeastLoaded final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    return request.reason == PlacementReason::woken && request.entity.has_run() ? for_woken(request, system)
                                                                                : for_created(request, system);
  }

 private:
  static constexpr u32 worth_moving = 2;  // entities less elsewhere

  struct Best {
    CoreId core{};
    u32 load = ~u32{0};
  };

  static CoreId for_created(const PlacementRequest& request, const SystemView& system) {
    return least(request, system, request.reason == PlacementReason::created).core;
  }

  static CoreId for_woken(const PlacementRequest& request, const SystemView& system) {
    const CoreId last = request.entity.last_core;
    if (!request.candidates.contains(last)) return least(request, system, false).core;
    const u32 load = system.cores[last.value].load();
    if (load == 0 || request.candidates == CoreSet::of(last)) return last;
    const Best best = least(request, system, false);
    return best.load == 0 || best.load + worth_moving <= load ? best.core : last;
  }

  // From the core after the asking one, round to that one itself: the first with the smallest load.
  static Best least(const PlacementRequest& request, const SystemView& system, bool without_creator) {
    Best best;
    const CoreId here = request.here;
    look(request.candidates, here.value + 1, max_cores, system, best);
    look(request.candidates, 0, here.value, system, best);
    if (best.load != 0 && request.candidates.contains(here)) {
      u32 load = system.cores[here.value].load();
      if (without_creator && load > 0) --load;
      if (load < best.load) best = {here, load};
    }
    return best;
  }

  // At the candidates from `from` on that are below `end`, until one has no load: nothing can be better.
  static void look(const CoreSet& candidates, u32 from, u32 end, const SystemView& system, Best& best) {
    if (best.load == 0) return;
    for (CoreId core = candidates.next(from); core.value < end; core = candidates.next(core.value + 1)) {
      const u32 load = system.cores[core.value].load();
      if (load < best.load) best = {core, load};
      if (load == 0) return;
    }
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::LeastLoaded, "least-loaded", "the core with the fewest threads; its own when idle")
