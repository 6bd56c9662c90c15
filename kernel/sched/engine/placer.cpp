#include "sched/engine/placer.h"

#include "sched/real_time/placement.h"

namespace corral::sched {

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
