// Writes over itself.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Suicide final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet&) const override { write_over(const_cast<Suicide&>(*this)); }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Suicide, "test.suicide", "hostile: writes over itself")
