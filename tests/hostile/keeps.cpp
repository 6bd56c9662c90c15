// Keeps who was to go.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Keeps final : public Base {
 public:
  using Base::Base;
  void dequeue(SchedulingEntity&, Instant) override {}
  Decision pick(Instant now) override {
    if (!turns_bad()) return Base::pick(now);
    return {queue_.front(), now + tick_};
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Keeps, "test.keeps", "hostile: keeps who was to go")
