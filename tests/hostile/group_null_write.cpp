// Writes to address 0.
#include "tests/hostile/groupings.h"

namespace corral::sched::hostile::groups {

class NullWrite final : public BaseGrouping {
  void choose_badly(const GroupingRequest&, CoreSet&) const override { write_to_address_0(); }
};

}  // namespace corral::sched::hostile::groups

CORRAL_GROUPING_METHOD(corral::sched::hostile::groups::NullWrite, "test.null-write", "hostile: writes to address 0")
