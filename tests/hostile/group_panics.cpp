// Fails an assertion.
#include "tests/hostile/groupings.h"
#include "trace/panic.h"

namespace corral::sched::hostile::groups {

class Panics final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet&) const override { panic("a policy failed an assertion"); }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Panics, "test.panics", "hostile: fails an assertion")
