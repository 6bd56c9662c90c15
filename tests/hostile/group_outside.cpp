// Answers cores that are not there.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Outside final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet& candidates) const override { candidates = CoreSet::all(); }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Outside, "test.outside", "hostile: answers cores that are not there")
