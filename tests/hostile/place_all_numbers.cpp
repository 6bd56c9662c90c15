// Answers cores one after the other, those that are not there as well.
#include "tests/hostile/placements.h"

namespace corral::sched::hostile {

class AllNumbers final : public BasePlacement {
  CoreId misplace(const PlacementRequest&, const SystemView&) override {
    return CoreId{next_.fetch_add(1, Order::relaxed) % max_cores};
  }
  Atomic<u32> next_{0};
};

}  // namespace corral::sched::hostile

CORRAL_PLACEMENT_POLICY(corral::sched::hostile::AllNumbers, "test.all-numbers", "hostile: answers cores that are not there")
