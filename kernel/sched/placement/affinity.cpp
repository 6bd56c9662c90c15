// Affinity: back to the last core while its cache is warm, whether that core is idle or not; else, and for new
// entities, the core with the fewest. Warm means that little time has passed since the entity ran there. Source: Squillante,
// Lazowska: Using Processor-Cache Affinity Information in Shared-Memory Multiprocessor Scheduling (1993). Cost: O(1), else
// O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

class Affinity final : public PlacementPolicy {
 public:
  static constexpr Tunable tunables[] = {
      {"warm", Unit::microseconds, 0, 10'000'000, 2'000, "time after which a core's cache has forgotten a thread"},
      {"crowd", Unit::number, 1, 10'000, 4, "threads on a core with which nobody goes back there, warm or not"},
  };
  enum : size_t { warm, crowd };

  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const SchedulingEntity& entity = request.entity;
    const bool created = request.reason == PlacementReason::created;
    if (!created && entity.has_run() && request.candidates.contains(entity.last_core)) {
      const u32 load = system.cores[entity.last_core.value].load();
      const bool is_warm = request.now - entity.last_ran < system.tunables.time(warm);
      if (load == 0 || (is_warm && load < system.tunables.number(crowd))) return entity.last_core;
    }
    const auto threads = [](const CoreStatistics& core) -> u64 { return core.load(); };
    const auto threads_here = [created](const CoreStatistics& core) -> u64 {
      const u64 load = core.load();
      return created && load > 0 ? load - 1 : load;  // its creator does not count
    };
    return system.id_of(*least(request, system.cores.data(), threads, threads_here).core);
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::Affinity, "affinity",
                        "the last core while its cache is warm, else the one with the fewest threads", tunables)
