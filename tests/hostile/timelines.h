// Hostile timelines: each is a right one, first in, first out, except where it is not. For the test kernel alone
// (corral-test.elf); the names begin with "test.", so that nobody takes them for policies.
#pragma once

#include "sched/scheduling_algorithm.h"
#include "tests/hostile/wrongs.h"

namespace corral::sched::hostile {

class Base : public SchedulingAlgorithm {
 public:
  explicit Base(const AlgorithmParameters& parameters) : core_{parameters.core}, tick_{parameters.tick} {}
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override { put(entity); }
  void dequeue(SchedulingEntity& entity, Instant) override { take(entity); }
  Decision pick(Instant now) override {
    SchedulingEntity* first = queue_.front();
    if (first == nullptr) return {};
    take(*first);
    picked_at_ = now;
    return {first, now + tick_};
  }
  void charge(SchedulingEntity&, Duration, Instant) override {}
  Instant review(const SchedulingEntity&, Instant now) override {
    if (waiting_ == 0) return never;
    return now < picked_at_ + tick_ ? picked_at_ + tick_ : now;
  }
  [[nodiscard]] u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.back(); }

 protected:
  // Right until this many have been picked: the machine is up, and others wait.
  static constexpr u32 good_picks = 8;
  bool turns_bad() { return ++picks_ > good_picks; }
  void put(SchedulingEntity& entity) {
    queue_.push_back(entity);
    ++waiting_;
  }
  void take(SchedulingEntity& entity) {
    queue_.remove(entity);
    --waiting_;
  }

  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> queue_;
  u32 waiting_ = 0;
  u32 picks_ = 0;
  Instant picked_at_{};
  const CoreId core_;
  const Duration tick_;
};

}  // namespace corral::sched::hostile
