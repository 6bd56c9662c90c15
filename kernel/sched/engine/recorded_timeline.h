// RecordedTimeline: a scheduling algorithm that another one stands behind. Each call goes on to that one, and is written into the
// trace with its answer, so that the simulator can make the same calls again (sched/recorded_calls.h, docs/replay.md).
//
// It stands before an algorithm only while decisions are traced (Scheduler::prepare); so nothing of it costs anything else. Every
// recording begins with an algorithm that is new and with entities that carry nothing of an earlier one.
// Context: SchedulingAlgorithm's.
#pragma once

#include "sched/recorded_calls.h"
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

// Into this core's trace: from now on what is recorded of `kind` is of a new object of this policy.
void note_policy_made(PolicyKind kind, const PolicyDescription& policy, const TunableValues& values, Duration tick, u32 session,
                      u64 number);

class RecordedTimeline final : public SchedulingAlgorithm {
 public:
  // The one that it stands for; must outlive it. Before its first call.
  void stand_for(SchedulingAlgorithm& algorithm, const PolicyDescription& policy, const AlgorithmParameters& parameters);

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) override;
  void dequeue(SchedulingEntity& entity, Instant now) override;
  Decision pick(Instant now) override;
  void charge(SchedulingEntity& running, Duration used, Instant now) override;
  void depart(SchedulingEntity& running, Instant now) override;
  Instant review(const SchedulingEntity& running, Instant now) override;
  [[nodiscard]] u32 waiting() const override { return inner_->waiting(); }
  SchedulingEntity* last_waiting() override;

 private:
  void meet(SchedulingEntity& entity);
  void begin();

  SchedulingAlgorithm* inner_ = nullptr;
  const PolicyDescription* policy_ = nullptr;
  AlgorithmParameters parameters_;
  u32 session_ = 0;
  bool begun_ = false;
};

}  // namespace corral::sched
