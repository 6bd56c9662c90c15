// Answers nobody although somebody waits.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Null final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override { return turns_bad() ? Decision{} : Base::pick(now); }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Null, "test.null", "hostile: answers nobody although somebody waits")
