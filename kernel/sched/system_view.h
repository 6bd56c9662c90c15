// The machine as the policies between cores see it: placements and migrations. Pure.
#pragma once

#include <span>

#include "sched/core_statistics.h"
#include "sched/policy.h"

namespace corral::sched {

struct SystemView {
  std::span<const CoreStatistics> cores;  // indexed by CoreId
  u64 (*random)();                        // rdrand where there is one, else seeded from the clock
  const TunableValues& tunables;          // in the order of the policy's own table; may change at any moment

  [[nodiscard]] CoreId id_of(const CoreStatistics& core) const { return CoreId{static_cast<u32>(&core - cores.data())}; }
};

// Where an answer may be "none of them".
inline constexpr CoreId no_core{max_cores};

}  // namespace corral::sched
