#include "sched/engine/placer.h"

#include <algorithm>

#include "sched/real_time/placement.h"

namespace corral::sched {

namespace {

// The candidates that are listed, each with its number of threads.
void list(const CoreSet& candidates, CoreId chosen, std::span<const CoreStatistics> cores, PlacementScores& scores) {
  scores.candidates = scores.listed = 0;
  scores.unit = ScoreUnit::none;
  candidates.for_each([&](CoreId core) {
    ++scores.candidates;
    if (scores.listed < PlacementScores::most) {
      scores.candidate[scores.listed++].core = core;
    } else if (core == chosen) {
      scores.candidate[PlacementScores::most - 1].core = core;
    }
  });
  for (u32 i = 0; i < scores.listed; ++i) scores.candidate[i].score = cores[scores.candidate[i].core.value].load();
}

// What one of the real-time class goes by. Not where nobody stands lower: there it only waits.
void take_priorities(const SchedulingEntity& entity, CoreId chosen, std::span<const CoreStatistics> cores,
                     PlacementScores& scores) {
  if (cores[chosen.value].urgency() >= entity.urgency()) return;
  for (u32 i = 0; i < scores.listed; ++i) {
    const u64 urgency = cores[scores.candidate[i].core.value].urgency();
    scores.candidate[i].score = std::min<u64>(urgency, deadline_priority);
  }
  scores.unit = ScoreUnit::priority;
}

}  // namespace

CoreId Placer::choose_and_tell(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                               Instant now, PlacementScores& scores) {
  const PlacementSlot& slot = policies_.in_force();
  const CoreId chosen = choose(entity, reason, candidates, here, now);
  list(candidates, chosen, statistics_, scores);
  if (scores.candidates < 2) return chosen;
  if (entity.real_time != 0) {
    take_priorities(entity, chosen, statistics_, scores);
  } else if (&slot == &policies_.in_force()) {  // it did not fail
    take_scores({entity, reason, candidates, words_.load(Order::relaxed), here, now}, slot, scores);
  }
  return chosen;
}

CoreId Placer::choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                      Instant now) {
  if (entity.real_time != 0) [[unlikely]]
    return real_time_core(entity, candidates, here, statistics_);
  const PlacementSlot& slot = policies_.in_force();
  const PlacementRequest request{entity, reason, candidates, words_.load(Order::relaxed), here, now};
  CoreId chosen;
  if (!policies_.ask<&PlacementPolicy::select>(slot, request, chosen)) [[unlikely]]
    return choose_safely(request, slot, misdeed_of(arch::last_call_failure()));
  if (candidates.contains(chosen)) return chosen;
  return choose_safely(request, slot, Misdeed::outside);
}

CoreId Placer::choose_safely(const PlacementRequest& request, const PlacementSlot& failed, Misdeed misdeed) {
  const PlacementSlot& safe =
      policies_.replace(failed, {misdeed, PolicyCall::select, request.entity.number, request.here, request.now});
  return safe_policy_.select(request, safe.view);
}

void Placer::take_scores(const PlacementRequest& request, const PlacementSlot& slot, PlacementScores& scores) {
  CoreScore found[PlacementScores::most];
  for (u32 i = 0; i < scores.listed; ++i) {
    if (!arch::ask_guarded<&PlacementPolicy::score>(found[i], *slot.policy, request, slot.view, scores.candidate[i].core)) {
      const Misdeed misdeed = misdeed_of(arch::last_call_failure());
      policies_.replace(slot, {misdeed, PolicyCall::score, request.entity.number, request.here, request.now});
      return;
    }
    if (found[i].unit == ScoreUnit::none || static_cast<u32>(found[i].unit) >= score_units) return;
  }
  for (u32 i = 0; i < scores.listed; ++i) scores.candidate[i].score = found[i].value;
  scores.unit = found[0].unit;
}

CoreId Placer::lowest_below(const SchedulingEntity& entity, const CoreSet& candidates) const {
  return sched::lowest_below(entity, candidates, entity.last_core, statistics_);
}

void Placer::assign(SchedulingEntity& entity, CoreId to, CoreId here) {
  forget(entity);
  if (entity.has_run() && entity.last_core != to) statistics_[entity.last_core.value].count_migrations_out(1);
  if (to == here) return;  // enqueued at once: nothing travels, nothing is counted
  statistics_[to.value].expect_one();
  entity.home = to;
  entity.place = SchedulingEntity::Place::on_the_way;
}

void Placer::forget(SchedulingEntity& entity) {
  if (entity.place != SchedulingEntity::Place::on_the_way) return;
  statistics_[entity.home.value].expect_one_less();
  if (entity.has_run() && entity.last_core != entity.home) {
    statistics_[entity.last_core.value].count_migrations_out(~u64{0});  // one less
  }
  entity.place = SchedulingEntity::Place::nowhere;
}

}  // namespace corral::sched
