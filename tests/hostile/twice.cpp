// Answers who runs, or ran, once more.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Twice final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    if (turns_bad() && before_ != nullptr) return {before_, now + tick_};
    const Decision decision = Base::pick(now);
    before_ = decision.entity;
    return decision;
  }

 private:
  SchedulingEntity* before_ = nullptr;
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Twice, "test.twice", "hostile: answers once more who was answered before")
