// What the engine goes on with when a policy has failed: policies of its own that nobody can choose, as simple as can be.
#pragma once

#include "sched/grouping_method.h"
#include "sched/migration_policy.h"
#include "sched/placement_policy.h"
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

// Everyone in turn, a tick each. Part of each core's run queue, so that it is there without memory.
class SafeTimeline final : public SchedulingAlgorithm {
 public:
  explicit SafeTimeline(Duration tick) : tick_{tick} {}
  static const AlgorithmDescriptor descriptor;

  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    queue_.push_back(entity);
    ++waiting_;
  }
  void dequeue(SchedulingEntity& entity, Instant) override {
    queue_.remove(entity);
    --waiting_;
  }
  Decision pick(Instant now) override {
    SchedulingEntity* first = queue_.pop_front();
    if (first == nullptr) return {};
    --waiting_;
    turn_end_ = now + tick_;
    return {first, review(*first, now)};
  }
  void charge(SchedulingEntity&, Duration, Instant) override {}
  Instant review(const SchedulingEntity&, Instant now) override {
    if (waiting_ == 0) return never;
    return turn_end_ > now ? turn_end_ : now;
  }
  [[nodiscard]] u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.back(); }

 private:
  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> queue_;
  u32 waiting_ = 0;
  Instant turn_end_{};
  const Duration tick_;
};

// The core with the fewest threads, for the machine.
class SafePlacement final : public PlacementPolicy {
 public:
  static const PlacementDescriptor descriptor;
  CoreId select(const PlacementRequest& request, const SystemView& system) override;
  [[nodiscard]] CoreScore score(const PlacementRequest&, const SystemView& system, CoreId core) const override {
    return {system.cores[core.value].load(), ScoreUnit::threads};
  }
};

// Cores of the group alone, for the machine: which cores a group has is not the method's business, and stays.
class SafeGrouping final : public GroupingMethod {
 public:
  static const GroupingDescriptor descriptor;
  void choose(const GroupingRequest& request, CoreSet& candidates) const override { candidates = request.own; }
};

// Nobody moves, for the machine.
class SafeMigration final : public MigrationPolicy {
 public:
  static const MigrationDescriptor descriptor;
};

}  // namespace corral::sched
