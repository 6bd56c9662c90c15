// Resource-aware: threads that want different things share a core, so that at any moment some cores compute while others wait for
// memory, and not all want memory at once. For a memory-bound thread a neighbour counts the more, the more it is memory-bound
// itself; for one that computes the less. It leaves its last core for one that is better by half a thread. A thread of which nothing is known goes by load alone, as least-loaded.
//
// Source: the resource-aware policy that paper 000 asks for (section 5.2.1): contention for the memory controller, the bus and the
// prefetchers; that it helps to spread memory-intensive threads by their miss rate, Zhuravlev, Blagodurov, Fedorova: Addressing
// Shared Resource Contention in Multicore Processors via Scheduling (2010). Cost: O(cores).
#include "sched/placement/least_of.h"

namespace corral::sched {

class ResourceAware final : public LeastOf<LoadInThreads> {
 public:
  static constexpr bool goes_by_resources = true;
  static constexpr Tunable tunables[] = {
      {"thread", Unit::number, 1024, 1'000'000, 2'048, "what a thread counts; what it wants counts 0 to 1024 more or less"},
  };
  enum : size_t { thread };

  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const SchedulingEntity& entity = request.entity;
    const ResourceUse use = entity.resources.load(Order::relaxed);
    if (!use.known()) return LeastOf::select(request, system);
    const auto each = static_cast<u64>(system.tunables.number(thread));
    if (use.is_memory_bound())
      return choose(request, system, each / 2, [each](const CoreStatistics& core) { return each + core.memory_bound(); });
    const u64 computing_only = each - ResourceUse::whole;
    return choose(request, system, each / 2, [=](const CoreStatistics& core) { return computing_only + core.computing(); });
  }

 private:
  // `neighbour`: what each thread of a core counts; `worth_moving`: by how much another core must be better than the last one.
  template <class Neighbour>
  [[gnu::always_inline]] static CoreId choose(const PlacementRequest& request, const SystemView& system, u64 worth_moving,
                                              const Neighbour& neighbour) {
    const CoreStatistics* const cores = system.cores.data();
    const CoreId last_core = request.entity.last_core;
    const bool stays = stays_if_idle(request);
    if (stays && cores[last_core.value].load() == 0) return last_core;
    const auto cost = [&](const CoreStatistics& core) { return core.load() * neighbour(core); };
    const LeastCore best = least(
        request, cores, cost, [&](const CoreStatistics& here) { return load_for_its_child(request, here) * neighbour(here); });
    if (!stays) return system.id_of(*best.core);
    return best.load + worth_moving <= cost(cores[last_core.value]) ? system.id_of(*best.core) : last_core;
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::ResourceAware, "resource-aware",
                        "the core whose threads want other things than this one; its own when idle", tunables)
