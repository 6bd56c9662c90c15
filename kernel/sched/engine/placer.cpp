#include "sched/engine/placer.h"

#include "sched/real_time/placement.h"

namespace corral::sched {

bool Placer::add(const PlacementDescriptor& descriptor, void* storage) {
  if (count_ == max_policies) return false;
  entries_[count_].descriptor = &descriptor;
  entries_[count_].policy = descriptor.make(storage);
  ++count_;
  return true;
}

bool Placer::use(const PlacementDescriptor& descriptor, const TunableValues& values) {
  for (u32 i = 0; i < count_; ++i) {
    if (entries_[i].descriptor == &descriptor) {
      entries_[i].values = values;
      current_.store(&entries_[i], Order::release);
      return true;
    }
  }
  return false;
}

const PlacementDescriptor& Placer::current() const {
  return *current_.load(Order::acquire)->descriptor;
}

CoreId Placer::choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                      Instant now) {
  if (entity.real_time != 0) [[unlikely]]
    return real_time_core(entity, candidates, here, statistics_);
  const Entry& current = *current_.load(Order::acquire);
  const SystemView view{statistics_, random_, current.values};
  const PlacementRequest request{entity, reason, candidates, here, now};
  const CoreId chosen = current.policy->select(request, view);
  if (candidates.contains(chosen)) return chosen;
  violations_.fetch_add(1, Order::relaxed);
  return candidates.lowest();
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
