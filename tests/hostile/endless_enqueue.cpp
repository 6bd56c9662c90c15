// Never comes back when somebody is to wait.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class EndlessEnqueue final : public Base {
 public:
  using Base::Base;
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    put(entity);
    while (turns_bad()) opaque();
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::EndlessEnqueue, "test.endless-enqueue",
                            "hostile: never comes back when somebody is to wait")
