// Cache-aware: a core costs what a thread would wait there and what it would lose to those who are there, both counted in pages that
// have to be fetched into a cache: each of them takes a turn, and drives out as much as those use who ran there lately. Leaving
// the core where it ran last costs what the thread itself uses, while that cache is warm. So a thread that uses much waits for
// its cache, and those that use much keep apart. One that uses little fits beside others: it goes back while its cache is warm, as
// with affinity, and new ones are spread. One of which nothing is known goes by load alone, as least-loaded. Whom it has sent back
// to its cache is left there for a while by those that pull, else the next idle core would take it away.
//
// Source: the cache-aware policy that paper 000 asks for (section 5.2.1), which goes by what caches tell so that there is less contention
// for them. Cost: O(cores).
#include "sched/placement/going_back.h"

namespace corral::sched {

class CacheAware final : public LeastOf<LoadInThreads> {
 public:
  static constexpr bool goes_by_resources = true;
  static constexpr Tunable tunables[] = {
      {"turn", Unit::number, 1, 1'000'000, 500, "pages of 4 KiB that are fetched in the time for which one waits for a thread"},
      {"warm", Unit::microseconds, 0, 10'000'000, 10'000, "time after which a core's cache has forgotten a thread"},
      {"crowd", Unit::number, 1, 10'000, 4, "threads on a core with which nobody who uses little goes back there"},
      {"hot", Unit::microseconds, 0, 10'000'000, 200,
       "time for which a thread that has run is left on its core, whatever pulls"},
  };
  enum : size_t { turn, warm, crowd, hot };
  static constexpr size_t pulled_after = hot;

 private:
  // What cores cost for the thread of one request.
  class Costs {
   public:
    Costs(const PlacementRequest& request, const SystemView& system)
        : request_{request},
          system_{system},
          own_{request.entity.resources.load(Order::relaxed).pages()},
          turn_{static_cast<u64>(system.tunables.number(turn))} {}

    [[nodiscard]] bool uses_little() const { return own_ * little <= turn_; }
    [[nodiscard]] auto elsewhere() const {
      return [each = turn_](const CoreStatistics& core) { return core.load() * (each + core.used_pages()); };
    }
    [[nodiscard]] u64 here(const CoreStatistics& core) const {
      return load_for_its_child(request_, core) * (turn_ + core.used_pages());
    }
    // On top of what another core than the last one costs.
    [[nodiscard]] u64 of_leaving() const {
      const bool is_warm = request_.now - request_.entity.last_ran < system_.tunables.time(warm);
      return is_warm ? own_ : 0;
    }
    [[nodiscard]] u64 to_stay(const CoreStatistics& last, u64 left_behind) const {
      u64 of_others = 0;
      if (__builtin_sub_overflow(last.used_pages(), left_behind, &of_others)) of_others = 0;  // its own are forgotten there
      return last.load() * (turn_ + of_others);
    }

   private:
    const PlacementRequest& request_;
    const SystemView& system_;
    const u64 own_, turn_;  // pages
  };

 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const Costs costs{request, system};
    if (costs.uses_little()) return select_for_little(request, system);
    const CoreStatistics* const cores = system.cores.data();
    const CoreId last_core = request.entity.last_core;
    const bool stays = stays_if_idle(request);
    if (stays && cores[last_core.value].load() == 0) return last_core;
    const LeastCore best =
        least(request, cores, costs.elsewhere(), [&](const CoreStatistics& here) { return costs.here(here); });
    if (!stays) return system.id_of(*best.core);
    const u64 left_behind = costs.of_leaving();
    return best.load + left_behind < costs.to_stay(cores[last_core.value], left_behind) ? system.id_of(*best.core) : last_core;
  }

  [[nodiscard]] CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) const override {
    const Costs costs{request, system};
    if (costs.uses_little()) return score_for_little(request, system, core);
    const CoreStatistics& numbers = system.cores[core.value];
    const bool stays = stays_if_idle(request);
    if (stays && core == request.entity.last_core)
      return {numbers.load() == 0 ? 0 : costs.to_stay(numbers, costs.of_leaving()), ScoreUnit::pages};
    const u64 cost = core == request.here ? costs.here(numbers) : costs.elsewhere()(numbers);
    return {cost + (stays ? costs.of_leaving() : 0), ScoreUnit::pages};
  }

 private:
  CoreId select_for_little(const PlacementRequest& request, const SystemView& system) {
    if (request.reason == PlacementReason::created) return new_ones_.select(request, system);
    if (returns(request, system)) return request.entity.last_core;
    return LeastOf::select(request, system);
  }
  [[nodiscard]] CoreScore score_for_little(const PlacementRequest& request, const SystemView& system, CoreId core) const {
    if (request.reason == PlacementReason::created) return NewOnesInTurn::score(request, system, core);
    if (core == request.entity.last_core && returns(request, system)) return {0, ScoreUnit::threads};
    return LeastOf::score(request, system, core);
  }
  static bool returns(const PlacementRequest& request, const SystemView& system) {
    const auto most = static_cast<u64>(system.tunables.number(crowd));
    const bool known = request.entity.resources.load(Order::relaxed).known();
    return known && goes_back(request, system, system.tunables.time(warm), most);
  }

  NewOnesInTurn new_ones_;
  static constexpr u64 little = 16;  // a thread that is fetched in this part of a turn
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::CacheAware, "cache-aware",
                        "the core with the least to wait for and to fetch into its cache", tunables)
