// The core with the least of something: what the placements that go by load have in common.
//
// A new entity: its creator is not counted (it will soon wait for its children, as a rule); among equals the cores after
// the asking one come first, that one itself last. So N threads that one thread creates and then waits for spread evenly
// over all cores, and N - 1 threads beside a creator that works too get a core each.
// A woken entity: its last core while that is idle (the caches know it, and nothing has to be sent); else the least
// loaded, if that is idle or the difference is worth moving; else its last core.
#pragma once

#include "sched/placement_policy.h"

namespace corral::sched {

struct LeastCore {
  CoreId core{};
  u64 load = ~u64{0};
};

// The first with the smallest load from the candidate after the asking core round to that one itself: load_of(CoreId), for
// that one load_here(). Nothing is better than 0.
template <class LoadOf, class LoadHere>
[[gnu::always_inline]] inline LeastCore least(const PlacementRequest& request, LoadOf&& load_of, LoadHere&& load_here) {
  LeastCore best;
  const u32 own_word = request.here.value / 64;
  const u64 own_bit = u64{1} << request.here.value % 64;
  // The word of the asking core comes twice: first what is after that core, at the end what is before it.
  u64 mask = ~(own_bit | (own_bit - 1));
  for (u32 i = 0; i <= CoreSet::words && best.load != 0; ++i) {
    const u32 word = (own_word + i) % CoreSet::words;
    if (i == CoreSet::words) mask = own_bit - 1;
    for (u64 bits = request.candidates.word(word) & mask; bits != 0; bits &= bits - 1) {
      const CoreId core{word * 64 + static_cast<u32>(__builtin_ctzll(bits))};
      const u64 load = load_of(core);
      if (load < best.load) best = {core, load};
    }
    mask = ~u64{0};
  }
  if (best.load != 0 && request.candidates.contains(request.here)) {
    const u64 load = load_here();
    if (load < best.load) best = {request.here, load};
  }
  return best;
}

// Measure: what load is. load(CoreStatistics) → u64; load_without(CoreStatistics, SchedulingEntity) → u64, of a core whose running
// entity, the creator of that one, does not count; worth_moving, the difference that a move is worth.
template <class Measure>
class LeastOf : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const CoreStatistics* cores = system.cores.data();
    const CoreId last = request.entity.last_core;
    const bool created = request.reason == PlacementReason::created;
    const bool may_stay = !created && request.entity.has_run() && request.candidates.contains(last);
    if (may_stay && cores[last.value].load() == 0) return last;
    const auto load_of = [cores](CoreId core) { return Measure::load(cores[core.value]); };
    const LeastCore best = least(request, load_of, [&] {
      return created ? Measure::load_without(cores[request.here.value], request.entity) : load_of(request.here);
    });
    if (!may_stay || cores[best.core.value].load() == 0) return best.core;
    return best.load + Measure::worth_moving <= load_of(last) ? best.core : last;
  }
};

}  // namespace corral::sched
