// Answers an entity that came to another core last, or to this one, when it is asked who would run last.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class TailStranger final : public Base {
 public:
  using Base::Base;
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    put(entity);
    __atomic_store_n(&newest[core_.value % 2], &entity, __ATOMIC_RELEASE);
  }
  SchedulingEntity* last_waiting() override { return __atomic_load_n(&newest[(core_.value + 1) % 2], __ATOMIC_ACQUIRE); }

 private:
  static inline constinit SchedulingEntity* newest[2] = {};
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::TailStranger, "test.tail-stranger",
                            "hostile: gives away who waits on another core")
