// A run queue with a timeline, driven by hand: what happens on one core when the test says so.
#pragma once

#include <gtest/gtest.h>

#include "machine.h"

namespace corral::test {

class OneQueue : public testing::Test {
 protected:
  static constexpr CoreId core_id{0};
  static constexpr Duration tick = milliseconds(4);

  // Takes this algorithm for the timeline from now on.
  void use(const char* name) {
    auto next = std::make_unique<OwnedAlgorithm>(name, AlgorithmParameters{core_id, tick});
    queue.install(**next, now);
    algorithm = std::move(next);
  }
  void wake(SchedulingEntity& entity) { until = queue.enqueue(entity, EnqueueReason::woken, now); }
  void sleep() { queue.leave(*queue.running(), LeaveReason::blocked, now); }
  // As the executive does at the end of a step.
  SchedulingEntity* settle() {
    if (queue.running() == nullptr) {
      until = queue.pick(now).until;
    } else if ((until = queue.review(now)) <= now) {
      queue.leave(*queue.running(), LeaveReason::preempted, now);
      until = queue.pick(now).until;
    }
    return queue.running();
  }
  void pass(Duration time) {
    now = now + time;
    queue.charge(now);
  }

  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  std::unique_ptr<OwnedAlgorithm> algorithm;
  Instant now{1'000'000};
  Instant until = never;
};

}  // namespace corral::test
