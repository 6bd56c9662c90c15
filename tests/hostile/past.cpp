// Gives turns that are over before they begin.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Past final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    const Decision decision = Base::pick(now);
    return {decision.entity, Instant{1}};
  }
  Instant review(const SchedulingEntity&, Instant) override { return Instant{1}; }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Past, "test.past", "hostile: gives turns that are over before they begin")
