// Calls itself until the stack ends.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Recursion final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet& candidates) const override {
    if (use_up_the_stack() != 0) candidates = {};
  }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Recursion, "test.recursion",
                       "hostile: calls itself until the stack ends")
