// Cache-aware: a core costs what a thread would wait there and what it would lose to those who are there, both counted in pages that
// have to be fetched into a cache: each of them takes a turn, and drives out as much as those use who ran there lately. Leaving
// the core where it ran last costs what the thread itself uses, while that cache is warm. So a thread that uses much waits for
// its cache, and those that use much keep apart. One that uses little fits beside others: it goes back while its cache is warm, as
// with affinity, and new ones are spread. One of which nothing is known goes by load alone, as least-loaded.
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
  };
  enum : size_t { turn, warm, crowd };

  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const SchedulingEntity& entity = request.entity;
    const u64 own = entity.resources.load(Order::relaxed).pages();
    const auto pages_of_a_turn = static_cast<u64>(system.tunables.number(turn));
    if (own * little <= pages_of_a_turn) return select_for_little(request, system);
    const CoreStatistics* const cores = system.cores.data();
    const bool stays = stays_if_idle(request);
    if (stays && cores[entity.last_core.value].load() == 0) return entity.last_core;
    const auto cost = [=](const CoreStatistics& core) { return core.load() * (pages_of_a_turn + core.used_pages()); };
    const LeastCore best = least(request, cores, cost, [&](const CoreStatistics& here) {
      return load_for_its_child(request, here) * (pages_of_a_turn + here.used_pages());
    });
    if (!stays) return system.id_of(*best.core);
    const CoreStatistics& last = cores[entity.last_core.value];
    const bool is_warm = request.now - entity.last_ran < system.tunables.time(warm);
    const u64 left_behind = is_warm ? own : 0;
    u64 of_others = 0;
    if (__builtin_sub_overflow(last.used_pages(), left_behind, &of_others)) of_others = 0;  // its own are forgotten there
    const u64 cost_of_staying = last.load() * (pages_of_a_turn + of_others);
    return best.load + left_behind < cost_of_staying ? system.id_of(*best.core) : entity.last_core;
  }

 private:
  CoreId select_for_little(const PlacementRequest& request, const SystemView& system) {
    if (request.reason == PlacementReason::created) return new_ones_.select(request, system);
    const auto most = static_cast<u64>(system.tunables.number(crowd));
    const bool known = request.entity.resources.load(Order::relaxed).known();
    if (known && goes_back(request, system, system.tunables.time(warm), most)) return request.entity.last_core;
    return LeastOf::select(request, system);
  }

  NewOnesInTurn new_ones_;
  static constexpr u64 little = 16;  // a thread that is fetched in this part of a turn
};

}  // namespace corral::sched

CORRAL_PLACEMENT_POLICY(corral::sched::CacheAware, "cache-aware",
                        "the core with the least to wait for and to fetch into its cache", tunables)
