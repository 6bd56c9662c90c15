// Answers an address with nothing behind it.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Wild final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    if (waiting_ != 0 && turns_bad()) return {reinterpret_cast<SchedulingEntity*>(0x1234'5678'9abc'def0), now + tick_};
    return Base::pick(now);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Wild, "test.wild", "hostile: answers an address with nothing behind it")
