// Reads through an address with nothing behind it.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class Faulting final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet& candidates) const override {
    candidates.add(CoreId{read_where_nothing_is() % max_cores});
  }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::Faulting, "test.faulting", "hostile: reads where nothing is")
