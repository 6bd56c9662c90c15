// Fails an assertion.
#include "tests/hostile/timelines.h"
#include "trace/panic.h"

namespace corral::sched::hostile {

class Panics final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    if (turns_bad()) panic("a policy failed an assertion");
    return Base::pick(now);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Panics, "test.panics", "hostile: fails an assertion")
