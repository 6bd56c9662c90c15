// Round robin: every waiting entity in turn, one quantum (a tick) each.
//
// An entity that is preempted within its quantum keeps the rest of it and goes on first; one whose quantum is used up goes
// to the back with a new one. While nothing else waits, quanta follow each other without a tick: when something arrives,
// the running entity has left what remains of the quantum that it would be in.
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

class RoundRobin final : public SchedulingAlgorithm {
 public:
  explicit RoundRobin(const AlgorithmParameters& parameters) : quantum_{parameters.tick} {}

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant) override {
    if (reason == EnqueueReason::preempted && entity.slice_left > Duration{}) {
      queue_.push_front(entity);
    } else {
      entity.slice_left = quantum_;
      queue_.push_back(entity);
    }
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
    return {first, review(*first, now)};
  }

  void charge(SchedulingEntity& running, Duration used, Instant) override {
    running.slice_left = running.slice_left - used;
    if (running.slice_left <= Duration{} && waiting_ == 0) {
      running.slice_left = Duration{quantum_.ns + running.slice_left.ns % quantum_.ns};
    }
  }

  Instant review(const SchedulingEntity& running, Instant now) override {
    if (waiting_ == 0) return never;
    return running.slice_left > Duration{} ? now + running.slice_left : now;
  }

  u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.back(); }

 private:
  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> queue_;
  u32 waiting_ = 0;
  const Duration quantum_;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::RoundRobin, "rr", "round robin: one tick each, in turn")
