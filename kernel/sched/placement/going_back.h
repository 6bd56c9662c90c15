// What the placements that go by caches have in common: woken entities go back to where their memory is, and new ones, of which
// nothing is in any cache yet, are spread evenly, so that there is room in each cache.
#pragma once

#include "sched/placement/least_of.h"

namespace corral::sched {

// To its last core, which is idle, or whose cache is warm: little time has passed since the entity left it. With `crowd` threads
// there it does not go back to a warm one either.
inline bool goes_back(const PlacementRequest& request, const SystemView& system, Duration warm, u64 crowd) {
  if (!stays_if_idle(request)) return false;
  const u32 load = system.cores[request.entity.last_core.value].load();
  return load == 0 || (request.now - request.entity.last_ran < warm && load < crowd);
}

// Among the candidates with the fewest threads the new ones take turns. Load alone would not spread those of a pool, which begin by
// waiting for work: each finds the same core idle. The creator does not count, as in least_of.h.
class NewOnesInTurn {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) {
    const CoreStatistics* const creators = &system.cores[request.here.value];
    const auto threads = [=](const CoreStatistics& core) { return threads_on(core, request, creators); };
    PlacementRequest after_last = request;
    after_last.here = CoreId{last_.load(Order::relaxed)};
    const CoreId chosen = system.id_of(*least(after_last, system.cores.data(), threads, threads).core);
    last_.store(chosen.value, Order::relaxed);
    return chosen;
  }
  static CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) {
    return {threads_on(system.cores[core.value], request, &system.cores[request.here.value]), ScoreUnit::threads};
  }

 private:
  static u64 threads_on(const CoreStatistics& core, const PlacementRequest& request, const CoreStatistics* creators) {
    return &core == creators ? load_for_its_child(request, core) : u64{core.load()};
  }

  Atomic<u32> last_{0};  // who asks at the same moment may get the same turn: load tells them apart
};

}  // namespace corral::sched
