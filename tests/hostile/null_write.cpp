// Writes to address 0.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class NullWrite final : public Base {
 public:
  using Base::Base;
  void charge(SchedulingEntity&, Duration, Instant) override {
    if (turns_bad()) write_to_address_0();
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::NullWrite, "test.null-write", "hostile: writes to address 0")
