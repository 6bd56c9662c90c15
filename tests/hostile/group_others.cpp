// Wants the cores of the other group, whatever is said.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Others final : public BaseGrouping {
  void choose_badly(const GroupingRequest& request, CoreSet& candidates) const override {
    candidates = request.left.without(request.group);
  }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Others, "test.others", "hostile: wants the cores of the other group")
