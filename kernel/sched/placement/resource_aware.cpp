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
    const ResourceUse use = request.entity.resources.load(Order::relaxed);
    if (!use.known()) return LeastOf::select(request, system);
    const auto each = static_cast<u64>(system.tunables.number(thread));
    return use.is_memory_bound() ? choose(request, system, Costs<true>{each}) : choose(request, system, Costs<false>{each});
  }

  [[nodiscard]] CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) const override {
    const ResourceUse use = request.entity.resources.load(Order::relaxed);
    if (!use.known()) return LeastOf::score(request, system, core);
    const auto each = static_cast<u64>(system.tunables.number(thread));
    const u64 cost = use.is_memory_bound() ? cost_of(core, request, system, Costs<true>{each})
                                           : cost_of(core, request, system, Costs<false>{each});
    return {cost, ScoreUnit::points};
  }

 private:
  // What cores cost for a thread that is memory-bound, or for one that computes. `each`: what a thread counts.
  template <bool ForMemoryBound>
  class Costs {
   public:
    explicit Costs(u64 each) : least_{ForMemoryBound ? each : each - ResourceUse::whole}, worth_moving_{each / 2} {}

    // What each thread of a core counts.
    [[nodiscard]] u64 neighbour(const CoreStatistics& core) const {
      return least_ + (ForMemoryBound ? core.memory_bound() : core.computing());
    }
    [[nodiscard]] u64 elsewhere(const CoreStatistics& core) const { return core.load() * neighbour(core); }
    [[nodiscard]] u64 here(const PlacementRequest& request, const CoreStatistics& core) const {
      return load_for_its_child(request, core) * neighbour(core);
    }
    // Another core must be better than the last one by half a thread.
    [[nodiscard]] u64 to_stay(const CoreStatistics& last) const {
      u64 cost = 0;
      return __builtin_sub_overflow(elsewhere(last), worth_moving_ - 1, &cost) ? 0 : cost;
    }

   private:
    u64 least_, worth_moving_;
  };

  template <class Of>
  [[gnu::always_inline]] static CoreId choose(const PlacementRequest& request, const SystemView& system, const Of& costs) {
    const CoreStatistics* const cores = system.cores.data();
    const CoreId last_core = request.entity.last_core;
    const bool stays = stays_if_idle(request);
    if (stays && cores[last_core.value].load() == 0) return last_core;
    const LeastCore best = least(
        request, cores, [costs](const CoreStatistics& core) { return costs.elsewhere(core); },
        [&](const CoreStatistics& here) { return costs.here(request, here); });
    if (!stays) return system.id_of(*best.core);
    return best.load < costs.to_stay(cores[last_core.value]) ? system.id_of(*best.core) : last_core;
  }
  template <class Of>
  static u64 cost_of(CoreId core, const PlacementRequest& request, const SystemView& system, const Of& costs) {
    const CoreStatistics& numbers = system.cores[core.value];
    if (core == request.entity.last_core && stays_if_idle(request)) return numbers.load() == 0 ? 0 : costs.to_stay(numbers);
    return core == request.here ? costs.here(request, numbers) : costs.elsewhere(numbers);
  }
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::ResourceAware, "resource-aware",
                        "the core whose threads want other things than this one; its own when idle", tunables)
