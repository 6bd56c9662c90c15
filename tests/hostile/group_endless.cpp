// Does not come to an answer.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Endless final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet&) const override { never_come_back(); }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Endless, "test.endless", "hostile: does not come to an answer")
