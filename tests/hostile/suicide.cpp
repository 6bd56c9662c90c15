// Writes over itself.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Suicide final : public Base {
 public:
  using Base::Base;
  void charge(SchedulingEntity&, Duration, Instant) override {
    if (turns_bad()) write_over(*this);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Suicide, "test.suicide", "hostile: writes over itself")
