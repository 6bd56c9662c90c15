// Reads through an address with nothing behind it.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class Faulting final : public BasePlacement {
  CoreId misplace(const PlacementRequest&, const SystemView&) override { return CoreId{read_where_nothing_is()}; }
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::Faulting, "test.faulting", "hostile: reads where nothing is")
