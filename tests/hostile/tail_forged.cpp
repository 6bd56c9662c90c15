// Answers an entity of its own making when it is asked who would run last.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class TailForged final : public Base {
 public:
  using Base::Base;
  SchedulingEntity* last_waiting() override {
    forged_.place = SchedulingEntity::Place::queued;
    forged_.home = core_;
    return &forged_;
  }

 private:
  SchedulingEntity forged_;
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::TailForged, "test.tail-forged",
                            "hostile: gives away an entity of its own making")
