// Answers no core at all.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class NoCore final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet& candidates) const override { candidates = {}; }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::NoCore, "test.no-core", "hostile: answers no core")
