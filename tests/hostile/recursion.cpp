// Calls itself until the stack ends.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Recursion final : public Base {
 public:
  using Base::Base;
  Instant review(const SchedulingEntity& running, Instant now) override {
    return turns_bad() ? Instant{use_up_the_stack()} : Base::review(running, now);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Recursion, "test.recursion", "hostile: calls itself until the stack ends")
