// First in, first out: whoever runs goes on until it blocks, ends or yields. The smallest useful algorithm.
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

class Fifo final : public SchedulingAlgorithm {
 public:
  explicit Fifo(const AlgorithmParameters&) {}
  static Duration holds_back(const AlgorithmParameters&) { return holds_back_forever; }

  void enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant) override {
    // The engine took the core away for a reason of its own: the entity has not finished its turn.
    if (reason == EnqueueReason::preempted)
      queue_.push_front(entity);
    else
      queue_.push_back(entity);
    ++waiting_;
  }
  void dequeue(SchedulingEntity& entity, Instant) override { queue_.remove(entity), --waiting_; }
  Decision pick(Instant) override {
    SchedulingEntity* first = queue_.pop_front();
    if (first != nullptr) --waiting_;
    return {first, never};
  }
  void charge(SchedulingEntity&, Duration, Instant) override {}
  Instant review(const SchedulingEntity&, Instant) override { return never; }
  u32 waiting() const override { return waiting_; }
  SchedulingEntity* last_waiting() override { return queue_.back(); }

 private:
  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> queue_;
  u32 waiting_ = 0;
};

}  // namespace corral::sched

CORRAL_SCHEDULING_ALGORITHM(corral::sched::Fifo, "fifo", "first in, first out: no preemption")
