// Answers an entity that waits on another core.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Stranger final : public Base {
 public:
  using Base::Base;
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    put(entity);
    if (core_ == CoreId{0}) __atomic_store_n(&of_core_0, &entity, __ATOMIC_RELEASE);
  }
  Decision pick(Instant now) override {
    SchedulingEntity* foreign = __atomic_load_n(&of_core_0, __ATOMIC_ACQUIRE);
    if (turns_bad() && core_ != CoreId{0} && foreign != nullptr) return {foreign, now + tick_};
    return Base::pick(now);
  }

 private:
  static inline constinit SchedulingEntity* of_core_0 = nullptr;
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Stranger, "test.stranger", "hostile: answers who waits on another core")
