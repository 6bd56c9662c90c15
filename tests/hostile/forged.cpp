// Answers an entity of its own making.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Forged final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    forged_.place = SchedulingEntity::Place::queued;
    forged_.home = core_;
    if (turns_bad()) return {&forged_, now + tick_};
    return Base::pick(now);
  }

 private:
  SchedulingEntity forged_;
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Forged, "test.forged", "hostile: answers an entity of its own making")
