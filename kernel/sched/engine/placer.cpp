#include "sched/engine/placer.h"

#include "sched/real_time/placement.h"

namespace corral::sched {

bool Placer::add(const PlacementDescriptor& descriptor, void* storage) {
  if (count_ == max_policies) return false;
  Entry& entry = entries_[count_];
  if (!arch::ask_guarded(entry.policy, descriptor.make, storage)) return false;
  entry.descriptor = &descriptor;
  entry.view.cores = statistics_;
  entry.view.random = random_;
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
  const PlacementRequest request{entity, reason, candidates, words_.load(Order::relaxed), here, now};
  if (PlacementAsker* const asker = asker_.load(Order::acquire); asker != nullptr) [[unlikely]] {
    const CoreId answer = asker->ask(*current.descriptor, current.values, request, statistics_);
    return answer != no_core ? answer : choose_safely(request, current, Misdeed::outside);
  }
  CoreId chosen;
  if (!arch::ask_guarded<&PlacementPolicy::select>(chosen, *current.policy, request, current.view)) [[unlikely]]
    return choose_safely(request, current, misdeed_of(arch::last_call_failure()));
  if (candidates.contains(chosen)) return chosen;
  return choose_safely(request, current, Misdeed::outside);
}

// The policy has failed: the whole machine goes on with the engine's own.
CoreId Placer::choose_safely(const PlacementRequest& request, const Entry& failed, Misdeed misdeed) {
  violations_.fetch_add(1, Order::relaxed);
  const Entry* expected = &failed;
  const bool first = current_.compare_exchange(expected, &safe_, Order::acq_rel, Order::acquire);
  if (first && listener_ != nullptr) {
    listener_(*failed.descriptor, failed.values, misdeed, request.entity, request.here, request.now);
  }
  return safe_policy_.select(request, safe_.view);
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
