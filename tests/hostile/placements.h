// What hostile placements have in common: right at first, so that the machine is up. See timelines.h.
#pragma once

#include "sched/placement_policy.h"
#include "tests/hostile/wrongs.h"

namespace corral::sched::hostile {

class BasePlacement : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest& request, const SystemView& system) override {
    if (calls_.fetch_add(1, Order::relaxed) < good_calls) return request.candidates.lowest();
    return misplace(request, system);
  }

 protected:
  virtual CoreId misplace(const PlacementRequest& request, const SystemView& system) = 0;

 private:
  static constexpr u32 good_calls = 8;
  Atomic<u32> calls_{0};
};

}  // namespace corral::sched::hostile
