// Reads through an address with nothing behind it.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class Faulting final : public BasePlacement {
  CoreId misplace(const PlacementRequest&, const SystemView&) override {
    return *reinterpret_cast<volatile const u32*>(0x1234'5678'9abc'def0) == 0 ? CoreId{0} : CoreId{1};
  }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Faulting, "test.faulting", "hostile: reads where nothing is")
