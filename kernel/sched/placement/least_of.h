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
  const CoreStatistics* core = nullptr;
  u64 load = ~u64{0};
};

// Of the candidates of one word of their set, if one has less than `best`.
template <class LoadOf>
[[gnu::always_inline]] inline void look_at_word(LeastCore& best, const CoreStatistics* cores, u32 word, u64 candidates,
                                                LoadOf&& load_of) {
  const CoreStatistics* const first = cores + size_t{word} * 64;
  for (; candidates != 0; candidates &= candidates - 1) {
    const CoreStatistics& core = first[__builtin_ctzll(candidates)];
    const u64 load = load_of(core);
    if (load < best.load) [[unlikely]]
      best = {&core, load};
  }
}

// The words after the asking core's, round to it: machines of more than 64 cores.
template <class LoadOf>
[[gnu::noinline]] LeastCore look_at_other_words(const PlacementRequest& request, const CoreStatistics* cores, LeastCore best,
                                                LoadOf load_of) {
  const u32 own_word = request.here.value / 64;
  const u32 words = own_word < request.words ? request.words : own_word + 1;
  const auto next = [words](u32 word) { return word + 1 == words ? 0 : word + 1; };
  for (u32 word = next(own_word); word != own_word && best.load != 0; word = next(word)) {
    look_at_word(best, cores, word, request.candidates.word(word), load_of);
  }
  return best;
}

// The first with the smallest load from the candidate after the asking core round to that one itself: load_of(CoreStatistics), for
// that one load_here(CoreStatistics). Nothing is better than 0.
template <class LoadOf, class LoadHere>
[[gnu::always_inline]] inline LeastCore least(const PlacementRequest& request, const CoreStatistics* cores, LoadOf&& load_of,
                                              LoadHere&& load_here) {
  LeastCore best;
  const u32 own_word = request.here.value / 64;
  const u64 own_bit = u64{1} << request.here.value % 64;
  const u64 own_candidates = request.candidates.word(own_word);
  look_at_word(best, cores, own_word, own_candidates & ~(own_bit | (own_bit - 1)), load_of);
  if (own_word + request.words > 1) [[unlikely]]
    best = look_at_other_words(request, cores, best, load_of);
  if (best.load != 0) look_at_word(best, cores, own_word, own_candidates & (own_bit - 1), load_of);
  if (best.load != 0 && (own_candidates & own_bit) != 0) {
    const CoreStatistics& here = cores[request.here.value];
    const u64 load = load_here(here);
    if (load < best.load) best = {&here, load};
  }
  return best;
}

// The entity may stay on its last core: it was woken, and may run there.
[[gnu::always_inline]] inline bool stays_if_idle(const PlacementRequest& request) {
  return request.reason != PlacementReason::created && request.entity.has_run() &&
         request.candidates.contains(request.entity.last_core);
}
// Threads of the asking core, whose running one does not count if it is the entity's creator.
inline u64 load_for_its_child(const PlacementRequest& request, const CoreStatistics& here) {
  const u64 load = here.load();
  return request.reason == PlacementReason::created && load > 0 ? load - 1 : load;
}

// Measure: what load is. load(CoreStatistics) → u64; load_without(CoreStatistics, SchedulingEntity) → u64, of a core whose running
// entity, the creator of that one, does not count; busy: the least load where somebody is; worth_moving, the difference that a move
// is worth; score(load, Instant) → CoreScore: what people are shown of a load.
template <class Measure>
class LeastOf : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    const CoreStatistics* cores = system.cores.data();
    const CoreId last = request.entity.last_core;
    const bool may_stay = stays_if_idle(request);
    if (may_stay && cores[last.value].load() == 0) return last;
    const LeastCore best =
        least(request, cores, Measure::load, [&](const CoreStatistics& here) { return load_here(request, here); });
    const bool moves = !may_stay || best.load < load_to_stay(cores[last.value]);
    return moves ? system.id_of(*best.core) : last;
  }

  [[nodiscard]] CoreScore score(const PlacementRequest& request, const SystemView& system, CoreId core) const override {
    const CoreStatistics& numbers = system.cores[core.value];
    u64 load = core == request.here ? load_here(request, numbers) : Measure::load(numbers);
    if (core == request.entity.last_core && stays_if_idle(request)) load = numbers.load() == 0 ? 0 : load_to_stay(numbers);
    return Measure::score(load, request.now);
  }

 private:
  static u64 load_here(const PlacementRequest& request, const CoreStatistics& here) {
    return request.reason == PlacementReason::created ? Measure::load_without(here, request.entity) : Measure::load(here);
  }
  // What its last core, which is not idle, counts for an entity that may stay: less by what a move must be worth, but never as
  // little as an idle one.
  static u64 load_to_stay(const CoreStatistics& last) {
    u64 load = 0;
    if (__builtin_sub_overflow(Measure::load(last), Measure::worth_moving - 1, &load)) return Measure::busy;
    return load > Measure::busy ? load : Measure::busy;
  }
};

// Load as the number of threads, which other measures fall back on.
struct LoadInThreads {
  static u64 load(const CoreStatistics& core) { return core.load(); }
  static u64 load_without(const CoreStatistics& core, const SchedulingEntity&) {
    const u64 load = core.load();
    return load > 0 ? load - 1 : 0;
  }
  static CoreScore score(u64 load, Instant) { return {load, ScoreUnit::threads}; }
  static constexpr u64 busy = 1;
  static constexpr u64 worth_moving = 2;
};

}  // namespace corral::sched
