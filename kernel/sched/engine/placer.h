// Placer: the engine round the placement policy, without the machine. Chooses a core for a new or woken entity, checks the
// policy's answer, and counts entities that travel between cores, so that placements in quick succession see each other.
//
// Every call of the policy is guarded; one that does wrong is replaced by the engine's own (engine/policy_slots.h).
// Context: choose(), assign(), forget(): any core, interrupts off, by who owns the entity at that moment; no locks.
#pragma once

#include "sched/core_statistics.h"
#include "sched/engine/policy_slots.h"
#include "sched/engine/safe_policies.h"
#include "sched/placement_policy.h"

namespace corral::sched {

using PlacementSlot = PolicySlot<PlacementPolicy, PlacementDescriptor>;

// For how long a thread that has run is left on its core by those that pull (engine/migrator.h).
[[nodiscard]] inline Duration pulled_after(const PlacementSlot& slot) {
  const size_t tunable = slot.descriptor->pulled_after;
  return tunable == PlacementDescriptor::at_once ? Duration{} : slot.values.time(tunable);
}

// Asks a policy for the Placer: PolicySlots.
class PlacementAsker {
 public:
  virtual bool ask(const PlacementSlot& slot, const PlacementRequest& request, CoreId& answer) = 0;

 protected:
  ~PlacementAsker() = default;
};

class Placer {
 public:
  using Policies = PolicySlots<PlacementSlot, PlacementAsker>;

  constexpr explicit Placer(u64 (*random)()) : policies_{SafePlacement::descriptor, safe_policy_, statistics_, random} {}

  [[nodiscard]] constexpr Policies& policies() { return policies_; }
  [[nodiscard]] const Policies& policies() const { return policies_; }
  // No core from `count` on is ever a candidate: sets are looked at that far. One at a time; never less than before.
  void expect_cores(u32 count) { words_.store((count + 63) / 64, Order::relaxed); }

  // A core of `candidates` (not empty). `here`: the asking core. The policy is asked for the timeline's entities;
  // those of the real-time class have a rule of their own (real_time/placement.h).
  [[nodiscard]] CoreId choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                              Instant now);
  // The same; `scores`, if there are any, tells what was made of the candidates, a moment after that.
  [[nodiscard]] CoreId choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                              Instant now, PlacementScores* scores) {
    if (scores != nullptr) [[unlikely]]
      return choose_and_tell(entity, reason, candidates, here, now, *scores);
    return choose(entity, reason, candidates, here, now);
  }
  // The core of `candidates` where `entity`, of the real-time class, would run at once; CoreId{max_cores}: none.
  [[nodiscard]] CoreId lowest_below(const SchedulingEntity& entity, const CoreSet& candidates) const;
  // `entity`, in no queue, is to be enqueued on `to` next. Replaces an earlier assignment that has not arrived.
  void assign(SchedulingEntity& entity, CoreId to, CoreId here);
  // `entity` will not arrive where it was assigned to.
  void forget(SchedulingEntity& entity);

  [[nodiscard]] CoreStatistics& statistics(CoreId core) { return statistics_[core.value]; }
  [[nodiscard]] const CoreStatistics& statistics(CoreId core) const { return statistics_[core.value]; }
  [[nodiscard]] constexpr std::span<const CoreStatistics> all_statistics() const { return statistics_; }

 private:
  CoreId choose_safely(const PlacementRequest& request, const PlacementSlot& failed, Misdeed misdeed);
  CoreId choose_and_tell(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                         Instant now, PlacementScores& scores);
  void take_scores(const PlacementRequest& request, const PlacementSlot& slot, PlacementScores& scores);

  SafePlacement safe_policy_;
  CoreStatistics statistics_[max_cores];  // see there
  Policies policies_;
  Atomic<u32> words_{CoreSet::words};  // of candidates
};

}  // namespace corral::sched
