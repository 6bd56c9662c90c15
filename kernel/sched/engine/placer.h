// Placer: the engine round the placement policy, without the machine. Chooses a core for a new or woken entity, checks the
// policy's answer, and counts entities that travel between cores, so that placements in quick succession see each other.
//
// Every policy is constructed once and kept for ever, so changing the policy is one atomic store and no core can
// find the old object gone.
// Context: choose(), assign(), forget(): any core, interrupts off, by who owns the entity at that moment; no locks.
#pragma once

#include "sched/core_statistics.h"
#include "sched/placement_policy.h"

namespace corral::sched {

class Placer {
 public:
  static constexpr u32 max_policies = 32;

  constexpr explicit Placer(u64 (*random)()) : random_{random} {}

  // Boot context. Makes the policy in `storage` (size bytes as the descriptor says, alignment 64, kept for ever).
  // False: more than max_policies.
  bool add(const PlacementDescriptor& descriptor, void* storage);
  // Any core, one at a time. False: the policy has not been added.
  bool use(const PlacementDescriptor& descriptor, const TunableValues& values);
  [[nodiscard]] const PlacementDescriptor& current() const;
  [[nodiscard]] const TunableValues& current_values() const { return current_.load(Order::acquire)->values; }
  [[nodiscard]] bool ready() const { return current_.load(Order::acquire) != nullptr; }

  // A core of `candidates` (not empty). `here`: the asking core. The policy is asked for the timeline's entities;
  // those of the real-time class have a rule of their own (real_time/placement.h).
  [[nodiscard]] CoreId choose(const SchedulingEntity& entity, PlacementReason reason, const CoreSet& candidates, CoreId here,
                              Instant now);
  // The core of `candidates` where `entity`, of the real-time class, would run at once; CoreId{max_cores}: none.
  [[nodiscard]] CoreId lowest_below(const SchedulingEntity& entity, const CoreSet& candidates) const;
  // `entity`, in no queue, is to be enqueued on `to` next. Replaces an earlier assignment that has not arrived.
  void assign(SchedulingEntity& entity, CoreId to, CoreId here);
  // `entity` will not arrive where it was assigned to.
  void forget(SchedulingEntity& entity);

  [[nodiscard]] CoreStatistics& statistics(CoreId core) { return statistics_[core.value]; }
  [[nodiscard]] const CoreStatistics& statistics(CoreId core) const { return statistics_[core.value]; }
  // Answers outside the candidates since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
  struct Entry {
    const PlacementDescriptor* descriptor = nullptr;
    PlacementPolicy* policy = nullptr;
    TunableValues values;  // any
  };

  u64 (*random_)();
  Entry entries_[max_policies];             // boot, then constant but for the values
  u32 count_ = 0;                           // boot, then constant
  Atomic<const Entry*> current_{nullptr};   // any
  Atomic<u64> violations_{0};               // any
  CoreStatistics statistics_[max_cores];    // see there
};

}  // namespace corral::sched
