// Says that there is nobody to give away although somebody waits.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class TailNull final : public Base {
 public:
  using Base::Base;
  SchedulingEntity* last_waiting() override { return nullptr; }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::TailNull, "test.tail-null",
                            "hostile: has nobody to give away although somebody waits")
