// Never comes back from a pick.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class EndlessPick final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    while (turns_bad()) opaque();
    return Base::pick(now);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::EndlessPick, "test.endless-pick", "hostile: never comes back from a pick")
