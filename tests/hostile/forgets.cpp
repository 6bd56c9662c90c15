// Loses who is to wait.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Forgets final : public Base {
 public:
  using Base::Base;
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    if (!turns_bad()) put(entity);
  }
  void dequeue(SchedulingEntity& entity, Instant) override {
    if (entity.queue_link.linked()) take(entity);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Forgets, "test.forgets", "hostile: loses who is to wait")
