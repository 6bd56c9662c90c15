// Never takes the core away, and does not say so beforehand.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Forever final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override { return {Base::pick(now).entity, never}; }
  Instant review(const SchedulingEntity&, Instant) override { return never; }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Forever, "test.forever", "hostile: never takes the core away")
