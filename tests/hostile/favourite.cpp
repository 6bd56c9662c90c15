// Runs the last who came before all others.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Favourite final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    SchedulingEntity* last = queue_.back();
    if (last == nullptr) return {};
    take(*last);
    picked_at_ = now;
    return {last, now + tick_};
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Favourite, "test.favourite",
                            "hostile: runs the last who came before all others")
