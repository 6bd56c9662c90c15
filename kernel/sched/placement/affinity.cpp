// Affinity: back to the last core while its cache is warm, whether that core is idle or not; else the core with the fewest, and
// new entities in turn. Warm means that little time has passed since the entity ran there. Source: Squillante, Lazowska: Using
// Processor-Cache Affinity Information in Shared-Memory Multiprocessor Scheduling (1993). Cost: O(1), else O(cores).
#include "sched/placement/going_back.h"

namespace corral::sched {

class Affinity final : public PlacementPolicy {
 public:
  static constexpr Tunable tunables[] = {
      {"warm", Unit::microseconds, 0, 10'000'000, 2'000, "time after which a core's cache has forgotten a thread"},
      {"crowd", Unit::number, 1, 10'000, 4, "threads on a core with which nobody goes back there, warm or not"},
  };
  enum : size_t { warm, crowd };

  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    if (request.reason == PlacementReason::created) return new_ones_.select(request, system);
    if (returns(request, system)) return request.entity.last_core;
    const auto threads = [](const CoreStatistics& core) -> u64 { return core.load(); };
    return system.id_of(*least(request, system.cores.data(), threads, threads).core);
  }

  // A core that is gone back to counts nothing.
  [[nodiscard]] CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) const override {
    if (request.reason == PlacementReason::created) return NewOnesInTurn::score(request, system, core);
    const bool nothing = core == request.entity.last_core && returns(request, system);
    return {nothing ? 0 : u64{system.cores[core.value].load()}, ScoreUnit::threads};
  }

 private:
  static bool returns(const PlacementRequest& request, const SystemView& system) {
    return goes_back(request, system, system.tunables.time(warm), static_cast<u64>(system.tunables.number(crowd)));
  }

  NewOnesInTurn new_ones_;
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::Affinity, "affinity",
                        "the last core while its cache is warm, else the one with the fewest threads", tunables)
